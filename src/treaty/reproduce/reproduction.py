"""Both papers once more: every figure, every claim."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from treaty.errors import TreatyError
from treaty.reproduce import farokhi, wu
from treaty.reproduce.claim import Claim
from treaty.reproduce.experiment import Drawing
from treaty.reproduce.figure import Figure
from treaty.reproduce.trial import Trial
from treaty.reproduce.workshop import Workshop

FIGURES: Mapping[str, Callable[[Workshop], Drawing]] = {**wu.FIGURES, **farokhi.FIGURES}
Tick = Callable[[int, int], None]


@dataclass(frozen=True)
class Reproduction:
    """What came of it.

    Args:
        figures: the figures, in the papers' order.
        seconds: how long each took, by its key. Trials that figures share count for the first.
    """

    figures: tuple[Figure, ...]
    seconds: dict[str, float]

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
    preparing: Tick | None = None,
    progress: Tick | None = None,
) -> Reproduction:
    """Run the trials of figures, draw them up and judge their claims.

    Args:
        workshop: where trials are run; it keeps their results.
        keys: which figures; all if none is given.
        preparing: called with (figures made ready, figures): step sizes are chosen first.
        progress: called with (done, all), in units of about equal time.
    """
    names = wanted(keys)
    seconds = dict.fromkeys(names, 0.0)
    drawings: dict[str, Drawing] = {}
    needed: dict[str, list[Trial]] = {}
    for index, name in enumerate(names):
        begun = time.perf_counter()
        drawings[name] = FIGURES[name](workshop)
        needed[name] = list(dict.fromkeys(next(drawings[name])))
        seconds[name] += time.perf_counter() - begun
        if preparing is not None:
            preparing(index + 1, len(names))
    every = list(dict.fromkeys(trial for trials in needed.values() for trial in trials))
    costs = {trial: workshop.cost(trial) for trial in every if not workshop.known(trial)}
    whole, done = sum(costs.values()), 0.0
    figures: list[Figure] = []
    for name in names:
        begun = time.perf_counter()
        seen = {}
        for trial in needed[name]:
            seen[trial] = workshop.run(trial)
            done += costs.pop(trial, 0.0)
            if progress is not None and whole > 0:
                progress(round(1_000 * done / whole), 1_000)
        figures.append(_drawn(drawings[name], seen))
        seconds[name] += time.perf_counter() - begun
    return Reproduction(tuple(figures), seconds)


def _drawn(drawing: Drawing, seen: dict[Trial, object]) -> Figure:
    try:
        drawing.send(seen)  # pyright: ignore[reportArgumentType]
    except StopIteration as finished:
        return finished.value
    raise AssertionError("a drawing asks for its trials once")
