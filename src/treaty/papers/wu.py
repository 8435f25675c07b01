"""The figures of W: *The Value of Collaboration in Convex Machine Learning with DP*."""

from collections.abc import Sequence

import numpy as np

from treaty.fitness import best_constant
from treaty.learners import Bound
from treaty.papers.claim import Claim, Verdict, counted, judge, slope
from treaty.papers.experiment import (
    BUDGETS,
    INFINITE,
    LENDING_SIZES,
    VARIANTS,
    Drawing,
    Experiment,
    Seen,
    budget_panel,
    equal,
    means,
    rounds_panel,
    rounds_trials,
    size_panel,
    slope_claim,
    slopes,
    surface_panel,
    surface_trials,
)
from treaty.papers.figure import Figure
from treaty.papers.scenarios import w6, w11
from treaty.papers.tasks import FRAUD, LENDING, Task
from treaty.papers.workshop import Workshop


def w2(workshop: Workshop) -> Drawing:
    """ψ by round, lending."""
    task = LENDING
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
        at.rows_for(sizes),
        [rounds_panel(at, seen, "read off", sizes)],
        [rounds_panel(at, seen, "corrected", sizes)],
        at.settings,
        [claim],
    )


def w7(workshop: Workshop) -> Drawing:
    """ψ by round, fraud."""
    task = FRAUD
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
        at.rows_for(sizes),
        [rounds_panel(at, seen, "read off", sizes)],
        [rounds_panel(at, seen, "corrected", sizes)],
        at.settings,
        [claim],
    )


def _surface(workshop: Workshop, task: Task, key: str) -> Drawing:
    at = task.at(workshop)
    seen = yield surface_trials(at, task.sizes)
    panels = {noise: surface_panel(at, seen, noise, task.sizes) for noise in VARIANTS}
    shares = {
        noise: [float((np.diff(means(panel.cells), axis=axis) < 0).mean()) for axis in (0, 1)]
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
        at.rows_for(equal(3, task.sizes[-1])),
        [panels["read off"]],
        [panels["corrected"]],
        at.settings,
        [claim],
    )


def w3(workshop: Workshop) -> Drawing:
    """ψ over sizes and budgets, lending."""
    return _surface(workshop, LENDING, "W3")


def w8(workshop: Workshop) -> Drawing:
    """ψ over sizes and budgets, fraud."""
    return _surface(workshop, FRAUD, "W8")


def _by_budget(workshop: Workshop, task: Task, key: str) -> Drawing:
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
    if task is LENDING:
        claims.append(_not_tight(at, seen, key, floors[-1]))
    return Figure(
        key,
        f"ψ against the budgets, {task.what}",
        "On log-log axes the markers lie on lines of slope −2, which is what Theorem 2 says.",
        at.rows_for(lines[-1]),
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
    learner = plan.learner()
    value = setting.stick(sizes).best.value
    over = [
        _noise(learner.bound(as_published=as_published)) / value / seen[trial].mean
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


def _noise(bound: Bound | None) -> float:
    assert bound is not None
    return bound.noise


def w4(workshop: Workshop) -> Drawing:
    """ψ against ε, lending."""
    return _by_budget(workshop, LENDING, "W4")


def w9(workshop: Workshop) -> Drawing:
    """ψ against ε, fraud."""
    return _by_budget(workshop, FRAUD, "W9")


def _by_size(workshop: Workshop, task: Task, key: str) -> Drawing:
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
        at.rows_for(equal(3, task.sizes[-1])),
        [panels["read off"]],
        [panels["corrected"]],
        at.settings,
        [claim],
    )


def w5(workshop: Workshop) -> Drawing:
    """ψ against n, lending."""
    return _by_size(workshop, LENDING, "W5")


def w10(workshop: Workshop) -> Drawing:
    """ψ against n, fraud."""
    return _by_size(workshop, FRAUD, "W10")


FIGURES = {
    "W2": w2, "W3": w3, "W4": w4, "W5": w5, "W6": w6,
    "W7": w7, "W8": w8, "W9": w9, "W10": w10, "W11": w11,
}  # fmt: skip
