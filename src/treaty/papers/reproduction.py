"""Both papers once more: every figure, every claim."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from treaty.errors import TreatyError
from treaty.papers import farokhi, wu
from treaty.papers.claim import Claim
from treaty.papers.experiment import Drawing
from treaty.papers.figure import Figure
from treaty.papers.trial import Outcome, Step, Trial
from treaty.papers.workers import Job, fill
from treaty.papers.workshop import Workshop

FIGURES: Mapping[str, Callable[[Workshop], Drawing]] = {**wu.FIGURES, **farokhi.FIGURES}
Tick = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Forecasts:
    """How the forecasts of one setting, under one noise, compare with what was measured.

    Args:
        setting: the setting.
        noise: which Ξ the noise is made for, and for how many answers.
        trials: how many trials were forecast.
        inside: the share of them whose mean ψ lies in the 90% interval, up to 2 standard errors.
        ratio: the median of ψ as forecast over ψ as measured.
    """

    setting: str
    noise: str
    trials: int
    inside: float
    ratio: float


@dataclass(frozen=True)
class Reproduction:
    """What came of it.

    Args:
        figures: the figures, in the papers' order.
        seconds: how long each took, by its key. What figures share counts for the first.
        forecasts: how well forecasts did, by setting and noise.
    """

    figures: tuple[Figure, ...]
    seconds: dict[str, float]
    forecasts: tuple["Forecasts", ...]

    @property
    def claims(self) -> list[Claim]:
        """Every claim, in the order of the figures."""
        return [claim for figure in self.figures for claim in figure.claims]


def wanted(keys: Iterable[str]) -> list[str]:
    """Return the figures asked for, in the papers' order; all of them if none is."""
    asked = [key.upper() for key in keys]
    for key in asked:
        if key not in FIGURES:
            raise TreatyError(f'there is no figure "{key}"; there are {", ".join(FIGURES)}')
    return [key for key in FIGURES if key in asked] if asked else list(FIGURES)


def reproduce(
    workshop: Workshop,
    keys: Iterable[str] = (),
    *,
    processes: int = 1,
    progress: Tick | None = None,
) -> Reproduction:
    """Run the trials of figures, draw them up and judge their claims.

    Args:
        workshop: where trials are run; it keeps their results.
        keys: which figures; all if none is given.
        processes: how many trials are run at once.
        progress: called with what is being done, and with (done, all) in units of about equal time.
    """
    names = wanted(keys)
    seconds = dict.fromkeys(names, 0.0)
    steps = {name: _steps_of(FIGURES[name], workshop) for name in names}

    def run_missing(needed: Mapping[str, Sequence[Job]], what: str) -> None:
        """Run what figures need and is not there; what several need counts for the first."""
        first = {job: name for name in reversed(names) for job in needed[name]}
        costs = {job: workshop.cost(job) for job in first if not workshop.known(job)}
        whole, done = sum(costs.values()), 0.0
        for job, took in fill(workshop, list(costs), processes):
            seconds[first[job]] += took / processes
            done += costs[job]
            if progress is not None:
                progress(what, round(1_000 * done / whole), 1_000)

    run_missing(steps, "choosing step sizes on public rows")
    drawings = {name: FIGURES[name](workshop) for name in names}
    trials = {name: list(dict.fromkeys(next(drawings[name]))) for name in names}
    run_missing(trials, "training")
    figures: list[Figure] = []
    every: dict[Trial, Outcome] = {}
    for name in names:
        begun = time.perf_counter()
        seen = {trial: workshop.run(trial) for trial in trials[name]}
        figures.append(_drawn(drawings[name], seen))
        seconds[name] += time.perf_counter() - begun
        every.update(seen)
    return Reproduction(tuple(figures), seconds, _compared(every))


def _compared(seen: Mapping[Trial, Outcome]) -> tuple[Forecasts, ...]:
    """Compare every forecast with what was measured."""
    groups: dict[tuple[str, str], list[tuple[bool, float]]] = {}
    for trial, outcome in seen.items():
        if outcome.forecast is not None:
            value, low, high = outcome.forecast
            off = 2 * outcome.error
            inside = low - off <= outcome.mean <= high + off
            ratio = value / max(outcome.mean, 1e-15)
            groups.setdefault((trial.setting, trial.noise), []).append((inside, ratio))
    return tuple(
        Forecasts(
            *key,
            trials=len(group),
            inside=sum(inside for inside, _ in group) / len(group),
            ratio=median(ratio for _, ratio in group),
        )
        for key, group in sorted(groups.items())
    )


def _steps_of(figure: Callable[[Workshop], Drawing], workshop: Workshop) -> list[Step]:
    """Return the step sizes that a figure's trials need, each once; none is chosen yet."""
    noted: list[Step] = []

    def note(wanted: Step) -> float:
        noted.append(wanted)
        return 1.0  # any number will do: these trials are not run

    next(figure(workshop.with_steps(note)))
    return list(dict.fromkeys(noted))


def _drawn(drawing: Drawing, seen: Mapping[Trial, Outcome]) -> Figure:
    try:
        drawing.send(seen)
    except StopIteration as finished:
        return finished.value
    raise AssertionError("a drawing asks for its trials once")
