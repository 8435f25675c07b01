"""Does following the advice pay? 200 random consortia from the real tasks, decided, then measured.

One owner asks inside its own walls, with its records beside 3,000 public rows: join or stay alone, and
whom to leave out? Gradients are clipped, and the learner begins at the public model. `right_share` is
how often following `advise` ends, measured on everybody's records, with a fitness f at least as good
(within 2%) as the better of "always collaborate" and "never collaborate"; `always_share` and
`never_share` are the same for these two. The keys that end in `_psi` ask the same of ψ = f/f* − 1
itself, which is far stricter: where both choices are good, their ψ differ by more than 2% through luck
alone. A number as argument is the first of the 200 seeds.
"""

import sys
from itertools import pairwise

import numpy as np
import polars as pl

from bench.records import Task, cards, flights, hospital, lending
from bench.report import finish
from treaty import Budget, Party, Plan, Problem, risk_of, simulate, yardstick
from treaty.advice import advice_of
from treaty.arrays import FloatArray
from treaty.evidence import Ground, StandIn, cross_fitted, stages
from treaty.fitness import RowRisk, model_alone
from treaty.forecasting import Outlook
from treaty.learners import survey
from treaty.losses import Clipped, Logistic, Squared
from treaty.records import Counts
from treaty.records.encoder import encode

CASES, STAND_IN, RUNS, FOLDS, CLIP = 200, 3_000, 60, 6, 5.0
TASKS = {"flights": flights, "lending": lending, "hospital": hospital, "cards": cards}


def consortium(task: Task, random: np.random.Generator) -> dict[str, pl.DataFrame]:
    """Draw owners with records of their own: real ones where the task knows them."""
    count = int(random.integers(2, 8))
    sizes = np.exp(random.uniform(np.log(150), np.log(4_000), count)).astype(int)
    if task.by is None:
        start = np.concatenate([[0], np.cumsum(sizes)])
        return {f"owner {i}": task.private[a:b] for i, (a, b) in enumerate(pairwise(start))}
    known = task.private[task.by].value_counts(sort=True)[task.by].to_list()[:12]
    names = random.choice(known, count, replace=False)
    return {
        str(name): task.private.filter(task.private[task.by] == name)[:n]
        for name, n in zip(names, sizes, strict=True)
    }


def encoded(task: Task, frame: pl.DataFrame) -> tuple[FloatArray, FloatArray]:
    """Return rows as a stand-in holds them."""
    targets = task.target.encode(frame[task.target.column], Counts())
    return encode(task.features, frame, Counts()), targets


def decide(seed: int) -> tuple[float, float, float]:
    """Return measured ψ of always, never and advised, for one random consortium."""
    random = np.random.default_rng(seed)
    name = str(random.choice(list(TASKS)))
    task = TASKS[name](STAND_IN, int(random.integers(1000)))
    loss = Clipped(Logistic() if name == "cards" else Squared(), CLIP)
    ridge, theta_max = (0.01, 3.0) if name == "cards" else (2e-5, 1.0)
    problem = Problem(loss, task.domain, ridge, theta_max, task.intercept)
    records = consortium(task, random)
    epsilons = np.exp(random.uniform(np.log(0.1), np.log(30), len(records)))
    parties = tuple(
        Party(name, len(frame), Budget(float(e)))
        for (name, frame), e in zip(records.items(), epsilons, strict=True)
    )
    method = str(random.choice(["shrinking-steps", "averaged-subgradient", "one-at-a-time"]))
    T = int(random.choice([3, 5, 10]))
    plan = Plan(problem, parties, method, T, begin="public")
    problem = plan.problem  # with its clip in the norm of the mechanism
    risks = {name: risk_of(problem.loss, *task.rows(frame)) for name, frame in records.items()}
    public = RowRisk(problem.fitness_loss, *task.public_rows)
    surveyed = survey(problem, public)
    plan = plan.informed_by(surveyed)
    rows = StandIn(
        *encoded(task, task.public),
        "public",
        task.public[task.by].to_numpy().astype(str) if task.by else None,
        {parties[0].name: encoded(task, records[parties[0].name])},
    )
    folds = cross_fitted(task.terms, task.features, task.encoder.dictionary, rows, FOLDS, seed)
    stood_on = tuple(stages(problem, parties, folds))
    ground = Ground(plan, surveyed, stood_on, "private", rows.rows, rows.rows, True, ())
    advice = advice_of(Outlook(ground), seed=seed)
    stick = yardstick(problem, risks)

    def together(members: tuple[Party, ...]) -> float:
        chosen = plan.with_parties(members)
        return simulate(chosen, risks, runs=RUNS, seed=seed + 1, measured_with=stick).mean

    asks = parties[0]
    always = together(parties)
    never = float(stick.relative(model_alone(problem, risks[asks.name])))
    side = advice.owners[0]
    invited = tuple(p for p in parties if p.name in {*advice.coalition, asks.name})
    advised = together(invited) if side.joins else never
    choice = f"join {len(invited)}" if side.joins else "alone"
    print(
        f"{seed:3} {name:8} {method:20} T {T:3} owners {len(parties)}: always {always:.3g}, never "
        f"{never:.3g}, advised {advised:.3g} ({choice}); forecast all {advice.everybody.value:.3g}, "
        f"chosen {advice.recommended.value:.3g}, alone {side.alone:.3g}"
    )
    sys.stdout.flush()
    return always, never, advised


def main() -> None:
    first = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    cases = CASES
    ends = np.array([decide(seed) for seed in range(first, first + cases)])
    best = ends[:, :2].min(axis=1)
    by_fitness = (1 + ends <= 1.02 * (1 + best[:, None])).mean(axis=0)
    by_psi = (ends <= 1.02 * best[:, None]).mean(axis=0)
    figures = {}
    for suffix, share in (("", by_fitness), ("_psi", by_psi)):
        for rule, index in (("right", 2), ("always", 0), ("never", 1)):
            figures[f"{rule}_share{suffix}"] = round(float(share[index]), 3)
    finish(**figures, cases=cases)


if __name__ == "__main__":
    main()
