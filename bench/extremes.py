"""A search for two neighbouring datasets that an answer tells apart better than it declares.

A case is a treaty with numbers of extreme size (bounds, dictionary, Θ, clip, loss, the noise's norm),
records of extreme size, one of them replaced, and a θ. From random cases the search climbs: it changes
one thing at a time and keeps what moves the answer further, relative to the declared sensitivity.
`worst` is the furthest it came; above 1 the stated ε would be wrong. `refused_share`: of the treaties
tried, how many lie outside the stated limits; `cases` are the others.
"""

import argparse
import math
import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from joblib import Parallel, delayed

from bench.report import finish
from treaty.errors import TreatyError
from treaty.fitness import Risk, RowRisk, pooled, risk_of
from treaty.learners import method_named
from treaty.limits import LARGEST, SMALLEST
from treaty.plans import Plan
from treaty.records import Counts
from treaty.terms import Treaty, encoder_of, fit, plan_of

CASES = 100_000
CLIMB = 50
"""Cases in one climb."""
COLUMNS = ("a", "b", "c")
Genes = dict[str, Any]
Dice = random.Random


def size(dice: Dice) -> float:
    """Return a size: anything, near a limit, or just outside of it."""
    kind = dice.random()
    if kind < 0.5:
        return 10.0 ** dice.uniform(-13.0, 13.0)
    if kind < 0.8:
        return 10.0 ** dice.uniform(-2.0, 2.0)
    if kind < 0.97:
        return dice.choice((SMALLEST, LARGEST)) * dice.choice((0.999, 1.0, 1.001))
    return 10.0 ** dice.uniform(-300.0, 300.0)


def signed(dice: Dice) -> float:
    return dice.choice((-1.0, 1.0, 0.0)) * size(dice)


def bounds(dice: Dice) -> tuple[float, float]:
    """Return bounds: around zero, on one side of it, or very close together."""
    middle, width = signed(dice) if dice.random() < 0.3 else 0.0, size(dice)
    if dice.random() < 0.2:
        width = abs(middle) * 10.0 ** dice.uniform(-9.0, 0.0) + SMALLEST
    return (middle - width, middle + width)


def value(dice: Dice) -> float:
    """Return a cell of a record: an end of its bounds (±1), beyond, between, vanishing or missing."""
    return (
        dice.choice(
            (-1.0, 1.0, -1.0, 1.0, 0.0, math.inf, -math.inf, math.nan, 5e-324, -1e-300, 1e-160)
        )
        if dice.random() < 0.8
        else dice.uniform(-1.0, 1.0)
    )


def matrix(rows: int) -> Callable[[Dice], list[list[float]]]:
    def draw(dice: Dice) -> list[list[float]]:
        common = size(dice)
        shared = dice.random() < 0.5
        return [
            [dice.choice((-1.0, 1.0)) * (common if shared else size(dice)) for _ in COLUMNS]
            for _ in range(rows)
        ]

    return draw


def record(dice: Dice) -> list[float]:
    return [value(dice) for _ in range(len(COLUMNS) + 1)]


GENES: dict[str, Callable[[Dice], Any]] = {
    "loss": lambda dice: dice.choice(("squared", "squared", "huber", "logistic", "hinge")),
    "delta": size,
    "clip": lambda dice: size(dice) if dice.random() < 0.5 else None,
    "clip_norm": lambda dice: dice.choice(("l1", "l2")),
    "theta_max": lambda dice: size(dice) if dice.random() < 0.9 else math.inf,
    "mechanism": lambda dice: dice.choice(("laplace", "gaussian")),
    "bounds": lambda dice: [bounds(dice) for _ in COLUMNS],
    "log1p": lambda dice: [dice.random() < 0.2 for _ in COLUMNS],
    "target": bounds,
    "rescale": lambda dice: dice.random() < 0.3,
    "fitted": lambda dice: dice.choice((None, None, "scaled", "directions", "frequencies")),
    "centre": lambda dice: [signed(dice) for _ in COLUMNS],
    "scale": lambda dice: [size(dice) for _ in COLUMNS],
    "directions": matrix(2),
    "frequencies": matrix(2),
    "radius": lambda dice: size(dice) if dice.random() < 0.4 else None,
    "norm": lambda dice: dice.choice(("l1", "l2")),
    "intercept": lambda dice: dice.choice((0.0, 1.0, size(dice))),
    "records": lambda dice: 9000 if dice.random() < 0.02 else dice.choice((2, 3, 10, 100)),
    "kind": lambda dice: dice.choice(("moments", "rows", "pooled")),
    "method": lambda dice: dice.choice(
        ("averaged-subgradient", "averaged-subgradient", "one-shot")
    ),
    "one": record,
    "other": record,
    "rest": record,
    "rest_noise": lambda dice: dice.randrange(1000) if dice.random() < 0.5 else None,
    "theta": lambda dice: [
        dice.choice((-1.0, 1.0, 0.0, 1e-9, dice.uniform(-1, 1))) for _ in range(5)
    ],
}


def treaty_of(genes: Genes) -> Treaty:
    """Return the treaty of a case, or raise why it is refused."""
    labels = genes["loss"] in ("logistic", "hinge")
    terms: Genes = {
        "norm": genes["norm"],
        "intercept": genes["intercept"],
        "radius": genes["radius"],
    }
    fitted = None
    if genes["fitted"] is not None:
        fitted = {
            **terms,
            "columns": COLUMNS,
            "centre": genes["centre"],
            "scale": genes["scale"],
        }
        if genes["fitted"] == "directions":
            terms["components"], fitted["directions"] = 2, genes["directions"]
        if genes["fitted"] == "frequencies":
            terms["fourier"], fitted["frequencies"] = {"features": 4}, genes["frequencies"]
    party = {"name": "owner", "records": genes["records"], "epsilon": 1.0}
    return Treaty.model_validate(
        {
            "version": 1,
            "features": {
                name: {"kind": "number", "bounds": ends, "log1p": log}
                for name, ends, log in zip(COLUMNS, genes["bounds"], genes["log1p"], strict=True)
            },
            "target": {"column": "y"}
            | (
                {}
                if labels
                else {
                    "bounds": genes["target"],
                    "rescale": genes["rescale"],
                    "missing": sum(genes["target"]) / 2,
                }
            ),
            "dictionary": terms,
            "fitted": fitted,
            "loss": {
                "name": genes["loss"],
                "parameters": {"delta": genes["delta"]} if genes["loss"] == "huber" else {},
                "clip": genes["clip"],
                "clip_norm": genes["clip_norm"],
                "theta_max": genes["theta_max"],
            },
            "training": {
                "method": genes["method"],
                "horizon": 1,
                "mechanism": genes["mechanism"],
            },
            "parties": [party | ({"delta": 1e-6} if genes["mechanism"] == "gaussian" else {})],
        }
    )


def cells(genes: Genes, labels: bool) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return two tables of records that differ in the first."""
    ends = [*genes["bounds"], genes["target"]]
    rows = np.tile(np.array(genes["rest"]), (genes["records"], 1))
    if genes["rest_noise"] is not None:
        rows = np.random.default_rng(genes["rest_noise"]).uniform(-1, 1, rows.shape)
    rows[0] = genes["one"]
    frames: list[pl.DataFrame] = []
    for first in ("one", "other"):
        rows[0] = genes[first]
        columns: dict[str, Any] = {}
        for j, name in enumerate((*COLUMNS, "y")):
            low, high = ends[j]
            column = rows[:, j]
            if name == "y" and labels:
                columns[name] = np.where(column > 0, 1.0, -1.0)
                continue
            # ±1 are the ends; smaller numbers are taken as they are, to vanish next to the bounds.
            placed = 0.5 * (low + high) + 0.5 * (high - low) * column
            tiny = np.abs(column) < 1e-100
            columns[name] = np.where(tiny, column, placed)
        frames.append(pl.DataFrame(columns))
    return frames[0], frames[1]


def risk(kind: str, plan: Plan, x: np.ndarray, y: np.ndarray) -> Risk:
    """Return the records as one kind of risk; where a loss has no moments, as rows."""
    loss = plan.problem.loss
    if kind == "pooled":
        half = max(1, len(y) // 3)
        return pooled([risk_of(loss, x[:half], y[:half]), risk_of(loss, x[half:], y[half:])])
    return risk_of(loss, x, y) if kind == "moments" else RowRisk(loss, x, y)


def ratio(genes: Genes) -> float | None:
    """Return how far an answer moves over what is declared; None if the treaty is refused."""
    try:
        document = fit(treaty_of(genes), None)
        plan = plan_of(document)
        declared = plan.releases[0].sensitivity
        _ = plan.scales
    except (TreatyError, ValueError):
        return None
    encoder, problem = encoder_of(document), plan.problem
    theta = np.resize(np.array(genes["theta"]), problem.dimension) * min(problem.theta_max, LARGEST)
    answers: list[np.ndarray] = []
    for frame in cells(genes, problem.loss.labels):
        x = encoder.x(frame)
        y = document.target.encode(frame["y"], Counts())
        question = plan.learner_class.asks(theta)
        answers.append(question.exact(risk(genes["kind"], plan, x, y), problem))
    if not all(np.isfinite(answer).all() for answer in answers):
        return math.inf
    order = 1 if plan.mechanism.norm == "l1" else 2
    moved = float(np.linalg.norm(answers[0] - answers[1], order))
    return moved / declared


@dataclass(frozen=True)
class Found:
    """What a part of the search came to."""

    cases: int
    refused: int
    worst: float
    genes: Genes
    reached: dict[tuple[str, bool, str], float]
    by_question: dict[str, float]


def search(seed: int, cases: int) -> Found:
    """Climb from random cases, again and again, until so many cases have been tried."""
    dice = Dice(seed)
    tried = refused = 0
    worst, worst_genes = -1.0, {}
    reached: dict[tuple[str, bool, str], float] = {}
    by_question: dict[str, float] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        # Missing and infinite cells are clamped; everything after must not overflow.
        while tried < cases:
            genes = {name: draw(dice) for name, draw in GENES.items()}
            best = -1.0
            for _ in range(CLIMB):
                changed = dict(genes)
                for name in dice.sample(list(GENES), dice.choice((1, 1, 2))):
                    changed[name] = GENES[name](dice)
                found = ratio(changed)
                if found is None:
                    refused += 1
                    continue
                tried += 1
                if found >= best:
                    best, genes = found, changed
                    key = (genes["loss"], genes["clip"] is not None, genes["kind"])
                    reached[key] = max(reached.get(key, 0.0), found)
                    asked = method_named(genes["method"]).asks.name
                    by_question[asked] = max(by_question.get(asked, 0.0), found)
            if best > worst:
                worst, worst_genes = best, genes
    return Found(tried, refused, worst, worst_genes, reached, by_question)


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--cases", type=int, default=CASES)
    options.add_argument("--seed", type=int, default=0)
    chosen = options.parse_args()
    parts = 16
    each = -(-chosen.cases // parts)
    found: list[Found] = list(
        Parallel(n_jobs=2)(delayed(search)(chosen.seed * parts + i, each) for i in range(parts))
    )
    most = max(found, key=lambda part: part.worst)
    reached: dict[tuple[str, bool, str], float] = {}
    for part in found:
        for key, far in part.reached.items():
            reached[key] = max(reached.get(key, 0.0), far)
    for (loss, clipped, kind), far in sorted(reached.items()):
        print(f"{loss:9} {'clipped' if clipped else '':8} {kind:8} {far:.6f}")
    for asked in sorted(found[0].by_question):
        print(f"{asked:9} {max(part.by_question.get(asked, 0.0) for part in found):.6f}")
    print(f"furthest: {most.genes}")
    cases, refused = (sum(getattr(part, of) for part in found) for of in ("cases", "refused"))
    finish(
        cases=cases,
        worst=math.ceil(most.worst * 1e6) / 1e6 if math.isfinite(most.worst) else math.inf,
        refused_share=round(refused / (cases + refused), 3),
    )


if __name__ == "__main__":
    main()
