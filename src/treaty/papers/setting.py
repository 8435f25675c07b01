"""The setting of a paper's experiments: which rows, which model, which learner, how much noise."""

import math
from functools import cached_property, lru_cache

import numpy as np

from treaty.arrays import FloatArray
from treaty.fitness import (
    Problem,
    Risk,
    RowRisk,
    Yardstick,
    model_alone,
    optimum,
    pooled,
    risk_of,
)
from treaty.learners import Geometry, method_named, survey
from treaty.losses import Clipped, Loss, Squared
from treaty.papers.lab import Holdings, Lab
from treaty.papers.trial import Noise, SettingName, Trial
from treaty.plans import Party, Plan
from treaty.privacy import Budget
from treaty.trials import ClippedAtAnySize, gradient_sizes

CLIP_QUANTILE = 0.99
"""Gradients are clipped at this quantile of the public rows' gradients, at their own best model."""
CLIPPED_ROWS = 2_000
"""On so many rows the effect of clipping is estimated."""


class Setting:
    """What the experiments of one paper on one kind of rows have in common.

    Args:
        name: which ones.
        lab: the rows.
        loss: ℓ.
        ridge: λ of g(θ) = (λ/2)‖θ‖².
        theta_max: half the width of Θ; the papers give none.
        method: the learner.
        horizon: T.
        fewest: for owners named in the rows: how many records they must have.
        full: for owners named in the rows: how many rows the whole file has.
    """

    def __init__(
        self,
        name: SettingName,
        lab: Lab,
        loss: Loss,
        *,
        ridge: float,
        theta_max: float,
        method: str,
        horizon: int,
        fewest: int = 1,
        full: int = 1,
    ) -> None:
        self.name: SettingName = name
        self.lab = lab
        self.loss = loss
        self.method = method
        self.horizon = horizon
        self.problem = lab.problem(loss, ridge, theta_max)
        self._fewest = fewest
        self._full = full
        # The same few sizes are asked for again and again; rows of many owners are large.
        self.risks = lru_cache(maxsize=3)(self._risks)
        self.stick = lru_cache(maxsize=64)(self._stick)
        self._clipped_gradients = lru_cache(maxsize=8)(self._exactly_clipped)

    @property
    def synchronous(self) -> bool:
        """Whether everybody is asked in every round."""
        return method_named(self.method).synchronous

    @property
    def step_name(self) -> str:
        """What its step size is called: c1 or rho."""
        return "c1" if self.synchronous else "rho"

    def holdings(self, sizes: tuple[int, ...] | None) -> Holdings:
        """Return which rows are whose: dealt out in order, or as the rows say."""
        return self._named if sizes is None else self.lab.dealt(sizes)

    @cached_property
    def _named(self) -> Holdings:
        return self.lab.by_owner(self._fewest, self._full)

    def _risks(self, sizes: tuple[int, ...] | None) -> dict[str, Risk]:
        """Return every owner's records; rows in single precision."""
        return self.lab.risks(self.loss, self.holdings(sizes), single=True)

    def _stick(self, sizes: tuple[int, ...] | None) -> Yardstick:
        """Return what ψ is measured with: θ* is exact, in double precision."""
        holdings = self.holdings(sizes)
        total = sum(holdings.records.values())
        shares = [records / total for records in holdings.records.values()]
        exact = self.lab.risks(self.loss, holdings)
        best = optimum(self.problem, pooled(list(exact.values()), shares))
        return Yardstick(self.problem, pooled(list(self.risks(sizes).values()), shares), best)

    @cached_property
    def public(self) -> Risk:
        """The public rows."""
        return risk_of(self.loss, *self.lab.public)

    @cached_property
    def public_model(self) -> FloatArray:
        """The best model of the public rows."""
        return model_alone(self.problem, self.public)

    @cached_property
    def geometry(self) -> Geometry:
        """The shape of the problem, on the public rows."""
        return survey(self.problem, self.public).geometry(np.zeros(self.problem.dimension))

    @cached_property
    def clip(self) -> float:
        """C, from public rows alone; infinite where the loss itself bounds the gradient well."""
        if not isinstance(self.loss, Squared):
            return math.inf
        return float(np.quantile(self._gradients(*self.lab.public), CLIP_QUANTILE))

    def bound(self, noise: Noise) -> float:
        """Return the Ξ that the noise is made for."""
        supremum = self.problem.gradient_bound("l1")
        if noise == "read off":
            return min(supremum, self._largest)
        return min(supremum, self.clip) if noise == "corrected" else supremum

    @cached_property
    def _largest(self) -> float:
        return float(self._gradients(*self.lab.rows).max())

    def _gradients(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Return ‖∇ℓ‖₁ of every row at the public rows' model."""
        return gradient_sizes(self.loss, x, y, self.public_model)

    def answers(self, noise: Noise, owners: int) -> int:
        """Return for how many answers of each owner the noise is made.

        A synchronous learner asks everybody T − 1 times. An asynchronous one talks T times to one of
        N, T/N times to each; owners that enforce that need noise for no more.
        """
        if noise != "corrected":
            return self.horizon
        if self.synchronous:
            return method_named(self.method).questions(self.horizon)
        return math.ceil(self.horizon / owners)

    def plan(self, trial: Trial) -> Plan:
        """Return the plan of a trial."""
        records = self.holdings(trial.sizes).records
        budgets = trial.budgets * (len(records) if len(trial.budgets) == 1 else 1)
        clips = trial.noise == "corrected" and math.isfinite(self.clip)
        problem = self.clipped_problem if clips else self.problem
        # The noise of a smaller Ξ is that of a larger ε.
        factor = problem.gradient_bound("l1") / self.bound(trial.noise)
        answers = self.answers(trial.noise, len(records))
        parties = tuple(
            Party(name, n, Budget(epsilon * factor), answers=answers)
            for (name, n), epsilon in zip(records.items(), budgets, strict=True)
        )
        return Plan(problem, parties, self.method, self.horizon, {self.step_name: trial.step})

    @cached_property
    def clipped_problem(self) -> Problem:
        """The same problem with clipped gradients."""
        p = self.problem
        loss = Clipped(self.loss, self.clip, "l1")
        return Problem(loss, p.domain, p.ridge, p.theta_max, p.intercept)

    def trained_on(self, trial: Trial) -> dict[str, Risk]:
        """Return the records as a trial's owners answer from them."""
        if trial.noise != "corrected" or math.isinf(self.clip):
            return self.risks(trial.sizes)
        gradients = self._clipped_gradients(trial.sizes)
        clipped = self.clipped(self.lab.sample(self.loss, CLIPPED_ROWS), self.public_model)
        return {name: clipped.of(gradient) for name, gradient in gradients.items()}

    def clipped(self, few: RowRisk, centre: FloatArray) -> ClippedAtAnySize:
        """Return records with clipped gradients, as estimated on a few rows around a model."""
        assert isinstance(self.clipped_problem.loss, Clipped)
        return ClippedAtAnySize(self.clipped_problem.loss, few, centre)

    def _exactly_clipped(self, sizes: tuple[int, ...] | None) -> dict[str, FloatArray]:
        """Return every owner's clipped gradient at the public rows' model, of all its rows."""
        x, y = self.lab.rows
        loss = self.clipped_problem.loss
        return {
            name: RowRisk(loss, x[rows], y[rows]).gradient(self.public_model)
            for name, rows in self.holdings(sizes).rows.items()
        }
