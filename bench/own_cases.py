"""Owners with their own records, a treaty among them, and what each could use: ready to be compared.

The settings are what a person writes by hand who has read how to spend ε: columns by frequency, hats,
one question at the tuned public model, answers clipped at the 95% quantile of public gradients.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from bench.owners import OwnersTask
from treaty.adaptation import Metric, OwnRecords, in_predictions
from treaty.arrays import FloatArray
from treaty.fitness import RowRisk
from treaty.learners import Survey, survey
from treaty.losses.clipped import Clipped
from treaty.plans import Plan
from treaty.records import Counts, Encoder, FrameSource
from treaty.records.columns import as_numbers
from treaty.simulation import simulated_models
from treaty.terms import Treaty, encoder_of, fit, plan_of, problem_of

QUANTILE = 0.95
"""The share of public gradients that the clip leaves as they are."""


@dataclass(frozen=True, eq=False)
class OwnRows:
    """One owner's rows: those it holds now, and those that come next.

    Args:
        frame: the records it holds now.
        x: their features.
        y: their targets, as they are learnt.
        next_x: features of the next records.
        next_truth: what was true of them, in the user's unit, not clamped.
    """

    frame: pl.DataFrame
    x: FloatArray
    y: FloatArray
    next_x: FloatArray
    next_truth: FloatArray


class Case:
    """One split of a task: public rows, owners' records, their next records, and the treaty.

    Args:
        task: the task.
        public_rows: how many rows are public.
        seed: of the split.
        held_out: the share of every owner's records that come next.
    """

    def __init__(self, task: OwnersTask, public_rows: int, seed: int, held_out: float) -> None:
        self.task = task
        self.public, owners = task.split(public_rows, seed)
        cuts = {name: round(held_out * len(rows)) for name, rows in owners.items()}
        held = {name: rows[cuts[name] :] for name, rows in owners.items()}
        self.treaty = fit(
            _treaty(task, self.public, {n: len(r) for n, r in held.items()}), self.public
        )
        self.encoder: Encoder = encoder_of(self.treaty)
        unclipped = problem_of(self.treaty)
        rows = self.encoder.rows(unclipped.fitness_loss, FrameSource(self.public))[0]
        self.treaty = self.treaty.model_copy(
            update={"loss": self.treaty.loss.model_copy(update={"clip": _clip(unclipped, rows)})}
        )
        self.problem = problem_of(self.treaty)
        self.survey: Survey = survey(self.problem, rows)
        self.owners = {name: self._rows(held[name], owners[name][: cuts[name]]) for name in owners}
        self.metrics: tuple[Metric, ...] = in_predictions(
            self.problem, rows, self.survey.tuned.theta
        )

    def plan(self, epsilon: float) -> Plan:
        """Return the plan at a budget for everybody."""
        plan = plan_of(self.treaty).with_budgets(lambda party: _budget(epsilon))
        return plan.informed_by(self.survey)

    def shared(self, epsilon: float, seed: int) -> FloatArray:
        """Train together once, with simulated noise."""
        risks = {n: RowRisk(self.problem.loss, o.x, o.y) for n, o in self.owners.items()}
        return simulated_models(self.plan(epsilon), risks, runs=1, seed=seed)[0]

    def pooled(self) -> FloatArray:
        """Return the best model of all records in one place, without privacy."""
        xx = sum(o.x.T @ o.x for o in self.owners.values())
        xy = sum(o.x.T @ o.y for o in self.owners.values())
        xx = xx + 1e-6 * np.diag(np.diag(xx)) + 1e-6 * np.eye(len(xx))
        return np.linalg.solve(xx, xy)

    def records(self, name: str, seed: int = 0) -> OwnRecords:
        """Return the records an owner holds now."""
        return OwnRecords(self.problem, self.owners[name].x, self.owners[name].y, seed=seed)

    def truth(self, name: str) -> FloatArray:
        """Return what is true of the records an owner holds now, in the user's unit."""
        column = self.task.target.column
        return as_numbers(column, self.owners[name].frame[column], Counts())

    def squared_error(self, name: str, theta: FloatArray, *, clamped: bool = False) -> float:
        """Return a model's mean squared error on an owner's next records, in the user's unit.

        Args:
            name: the owner.
            theta: the model.
            clamped: whether targets outside the treaty's bounds count as the bound.
        """
        centre, scale = self.task.target.scaling
        owner = self.owners[name]
        truth = np.clip(owner.next_truth, *self.task.target.bounds) if clamped else owner.next_truth
        return float(np.mean((truth - centre - scale * (owner.next_x @ theta)) ** 2))

    def _rows(self, now: pl.DataFrame, later: pl.DataFrame) -> OwnRows:
        target = self.task.target
        truth = as_numbers(target.column, later[target.column], Counts())
        x, next_x = (np.ascontiguousarray(self.encoder.x(frame)) for frame in (now, later))
        return OwnRows(now, x, target.encode(now[target.column], Counts()), next_x, truth)


def _budget(epsilon: float):
    from treaty.privacy import Budget

    return Budget(epsilon)


def _treaty(task: OwnersTask, public: pl.DataFrame, sizes: dict[str, int]) -> Treaty:
    return Treaty.model_validate(
        {
            "version": 1,
            "title": task.name,
            "features": {n: f.model_dump() for n, f in task.features(public).items()},
            "target": task.target.model_dump(),
            "dictionary": {"standardise": "frequency", "norm": "l1"},
            "loss": {"name": "squared", "clip": 1.0, "ridge": 1e-6, "theta_max": 10.0},
            "training": {"method": "blended-step", "horizon": 1, "start": "tuned"},
            "parties": [{"name": name, "records": n, "epsilon": 1.0} for name, n in sizes.items()],
        }
    )


def _clip(problem, rows: RowRisk) -> float:
    """Return the norm that 95% of the public rows' gradients at the tuned public model stay below."""
    assert isinstance(problem.loss, Clipped)
    theta = survey(problem, rows).tuned.theta
    slopes = np.abs(problem.fitness_loss.slope(rows.x @ theta, rows.y))
    return float(np.quantile(slopes * np.abs(rows.x).sum(axis=1), QUANTILE))
