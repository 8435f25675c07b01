"""Can frauds be found together? Card rows of three banks, ranked: average precision and AUC.

    python -m bench.fraud [SPLITS [FIRST]]

Three banks hold 10,000 transactions each, 1.37% of them frauds; 1,000 are public, and the rest nobody
has seen. Loss: logistic, frauds as heavy as other rows or balanced by public frequencies; one question
at the tuned public model, answers blended with the public evidence. `together` is the shared model,
`adapted` what a bank makes of it with its own records, `alone` its own tuned model, `public` the tuned
public model, `pooled` the tuned model of all records in one place, without privacy.
"""

import sys

import numpy as np
import polars as pl
from joblib import Parallel, delayed
from sklearn.metrics import average_precision_score, roc_auc_score
from threadpoolctl import threadpool_limits

from bench.records import cards
from bench.report import finish
from treaty.adaptation import OwnRecords, alone, in_predictions
from treaty.arrays import FloatArray
from treaty.fitness import RowRisk
from treaty.gains import ALONE, PUBLIC, TOGETHER, adapted, contest
from treaty.learners import survey
from treaty.privacy import Budget
from treaty.records import Counts, FrameSource
from treaty.simulation import simulated_models
from treaty.terms import Treaty, encoder_of, fit, plan_of, problem_of

SPLITS = 8
BANKS, EACH, PUBLIC_ROWS = 3, 10_000, 1_000
EPSILONS = (1.0, 3.0)
QUANTILE = 0.5
"""The share of public frauds' gradients that the clip leaves as they are.

Frauds are few and weigh much: a clip for all rows alike would cut all that is to be learnt of them.
"""
Weights = dict[str, float] | str | None
WEIGHTS: dict[str, Weights] = {"equal": None, "balanced": "balanced"}
"""How much frauds count: as much as other rows, or as much as all of them together."""
Scores = dict[str, dict[str, float]]


def treaty_among_banks(weights: Weights, clip: float) -> Treaty:
    """Return the treaty, with settings by hand.

    Args:
        weights: how much frauds count.
        clip: the largest norm of a gradient.
    """
    task = cards()
    return Treaty.model_validate(
        {
            "version": 1,
            "title": "card fraud",
            "features": {name: feature.model_dump() for name, feature in task.features.items()},
            "target": {"column": "Class", "labels": ["0", "1"], "label": "fraud"},
            "dictionary": {"standardise": "public", "radius_quantile": 0.9, "norm": "l1"},
            "loss": {
                "name": "logistic",
                "class_weights": weights,
                "clip": clip,
                "ridge": 1e-6,
                "theta_max": 10.0,
            },
            "training": {"method": "blended-step", "horizon": 1, "start": "tuned"},
            "parties": [
                {"name": f"bank {i}", "records": EACH, "epsilon": 1.0} for i in range(BANKS)
            ],
        }
    )


def measured(weights: Weights, seed: int) -> Scores:
    """Return how well every model ranks the unseen rows, of one split."""
    with threadpool_limits(1):
        frame = pl.concat([cards().public, cards().private])
        frame = frame.sample(fraction=1.0, shuffle=True, seed=seed)
        public, rest = frame[:PUBLIC_ROWS], frame[PUBLIC_ROWS:]
        banks = [rest[i * EACH : (i + 1) * EACH] for i in range(BANKS)]
        unseen = rest[BANKS * EACH :]
        document = fit(treaty_among_banks(weights, 1.0), public)
        encoder, unclipped = encoder_of(document), problem_of(document).fitness_loss
        rows = encoder.rows(unclipped, FrameSource(public))[0]
        tuned = survey(problem_of(document), rows).tuned.theta
        sizes = np.abs(unclipped.slope(rows.x @ tuned, rows.y)) * np.abs(rows.x).sum(axis=1)
        loss = {"clip": float(np.quantile(sizes[rows.y > 0], QUANTILE))}
        document = document.model_copy(update={"loss": document.loss.model_copy(update=loss)})
        problem = problem_of(document)
        told = survey(problem, rows)
        target = document.target
        xs = [np.ascontiguousarray(encoder.x(bank)) for bank in banks]
        ys = [target.encode(bank[target.column], Counts()) for bank in banks]
        x = encoder.x(unseen)
        truth = target.encode(unseen[target.column], Counts()) > 0

        def ranks(theta: FloatArray) -> dict[str, float]:
            score = x @ theta
            return {
                "ap": float(average_precision_score(truth, score)),
                "auc": float(roc_auc_score(truth, score)),
            }

        metrics = in_predictions(problem, rows, told.tuned.theta)
        everything = OwnRecords(problem, np.concatenate(xs), np.concatenate(ys))
        found = {"public": ranks(told.tuned.theta), "pooled": ranks(alone(everything).theta)}
        risks = {
            party.name: RowRisk(problem.loss, own_x, own_y)
            for party, own_x, own_y in zip(document.parties, xs, ys, strict=True)
        }
        anchors = {PUBLIC: told.tuned.theta[None]}
        for epsilon in EPSILONS:
            plan = plan_of(document).with_budgets(lambda _, e=epsilon: Budget(e))
            model = simulated_models(plan.informed_by(told), risks, runs=1, seed=seed)[0]
            anchors[f"{TOGETHER} {epsilon:g}"] = model[None]
            found[f"together_{epsilon:g}"] = ranks(model)
        by_bank: dict[str, list[dict[str, float]]] = {}
        for own_x, own_y in zip(xs, ys, strict=True):
            made = contest(OwnRecords(problem, own_x, own_y), anchors, metrics)
            names = {"alone": ALONE, "public_adapted": adapted(PUBLIC)}
            names |= {f"adapted_{e:g}": adapted(f"{TOGETHER} {e:g}") for e in EPSILONS}
            for name, key in names.items():
                by_bank.setdefault(name, []).append(ranks(made.models[key][0]))
        for name, each in by_bank.items():
            found[name] = {k: float(np.mean([one[k] for one in each])) for k in ("ap", "auc")}
        return found


def main() -> None:
    """Measure, print a line a model, then one of JSON."""
    splits = int(sys.argv[1]) if len(sys.argv) > 1 else SPLITS
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    results: dict[str, Scores] = {}
    for weighed, weights in WEIGHTS.items():
        runs = Parallel(n_jobs=2)(
            delayed(measured)(weights, seed) for seed in range(first, first + splits)
        )
        results[weighed] = {
            name: {
                k: round(float(np.mean([run[name][k] for run in runs])), 4) for k in ("ap", "auc")
            }
            for name in runs[0]
        }
        print(f"frauds weigh: {weighed}")
        for name, scores in results[weighed].items():
            print(f"  {name:15} average precision {scores['ap']:.4f}, AUC {scores['auc']:.4f}")
        sys.stdout.flush()
    finish(
        **results,
        adapted_over_alone={
            weighed: round(found["adapted_3"]["ap"] / found["alone"]["ap"], 4)
            for weighed, found in results.items()
        },
    )


if __name__ == "__main__":
    main()
