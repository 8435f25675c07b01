"""The figures of W: *The Value of Collaboration in Convex Machine Learning with DP*."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from treaty.arrays import FloatArray
from treaty.fitness import best_constant, model_alone
from treaty.forecast.bounds import bound_for
from treaty.learners import learner_for
from treaty.reproduce.claim import Claim, Verdict, counted, judge, slope
from treaty.reproduce.experiment import (
    BUDGETS,
    NAMES,
    VARIANTS,
    Drawing,
    Experiment,
    Seen,
    budget_panel,
    equal,
    rounds_panel,
    rounds_trials,
    size_panel,
    slope_claim,
    slopes,
    surface_panel,
    surface_trials,
)
from treaty.reproduce.figure import Figure, Grid
from treaty.reproduce.trial import Noise, Outcome, SettingName, Trial
from treaty.reproduce.workshop import Workshop

LENDING_SIZES = (10_000, 25_000, 50_000, 100_000, 250_000)
FRAUD_SIZES = (1_000, 3_000, 10_000, 30_000)
INFINITE = float("inf")


@dataclass(frozen=True, eq=False)
class _Task:
    """One of W's two tasks.

    Args:
        name: its setting.
        what: what is learnt, in words.
        sizes: the n_i of its surface; the largest is that of its first figure.
        lines: the n_i that lines are drawn for, against ε.
        tried: at which n_i claims are tried under other choices.
        first: the n₁ of its scenarios.
        budgets: the ε₁ of its scenarios.
        small: n₂ = n₃ of the scenarios with small owners.
        large: n₂ = n₃ of the others.
    """

    name: SettingName
    what: str
    sizes: tuple[int, ...]
    lines: tuple[int, ...]
    tried: tuple[int, ...]
    first: tuple[int, ...]
    budgets: tuple[float, ...]
    small: int
    large: int

    @property
    def left_open(self) -> str:
        """What the paper leaves open: for the hinge loss, Ξ is the same however it is read."""
        return "c₁ and Ξ" if self.name == "W lending" else "c₁"

    def at(self, workshop: Workshop) -> Experiment:
        return Experiment(workshop, self.name, equal(3, self.sizes[-1]))


_LENDING = _Task(
    "W lending",
    "lending interest rates",
    LENDING_SIZES,
    (25_000, 100_000, 250_000),
    LENDING_SIZES,
    (1_000, 3_000, 10_000, 30_000, 100_000),
    BUDGETS,
    1_000,
    100_000,
)
_FRAUD = _Task(
    "W fraud",
    "card fraud",
    FRAUD_SIZES,
    (3_000, 10_000, 30_000),
    (1_000, 3_000, 10_000),
    (1_000, 10_000, 30_000),
    (0.1, 1.0, 10.0),
    1_000,
    30_000,
)


def w2(workshop: Workshop) -> Drawing:
    """ψ by round, lending."""
    task = _LENDING
    at = task.at(workshop)
    sizes = equal(3, task.sizes[-1])
    pairs = list(zip(at.others(sizes, 1.0), at.others(sizes, 10.0), strict=True))
    seen = yield [*rounds_trials(at, sizes), *(t for pair in pairs for t in pair)]
    folds = [seen[one].mean / seen[ten].mean for one, ten in pairs]
    fits = [50 <= fold <= 200 for fold in folds]
    corrected = [seen[at.trial("corrected", sizes, e, every=True)].mean for e in (1.0, 10.0)]
    claim = Claim(
        "hundredfold",
        "W2",
        "Raising every ε from 1 to 10 improves ψ about 100-fold.",
        judge(fits[:1], fits[1:]),
        folds[0],
        "ψ at ε = 1 over ψ at ε = 10; 50 to 200 is taken for about 100",
        f"Under other choices it lies between {min(folds):.3g} and {max(folds):.3g}; with "
        f"corrected noise it is {corrected[0] / corrected[1]:.3g}. Where it is small, what the "
        f"optimisation leaves hides what noise adds. {counted(fits[1:], 'c₁ and Ξ')}",
        judge([50 <= corrected[0] / corrected[1] <= 200]),
    )
    return Figure(
        "W2",
        "ψ by round, lending interest rates",
        "ψ falls over T = 100 rounds, and ends the lower the larger ε is; boxes are the "
        "quartiles of 100 runs.",
        at.rows_for(*sizes),
        [rounds_panel(at, seen, "read off", sizes)],
        [rounds_panel(at, seen, "corrected", sizes)],
        at.settings,
        [claim],
    )


def w7(workshop: Workshop) -> Drawing:
    """ψ by round, fraud."""
    task = _FRAUD
    at = task.at(workshop)
    sizes = equal(3, task.sizes[-1])
    others = at.others(equal(3, task.tried[-1]), 1.0)
    seen = yield [*rounds_trials(at, sizes), *others]
    share = 1 / (1 + seen[at.trial("read off", sizes, 1.0, every=True)].mean)
    corrected = 1 / (1 + seen[at.trial("corrected", sizes, 1.0, every=True)].mean)
    elsewhere = [1 / (1 + seen[trial].mean) >= 0.9 for trial in others[1:]]
    setting = workshop.setting(task.name)
    stick = setting.stick(sizes)
    constant = 1 / (1 + float(stick.relative(best_constant(setting.problem, setting.public))))
    claim = Claim(
        "within-90-percent",
        "W7",
        "At ε = 1, three owners of 30,000 records come within 90% of the fitness without privacy in 100 "
        "rounds.",
        judge([share >= 0.9], elsewhere),
        share,
        "f(θ*)/f(θ), which is 1 without privacy; at least 0.9 is asked for",
        f"With corrected noise {corrected:.3f}. But with g = ½θᵀθ this asks little: a constant that "
        f"ignores every column has {constant:.3f}. "
        + counted(elsewhere, f"c₁ (tried with n_i = {task.tried[-1]:,})"),
        judge([corrected >= 0.9]),
    )
    return Figure(
        "W7",
        "ψ by round, card fraud",
        "The support vector machine comes the closer to the one without privacy, the larger ε is.",
        at.rows_for(*sizes),
        [rounds_panel(at, seen, "read off", sizes)],
        [rounds_panel(at, seen, "corrected", sizes)],
        at.settings,
        [claim],
    )


def _surface(workshop: Workshop, task: _Task, key: str) -> Drawing:
    at = task.at(workshop)
    seen = yield surface_trials(at, task.sizes)
    panels = {noise: surface_panel(at, seen, noise, task.sizes) for noise in VARIANTS}
    shares = {
        noise: [float((np.diff(_means(panel.cells), axis=axis) < 0).mean()) for axis in (0, 1)]
        for noise, panel in panels.items()
    }
    falls = shares["read off"]

    def judged(falling: Sequence[float]) -> Verdict:
        return judge([*(share == 1 for share in falling), *(share >= 0.5 for share in falling)])

    claim = Claim(
        f"improves-{key}",
        key,
        "ψ improves when owners have more records, and when their budgets are larger.",
        judged(falls),
        min(falls),
        "in which share of the steps from one n_i or ε_i to the next ψ falls, the lesser of both",
        f"With n_i in {falls[0]:.0%} of the steps, with ε_i in {falls[1]:.0%}. Where noise is so "
        "large that models sit at the edge of Θ, less of it can make them worse.",
        judged(shares["corrected"]),
    )
    return Figure(
        key,
        f"ψ against records and budgets, {task.what}",
        "The more records and the larger the budgets, the better, as Theorem 3 predicts.",
        at.rows_for(*equal(3, task.sizes[-1])),
        [panels["read off"]],
        [panels["corrected"]],
        at.settings,
        [claim],
    )


def w3(workshop: Workshop) -> Drawing:
    """ψ over sizes and budgets, lending."""
    return _surface(workshop, _LENDING, "W3")


def w8(workshop: Workshop) -> Drawing:
    """ψ over sizes and budgets, fraud."""
    return _surface(workshop, _FRAUD, "W8")


def _by_budget(workshop: Workshop, task: _Task, key: str) -> Drawing:
    at = task.at(workshop)
    lines = [equal(3, n) for n in task.lines]
    drawn = [at.trial(noise, n, e) for noise in VARIANTS for n in lines for e in BUDGETS]
    silent = [at.trial("read off", n, INFINITE, foretold=False) for n in lines]
    # Under other choices: the largest size that is tried, every budget.
    tried = [at.others(equal(3, task.tried[-1]), e) for e in BUDGETS]
    seen = yield [*drawn, *silent, *(trial for trials in tried for trial in trials)]
    panels = {noise: budget_panel(at, seen, noise, lines) for noise in VARIANTS}
    others = slopes(BUDGETS, tried, seen)
    floors = [seen[trial].mean for trial in silent]
    claims = [
        slope_claim(
            f"slope-in-epsilon-{key}",
            key,
            "ψ falls as ε⁻²: the slope in the log-log plot is −2.",
            panels["read off"],
            panels["corrected"],
            floors,
            others,
            f"{task.left_open} (the line of n_i = {task.tried[-1]:,})",
        )
    ]
    if task is _LENDING:
        claims.append(_not_tight(at, seen, key, floors[-1]))
    return Figure(
        key,
        f"ψ against the budgets, {task.what}",
        "On log-log axes the markers lie on lines of slope −2, which is what Theorem 2 says.",
        at.rows_for(*lines[-1]),
        [panels["read off"]],
        [panels["corrected"]],
        at.settings,
        claims,
    )


def _not_tight(at: Experiment, seen: Seen, key: str, floor: float) -> Claim:
    """Judge that W Theorem 3, which says ε⁻¹, is not tight for regression."""
    sizes = equal(3, LENDING_SIZES[-1])
    psi = [seen[at.trial("read off", sizes, e)].mean for e in BUDGETS]
    steep = slope(BUDGETS, [max(v - floor, 1e-15) for v in psi])
    setting = at.workshop.setting(at.name)
    trial = at.trial("read off", sizes, 1.0)
    plan = setting.plan(trial)
    learner = learner_for(plan)
    value = setting.stick(sizes).best.value
    over = [
        bound_for(plan, learner, as_published=as_published).noise / value / seen[trial].mean
        for as_published in (False, True)
    ]
    return Claim(
        "theorem-3-not-tight",
        key,
        "Theorem 3, whose bound falls as ε⁻¹, is not tight for regression.",
        judge([steep < -1.5]),
        steep,
        "slope of what noise adds to ψ against ε; Theorem 3 has −1",
        f"At ε = 1 what the bound has for the noise is {over[0]:.2g} times all of the ψ measured, or "
        f"{over[1]:.2g} times without the dimension in it.",
    )


def w4(workshop: Workshop) -> Drawing:
    """ψ against ε, lending."""
    return _by_budget(workshop, _LENDING, "W4")


def w9(workshop: Workshop) -> Drawing:
    """ψ against ε, fraud."""
    return _by_budget(workshop, _FRAUD, "W9")


def _by_size(workshop: Workshop, task: _Task, key: str) -> Drawing:
    at = task.at(workshop)
    drawn = [
        at.trial(noise, equal(3, n), e)
        for noise in VARIANTS
        for n in task.sizes
        for e in (0.1, 1.0, 10.0)
    ]
    silent = at.trial("read off", equal(3, task.sizes[-1]), INFINITE, foretold=False)
    tried = [at.others(equal(3, n), 10.0) for n in task.tried]
    seen = yield [*drawn, silent, *(trial for trials in tried for trial in trials)]
    panels = {noise: size_panel(at, seen, noise, task.sizes) for noise in VARIANTS}
    claim = slope_claim(
        f"slope-in-n-{key}",
        key,
        "ψ falls as n⁻²: the slope in the log-log plot is −2.",
        panels["read off"],
        panels["corrected"],
        [seen[silent].mean] * 3,
        slopes(task.tried, tried, seen),
        f"{task.left_open} (the line of ε_i = 10, up to n_i = {task.tried[-1]:,})",
    )
    return Figure(
        key,
        f"ψ against the number of records, {task.what}",
        "On log-log axes the markers lie on lines of slope −2, which is what Theorem 2 says.",
        at.rows_for(*equal(3, task.sizes[-1])),
        [panels["read off"]],
        [panels["corrected"]],
        at.settings,
        [claim],
    )


def w5(workshop: Workshop) -> Drawing:
    """ψ against n, lending."""
    return _by_size(workshop, _LENDING, "W5")


def w10(workshop: Workshop) -> Drawing:
    """ψ against n, fraud."""
    return _by_size(workshop, _FRAUD, "W10")


def w6(workshop: Workshop) -> Drawing:
    """Four scenarios, lending."""
    return _scenarios(workshop, _LENDING, "W6")


def w11(workshop: Workshop) -> Drawing:
    """Four scenarios, fraud."""
    return _scenarios(workshop, _FRAUD, "W11")


_SCENARIOS = (
    "i: small, conservative",
    "ii: small, eager",
    "iii: large, conservative",
    "iv: large, eager",
)


def _scenarios(workshop: Workshop, task: _Task, key: str) -> Drawing:
    at = task.at(workshop)
    others = (
        (task.small, 0.1),
        (task.small, 10.0),
        (task.large, 0.1),
        (task.large, 10.0),
    )

    def trials(noise: Noise, times: float = 1.0, corners: bool = False) -> list[list[list[Trial]]]:
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

    drawn = {noise: trials(noise) for noise in VARIANTS}
    choices: list[list[list[list[Trial]]]] = []
    if task is _LENDING:
        choices = [
            trials(noise, times, corners=True)
            for noise in ("read off", "supremum")
            for times in (0.25, 0.5, 1.0, 2.0, 4.0)
            if (noise, times) != ("read off", 1.0)
        ]
    seen = yield [
        trial
        for grid in (*drawn.values(), *choices)
        for scenario in grid
        for row in scenario
        for trial in row
    ]
    panels = {
        noise: [
            Grid(
                f"{NAMES[noise]}, {name}",
                "ε₁",
                task.budgets,
                "n₁",
                tuple(map(float, task.first)),
                tuple(tuple(seen[trial] for trial in row) for row in scenario),
            )
            for name, scenario in zip(_SCENARIOS, drawn[noise], strict=True)
        ]
        for noise in VARIANTS
    }
    psi = np.array([_means(panel.cells) for panel in panels["read off"]])
    corrected = np.array([_means(panel.cells) for panel in panels["corrected"]])
    elsewhere = [
        np.array([[[seen[t].mean for t in row] for row in scenario] for scenario in grid])
        for grid in choices
    ]
    setting = workshop.setting(task.name)
    alone: list[float] = []
    for n in (task.small, task.large):
        sizes = (task.first[-1], n, n)
        records = setting.lab.risks(setting.loss, setting.holdings(sizes))
        own = model_alone(setting.problem, records["owner 1"])
        alone += 2 * [float(setting.stick(sizes).relative(own))]
    return Figure(
        key,
        f"Four scenarios of collaboration, {task.what}",
        "The second and third owner are small or large, conservative (ε = 0.1) or eager (ε = "
        "10); n₁ and ε₁ vary.",
        at.rows_for(task.first[-1], task.large, task.large),
        panels["read off"],
        panels["corrected"],
        at.settings,
        _scenario_claims(key, task, psi, corrected, elsewhere, np.array(alone)),
    )


def _scenario_claims(
    key: str,
    task: _Task,
    psi: FloatArray,
    corrected: FloatArray,
    elsewhere: Sequence[FloatArray],
    alone: FloatArray,
) -> list[Claim]:
    """Judge what W says about the scenarios; ψ has shape (scenario, n₁, ε₁)."""

    def by_budget(grid: FloatArray) -> FloatArray:
        return grid[:, -1, 0] / grid[:, -1, -1]

    def by_size(grid: FloatArray) -> FloatArray:
        return grid[:, 0, -1] / grid[:, -1, -1]

    def pointless(grid: FloatArray) -> list[bool]:
        return [bool(grid[0, -1, -1] > alone[0]), bool(by_budget(grid)[0] < 2)]

    def pronounced(grid: FloatArray) -> list[bool]:
        return [bool(effect(grid)[1] > effect(grid)[0]) for effect in (by_budget, by_size)]

    def second(grid: FloatArray) -> list[bool]:
        return [int(np.argsort(-by_size(grid))[1]) == 0]

    def third(grid: FloatArray) -> list[bool]:
        return [bool((grid[2] < grid[0]).all()), bool(by_budget(grid)[2] < by_budget(grid)[1])]

    def fourth(grid: FloatArray) -> list[bool]:
        return [bool((grid[3] < grid[:3].min(axis=0)).all())]

    def claim(
        name: str,
        statement: str,
        test: Callable[[FloatArray], list[bool]],
        number: float,
        measures: str,
        detail: str,
    ) -> Claim:
        others = [all(test(grid)) for grid in elsewhere]
        return Claim(
            f"{name}-{key}",
            key,
            statement,
            judge(test(psi), others),
            number,
            measures,
            f"{detail} {counted(others, 'c₁ and Ξ (at the corners)')}".strip(),
            judge(test(corrected)),
        )

    def each(values: FloatArray) -> str:
        return ", ".join(
            f"{name} {value:.3g}"
            for name, value in zip(["i", "ii", "iii", "iv"], values, strict=True)
        )

    most = f"n₁ = {task.first[-1]:,}, ε₁ = {task.budgets[-1]:g}"
    return [
        claim(
            "no-point-with-small-conservative-owners",
            "There is no point in joining small conservative owners: ψ stays large even for a "
            "large, eager first owner, and hardly changes with ε₁.",
            pointless,
            float(psi[0, -1, -1] / alone[0]),
            f"ψ together over ψ of the first owner's own model, scenario i, {most}; above 1 there "
            "is no point",
            f"ψ changes with ε₁ by a factor of {by_budget(psi)[0]:.3g}. The ratio in all scenarios: "
            f"{each(psi[:, -1, -1] / alone)}; with corrected noise "
            f"{each(corrected[:, -1, -1] / alone)}.",
        ),
        claim(
            "more-pronounced-with-small-eager-owners",
            "With small eager owners (ii) the effects of ε₁ and n₁ are more pronounced than in i.",
            pronounced,
            float(by_budget(psi)[1] / by_budget(psi)[0]),
            "by how much ε₁ changes ψ in scenario ii, over that in i",
            f"ψ changes with ε₁ by {each(by_budget(psi))}; with n₁ by {each(by_size(psi))}.",
        ),
        claim(
            "second-largest-effect-of-n1",
            "Small conservative owners (i) leave n₁ the second-largest effect of the four scenarios "
            "(our reading of: n₁ must become considerably large to compensate).",
            second,
            float(by_size(psi)[0]),
            f"ψ at n₁ = {task.first[0]:,} over ψ at {task.first[-1]:,} in scenario i, ε₁ = "
            f"{task.budgets[-1]:g}",
            f"By scenario: {each(by_size(psi))}; with corrected noise {each(by_size(corrected))}.",
        ),
        claim(
            "large-conservative-owners-are-like-small-ones-but-better",
            "Large conservative owners (iii) are like small ones (i), with better ψ.",
            third,
            float((psi[0] / psi[2]).min()),
            "the least ψ in i over ψ in iii, over all n₁ and ε₁",
            "",
        ),
        claim(
            "large-eager-owners-are-best",
            "Large eager owners (iv) are the best of all, whatever n₁ and ε₁.",
            fourth,
            float(psi[3].max()),
            "the worst ψ in scenario iv",
            f"With corrected noise {corrected[3].max():.3g}.",
        ),
    ]  # fmt: skip


def _means(cells: Sequence[Sequence[Outcome]]) -> FloatArray:
    return np.array([[cell.mean for cell in row] for row in cells])


FIGURES = {
    "W2": w2, "W3": w3, "W4": w4, "W5": w5, "W6": w6,
    "W7": w7, "W8": w8, "W9": w9, "W10": w10, "W11": w11,
}  # fmt: skip
