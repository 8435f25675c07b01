"""W's four scenarios (W6, W11): the others are small or large, conservative or eager; n₁ and ε₁ vary."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from treaty.arrays import FloatArray
from treaty.fitness import model_alone
from treaty.papers.claim import Claim, counted, judge
from treaty.papers.experiment import NAMES, OTHER_STEPS, VARIANTS, Drawing, Experiment, Seen
from treaty.papers.figure import Figure, Grid
from treaty.papers.tasks import FRAUD, LENDING, Task
from treaty.papers.trial import Noise, Trial
from treaty.papers.workshop import Workshop

_SCENARIOS = (
    "i: small, conservative",
    "ii: small, eager",
    "iii: large, conservative",
    "iv: large, eager",
)
_Trials: TypeAlias = list[list[list[Trial]]]
"""Trials by scenario, n₁ and ε₁."""


def w6(workshop: Workshop) -> Drawing:
    """Four scenarios, lending."""
    return _scenarios(workshop, LENDING, "W6")


def w11(workshop: Workshop) -> Drawing:
    """Four scenarios, fraud."""
    return _scenarios(workshop, FRAUD, "W11")


def _scenarios(workshop: Workshop, task: Task, key: str) -> Drawing:
    """Draw a task's four scenarios, as published and with corrected noise."""
    at = task.at(workshop)
    drawn = {noise: _trials(at, task, noise) for noise in VARIANTS}
    others = _under_other_choices(at, task) if task is LENDING else []
    seen = yield [
        trial
        for trials in (*drawn.values(), *others)
        for scenario in trials
        for row in scenario
        for trial in row
    ]
    alone = _first_owner_alone(at, task)
    measured = _Measured(
        key,
        task,
        _Surfaces(_psi(drawn["read off"], seen), alone),
        _Surfaces(_psi(drawn["corrected"], seen), alone),
        [_Surfaces(_psi(trials, seen), alone) for trials in others],
    )
    return Figure(
        key,
        f"Four scenarios of collaboration, {task.what}",
        "The second and third owner are small or large, conservative (ε = 0.1) or eager (ε = "
        "10); n₁ and ε₁ vary.",
        at.rows_for((task.first[-1], task.large, task.large)),
        _panels(task, "read off", drawn["read off"], seen),
        _panels(task, "corrected", drawn["corrected"], seen),
        at.settings,
        [judged(measured) for judged in _CLAIMS],
    )


def _trials(
    at: Experiment, task: Task, noise: Noise, times: float = 1.0, corners: bool = False
) -> _Trials:
    """Return the trials of all scenarios, or those with the least and largest n₁ and ε₁ alone.

    Args:
        at: the experiment.
        task: whose n₁ and ε₁ they have.
        noise: which Ξ the noise is made for, and for how many answers.
        times: by what the step size is multiplied.
        corners: whether only the least and largest n₁ and ε₁ are tried.
    """
    others = ((task.small, 0.1), (task.small, 10.0), (task.large, 0.1), (task.large, 10.0))
    first = (task.first[0], task.first[-1]) if corners else task.first
    budgets = (task.budgets[0], task.budgets[-1]) if corners else task.budgets
    step = at.step("corrected" if noise == "corrected" else "read off") * times
    return [
        [
            [
                Trial(at.name, (n1, n, n), (e1, e, e), noise, step, foretold=not corners)
                for e1 in budgets
            ]
            for n1 in first
        ]
        for n, e in others
    ]


def _under_other_choices(at: Experiment, task: Task) -> list[_Trials]:
    """Return the corners under every other choice of what W leaves open: the step size, and Ξ."""
    return [
        _trials(at, task, noise, times, corners=True)
        for noise in ("read off", "supremum")
        for times in (1.0, *OTHER_STEPS)
        if (noise, times) != ("read off", 1.0)
    ]


def _psi(trials: _Trials, seen: Seen) -> FloatArray:
    """Return the mean ψ of every trial, of shape (scenario, n₁, ε₁)."""
    return np.array(
        [[[seen[trial].mean for trial in row] for row in scenario] for scenario in trials]
    )


def _panels(task: Task, noise: Noise, trials: _Trials, seen: Seen) -> list[Grid]:
    """Return ψ over n₁ and ε₁, a panel for every scenario."""
    return [
        Grid(
            f"{NAMES[noise]}, {name}",
            "ε₁",
            task.budgets,
            "n₁",
            tuple(map(float, task.first)),
            tuple(tuple(seen[trial] for trial in row) for row in scenario),
        )
        for name, scenario in zip(_SCENARIOS, trials, strict=True)
    ]


def _first_owner_alone(at: Experiment, task: Task) -> FloatArray:
    """Return ψ of the first owner's own model at the largest n₁, by scenario."""
    setting = at.workshop.setting(at.name)
    alone: list[float] = []
    for n in (task.small, task.large):
        sizes = (task.first[-1], n, n)
        records = setting.lab.risks(setting.loss, setting.holdings(sizes))
        own = model_alone(setting.problem, records["owner 1"])
        alone += 2 * [float(setting.stick(sizes).relative(own))]
    return np.array(alone)


@dataclass(frozen=True, eq=False)
class _Surfaces:
    """ψ in the four scenarios, under one choice of step size and noise.

    Args:
        psi: of shape (scenario, n₁, ε₁).
        alone: ψ of the first owner's own model at the largest n₁, by scenario.
    """

    psi: FloatArray
    alone: FloatArray

    @property
    def by_budget(self) -> FloatArray:
        """By which factor ε₁ improves ψ at the largest n₁, by scenario."""
        return self.psi[:, -1, 0] / self.psi[:, -1, -1]

    @property
    def by_size(self) -> FloatArray:
        """By which factor n₁ improves ψ at the largest ε₁, by scenario."""
        return self.psi[:, 0, -1] / self.psi[:, -1, -1]

    @property
    def together(self) -> FloatArray:
        """ψ at the largest n₁ and ε₁, by scenario."""
        return self.psi[:, -1, -1]

    @property
    def over_alone(self) -> FloatArray:
        """ψ together over ψ of the first owner's own model, by scenario."""
        return self.together / self.alone


@dataclass(frozen=True, eq=False)
class _Measured:
    """What a figure's claims are judged on.

    Args:
        key: of the figure.
        task: the task.
        drawn: as published.
        corrected: with corrected noise.
        elsewhere: under every other choice, at the corners alone.
    """

    key: str
    task: Task
    drawn: _Surfaces
    corrected: _Surfaces
    elsewhere: Sequence[_Surfaces]

    def claim(
        self,
        name: str,
        statement: str,
        test: Callable[[_Surfaces], list[bool]],
        number: float,
        measures: str,
        detail: str = "",
    ) -> Claim:
        """Judge a statement of W by a test of its parts."""
        others = [all(test(surfaces)) for surfaces in self.elsewhere]
        return Claim(
            f"{name}-{self.key}",
            self.key,
            statement,
            judge(test(self.drawn), others),
            number,
            measures,
            f"{detail} {counted(others, 'c₁ and Ξ (at the corners)')}".strip(),
            judge(test(self.corrected)),
        )


def _each(values: FloatArray) -> str:
    """Say a number for every scenario."""
    return ", ".join(
        f"{name} {value:.3g}" for name, value in zip(["i", "ii", "iii", "iv"], values, strict=True)
    )


def _no_point(measured: _Measured) -> Claim:
    """Judge whether scenario i is worse than the first owner's own model, and ε₁ matters little."""

    def test(at: _Surfaces) -> list[bool]:
        return [bool(at.together[0] > at.alone[0]), bool(at.by_budget[0] < 2)]

    drawn, task = measured.drawn, measured.task
    return measured.claim(
        "no-point-with-small-conservative-owners",
        "There is no point in joining small conservative owners: ψ stays large even for a "
        "large, eager first owner, and hardly changes with ε₁.",
        test,
        float(drawn.over_alone[0]),
        "ψ together over ψ of the first owner's own model, scenario i, "
        f"n₁ = {task.first[-1]:,}, ε₁ = {task.budgets[-1]:g}; above 1 there is no point",
        f"ψ changes with ε₁ by a factor of {drawn.by_budget[0]:.3g}. The ratio in all scenarios: "
        f"{_each(drawn.over_alone)}; with corrected noise {_each(measured.corrected.over_alone)}.",
    )


def _more_pronounced(measured: _Measured) -> Claim:
    """Judge whether ε₁ and n₁ matter more in scenario ii than in i."""

    def test(at: _Surfaces) -> list[bool]:
        return [bool(effect[1] > effect[0]) for effect in (at.by_budget, at.by_size)]

    drawn = measured.drawn
    return measured.claim(
        "more-pronounced-with-small-eager-owners",
        "With small eager owners (ii) the effects of ε₁ and n₁ are more pronounced than in i.",
        test,
        float(drawn.by_budget[1] / drawn.by_budget[0]),
        "by how much ε₁ changes ψ in scenario ii, over that in i",
        f"ψ changes with ε₁ by {_each(drawn.by_budget)}; with n₁ by {_each(drawn.by_size)}.",
    )


def _second_largest_effect(measured: _Measured) -> Claim:
    """Judge whether only one scenario has a larger effect of n₁ than i."""

    def test(at: _Surfaces) -> list[bool]:
        return [int(np.argsort(-at.by_size)[1]) == 0]

    drawn, task = measured.drawn, measured.task
    return measured.claim(
        "second-largest-effect-of-n1",
        "Small conservative owners (i) leave n₁ the second-largest effect of the four scenarios "
        "(our reading of: n₁ must become considerably large to compensate).",
        test,
        float(drawn.by_size[0]),
        f"ψ at n₁ = {task.first[0]:,} over ψ at {task.first[-1]:,} in scenario i, ε₁ = "
        f"{task.budgets[-1]:g}",
        f"By scenario: {_each(drawn.by_size)}; with corrected noise "
        f"{_each(measured.corrected.by_size)}.",
    )


def _like_small_but_better(measured: _Measured) -> Claim:
    """Judge whether ψ is better in scenario iii than in i, and ε₁ matters less than in ii."""

    def test(at: _Surfaces) -> list[bool]:
        return [bool((at.psi[2] < at.psi[0]).all()), bool(at.by_budget[2] < at.by_budget[1])]

    psi = measured.drawn.psi
    return measured.claim(
        "large-conservative-owners-are-like-small-ones-but-better",
        "Large conservative owners (iii) are like small ones (i), with better ψ.",
        test,
        float((psi[0] / psi[2]).min()),
        "the least ψ in i over ψ in iii, over all n₁ and ε₁",
    )


def _best_of_all(measured: _Measured) -> Claim:
    """Judge whether ψ is best in scenario iv, everywhere."""

    def test(at: _Surfaces) -> list[bool]:
        return [bool((at.psi[3] < at.psi[:3].min(axis=0)).all())]

    return measured.claim(
        "large-eager-owners-are-best",
        "Large eager owners (iv) are the best of all, whatever n₁ and ε₁.",
        test,
        float(measured.drawn.psi[3].max()),
        "the worst ψ in scenario iv",
        f"With corrected noise {measured.corrected.psi[3].max():.3g}.",
    )


_CLAIMS: tuple[Callable[[_Measured], Claim], ...] = (
    _no_point,
    _more_pronounced,
    _second_largest_effect,
    _like_small_but_better,
    _best_of_all,
)
