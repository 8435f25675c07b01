"""W's four scenarios (W6, W11): the others are small or large, conservative or eager; n₁ and ε₁ vary."""

from collections.abc import Callable, Sequence

import numpy as np

from treaty.arrays import FloatArray
from treaty.fitness import model_alone
from treaty.papers.claim import Claim, counted, judge
from treaty.papers.experiment import NAMES, OTHER_STEPS, VARIANTS, Drawing, means
from treaty.papers.figure import Figure, Grid
from treaty.papers.tasks import FRAUD, LENDING, Task
from treaty.papers.trial import Noise, Trial
from treaty.papers.workshop import Workshop


def w6(workshop: Workshop) -> Drawing:
    """Four scenarios, lending."""
    return _scenarios(workshop, LENDING, "W6")


def w11(workshop: Workshop) -> Drawing:
    """Four scenarios, fraud."""
    return _scenarios(workshop, FRAUD, "W11")


_SCENARIOS = (
    "i: small, conservative",
    "ii: small, eager",
    "iii: large, conservative",
    "iv: large, eager",
)


def _scenarios(workshop: Workshop, task: Task, key: str) -> Drawing:
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
    if task is LENDING:
        choices = [
            trials(noise, times, corners=True)
            for noise in ("read off", "supremum")
            for times in (1.0, *OTHER_STEPS)
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
    psi = np.array([means(panel.cells) for panel in panels["read off"]])
    corrected = np.array([means(panel.cells) for panel in panels["corrected"]])
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
        at.rows_for((task.first[-1], task.large, task.large)),
        panels["read off"],
        panels["corrected"],
        at.settings,
        _scenario_claims(key, task, psi, corrected, elsewhere, np.array(alone)),
    )


def _scenario_claims(
    key: str,
    task: Task,
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
