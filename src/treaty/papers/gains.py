"""Who gains (F6, F10): what owners have together beside what each has alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from treaty.fitness import model_alone
from treaty.papers.claim import Claim, counted, judge
from treaty.papers.experiment import (
    INFINITE,
    NAMES,
    OTHER_STEPS,
    THREE,
    VARIANTS,
    Drawing,
    Experiment,
    Seen,
    equal,
)
from treaty.papers.figure import Figure, Grid, Owners
from treaty.papers.trial import Noise, Step, Trial
from treaty.papers.workshop import Workshop

BANKS = (1, 2, 6, 10, 20, 50, 101, 200)
BANK_RECORDS = 10_000
BANK_BUDGETS = (0.5, 1.0, 2.5, 5.0, 10.0)
GAINED = 8
"""So many hospitals gain at ε = 10, of 86, says the paper."""
_SHARE = GAINED / 86
_NAMED = {
    name.casefold()
    for name in (
        "Women And Children's Hospital Of Buffalo",
        "Crouse Hospital",
        "St Peters Hospital",
        "White Plains Hospital Center",
        "Westchester Medical Center",
        "Memorial Hospital for Cancer and Allied Diseases",
        "Long Island Jewish Schneiders Children's Hospital Division",
        "St Francis Hospital",
    )
}
"""The eight that gain, says the paper."""


@dataclass(frozen=True)
class _BreakEven:
    """A statement of F: the first bank gains if enough banks take part, with enough budget.

    Args:
        key: of the claim.
        over: more banks than this take part.
        least: the least ε of theirs.
        banks: for how many of them, at that ε, the ratio is told.
        statement: F's.
    """

    key: str
    over: int
    least: float
    banks: int
    statement: str


_BREAK_EVENS = (
    _BreakEven(
        "break-even-five-owners",
        5,
        10.0,
        6,
        "The first bank gains if more than 5 banks of 10,000 records take part with ε ≥ 10.",
    ),
    _BreakEven(
        "break-even-hundred-owners",
        100,
        2.5,
        101,
        "The first bank gains if more than 100 banks take part with ε ≥ 2.5.",
    ),
    _BreakEven(
        "break-even-ten-owners",
        10,
        1.0,
        20,
        "More than 10 owners with at least 10,000 records and ε ≥ 1 beat a model trained in "
        "isolation (abstract).",
    ),
)
_BANKS_AND_BUDGETS = tuple((banks, epsilon) for banks in BANKS for epsilon in BANK_BUDGETS)


def f6(workshop: Workshop) -> Drawing:
    """ψ against the number of banks and their budgets, beside the first bank's own model."""
    at = Experiment(workshop, "F lending", equal(3, BANK_RECORDS))
    seen = yield _bank_trials(at)
    banks = _Banks(at, seen, {banks: _first_bank_alone(at, banks) for banks in BANKS})
    return Figure(
        "F6",
        "ψ against the number of banks and their budgets",
        "Where the surface lies below that of the first bank's own model, the first bank gains (framed "
        "here).",
        f"{at.rows_for(equal(BANKS[-1], BANK_RECORDS))}; the file of the paper has 890,000 "
        "loans, and 200 banks of 10,000 would need 2 million",
        [banks.panel("read off")],
        [banks.panel("corrected")],
        (
            *at.settings[:1],
            "ρ is chosen on public rows for every N and ε as published, for every N with corrected "
            "noise",
        ),
        [banks.claim(said) for said in _BREAK_EVENS],
    )


def _bank_trial(
    at: Experiment, noise: Noise, banks: int, epsilon: float, times: float = 1.0
) -> Trial:
    """Return a trial of so many banks, its step size multiplied by `times`."""
    # In the papers' favour: a step size of its own for every number of banks and every budget.
    sizes = equal(banks, BANK_RECORDS)
    served = (epsilon,) if noise == "read off" else (1.0, 10.0)
    step = at.workshop.step(Step(at.name, noise, sizes, served)) * times
    return Trial(at.name, sizes, (epsilon,), noise, step, foretold=times == 1)


def _noiseless_trial(at: Experiment, banks: int, epsilon: float) -> Trial:
    """Return a trial as published, with the step size for this ε, without any noise."""
    drawn = _bank_trial(at, "read off", banks, epsilon)
    return replace(drawn, budgets=(INFINITE,), foretold=False)


def _bank_trials(at: Experiment) -> list[Trial]:
    """Return what F6 needs: as drawn, with other step sizes, without noise."""
    return [
        *(_bank_trial(at, noise, *cell) for noise in VARIANTS for cell in _BANKS_AND_BUDGETS),
        *(
            _bank_trial(at, "read off", *cell, times)
            for cell in _BANKS_AND_BUDGETS
            for times in OTHER_STEPS
        ),
        *(_noiseless_trial(at, *cell) for cell in _BANKS_AND_BUDGETS),
    ]


def _first_bank_alone(at: Experiment, banks: int) -> float:
    """Return ψ of the first bank's own model, on the rows of so many banks."""
    setting = at.workshop.setting(at.name)
    sizes = equal(banks, BANK_RECORDS)
    own = model_alone(setting.problem, setting.risks(sizes)["owner 1"])
    return float(setting.stick(sizes).relative(own))


@dataclass(frozen=True, eq=False)
class _Banks:
    """What banks have together, beside what the first of them has alone.

    Args:
        at: the experiment.
        seen: what its trials came to.
        alone: ψ of the first bank's own model, by the number of banks.
    """

    at: Experiment
    seen: Seen
    alone: Mapping[int, float]

    def panel(self, noise: Noise) -> Grid:
        """Return ψ over banks and budgets."""
        return Grid(
            NAMES[noise],
            "ε_i",
            BANK_BUDGETS,
            "N",
            tuple(map(float, BANKS)),
            tuple(
                tuple(self.seen[_bank_trial(self.at, noise, banks, e)] for e in BANK_BUDGETS)
                for banks in BANKS
            ),
            tuple(self.alone[banks] for banks in BANKS),
        )

    def psi(self, noise: Noise, banks: int, epsilon: float, times: float = 1.0) -> float:
        """Return the mean ψ of so many banks."""
        return self.seen[_bank_trial(self.at, noise, banks, epsilon, times)].mean

    def ratio(self, noise: Noise, banks: int, epsilon: float, times: float = 1.0) -> float:
        """Return ψ together over ψ of the first bank's own model: below 1 it gains."""
        return self.psi(noise, banks, epsilon, times) / max(self.alone[banks], 1e-12)

    def gains(self, noise: Noise, said: _BreakEven, times: float = 1.0) -> list[bool]:
        """Whether the first bank gains, in every case that a statement is about."""
        return [
            self.ratio(noise, banks, epsilon, times) < 1
            for banks, epsilon in _BANKS_AND_BUDGETS
            if banks > said.over and epsilon >= said.least
        ]

    def gains_elsewhere(self, said: _BreakEven) -> list[bool]:
        """Whether a statement holds with every other ρ, and with the best ρ for each case."""
        each = [self.gains("read off", said, times) for times in (1.0, *OTHER_STEPS)]
        best = [any(case) for case in zip(*each, strict=True)]
        return [*(all(one) for one in each[1:]), all(best)]

    def claim(self, said: _BreakEven) -> Claim:
        """Judge a statement."""
        here = self.gains("read off", said)
        elsewhere = self.gains_elsewhere(said)
        corrected = self.gains("corrected", said)
        told = said.banks, said.least
        noiseless = self.seen[_noiseless_trial(self.at, *told)].mean
        return Claim(
            said.key,
            "F6",
            said.statement,
            judge(here, elsewhere),
            self.ratio("read off", *told),
            f"ψ together over ψ of the first bank's own model, N = {said.banks}, ε = {said.least:g}; "
            "below 1 it gains",
            f"It gains in {sum(here)} of {len(here)} cases, with corrected noise in {sum(corrected)} "
            f"(there the ratio is {self.ratio('corrected', *told):.3g}). "
            f"{counted(elsewhere, 'ρ')} As published, {noiseless:.3g} of the "
            f"ψ of {self.psi('read off', *told):.3g} is left without any noise.",
            judge(corrected),
        )


def f10(workshop: Workshop) -> Drawing:
    """Every hospital's own model, and what they have together."""
    at = Experiment(workshop, "F hospital", None)
    others = at.others(None, 10.0)
    seen = yield [*(at.trial(noise, None, e) for noise in VARIANTS for e in THREE), *others]
    hospitals = _Hospitals(at, seen, _hospitals_alone(at))
    return Figure(
        "F10",
        "Every hospital's own model, and what they have together",
        "At ε = 10 eight of 86 hospitals gain: their own models lie above the line.",
        at.rows_for(None),
        [hospitals.panel("read off")],
        [hospitals.panel("corrected")],
        at.settings,
        [hospitals.claim(others[1:])],
    )


def _hospitals_alone(at: Experiment) -> dict[str, float]:
    """Return ψ of every hospital's own model."""
    setting = at.workshop.setting(at.name)
    stick = setting.stick(None)
    return {
        name: float(stick.relative(model_alone(setting.problem, risk)))
        for name, risk in setting.risks(None).items()
    }


@dataclass(frozen=True, eq=False)
class _Hospitals:
    """What hospitals have together, beside what each of them has alone.

    Args:
        at: the experiment.
        seen: what its trials came to.
        alone: ψ of every hospital's own model.
    """

    at: Experiment
    seen: Seen
    alone: Mapping[str, float]

    def panel(self, noise: Noise) -> Owners:
        """Return every hospital's own model, and lines for three budgets."""
        records = self.at.workshop.setting(self.at.name).holdings(None).records
        return Owners(
            NAMES[noise],
            tuple(records.values()),
            tuple(self.alone.values()),
            {f"ε = {e:g}": self.seen[self.at.trial(noise, None, e)] for e in THREE},
        )

    def gaining(self, trial: Trial) -> list[str]:
        """Return the hospitals whose own models are worse than what all have together."""
        return [name for name, psi in self.alone.items() if psi > self.seen[trial].mean]

    def about_as_many(self, gaining: Sequence[str]) -> bool:
        """Whether the share of those that gain is half to twice the paper's."""
        return _SHARE / 2 <= len(gaining) / len(self.alone) <= 2 * _SHARE

    def claim(self, others: Sequence[Trial]) -> Claim:
        """Judge how many gain, as drawn and in trials under other choices."""
        drawn = self.gaining(self.at.trial("read off", None, 10.0))
        corrected = self.gaining(self.at.trial("corrected", None, 10.0))
        elsewhere = [self.about_as_many(self.gaining(trial)) for trial in others]
        owners = len(self.alone)
        return Claim(
            "hospitals-that-gain",
            "F10",
            "At ε = 10 eight of the 86 hospitals with at least 10,000 records gain.",
            judge([self.about_as_many(drawn)], elsewhere),
            float(len(drawn)),
            f"how many of {owners} hospitals gain at ε = 10; half to twice the paper's share is "
            f"asked for, {_SHARE / 2 * owners:.3g} to {2 * _SHARE * owners:.3g}",
            f"These gain: {', '.join(drawn) or 'none'}.{self._named_by_the_paper(drawn)} With "
            f"corrected noise {len(corrected)} do. {counted(elsewhere, 'ρ and Ξ')}",
            judge([self.about_as_many(corrected)]),
        )

    def _named_by_the_paper(self, gaining: Sequence[str]) -> str:
        """Say how many of those that the paper names are here, if any, and gain."""
        here = [name for name in self.alone if name.casefold() in _NAMED]
        if not here:
            return ""
        both = [name for name in here if name in gaining]
        return f" Of the eight that the paper names, {len(here)} are here and {len(both)} gain."
