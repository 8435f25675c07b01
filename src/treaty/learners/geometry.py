"""The shape of a problem, from which learners derive their step sizes.

From public rows where the learner has some, else from what the loss declares over the public
domain. Never from private rows: tuning on them would be a release.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from treaty.adaptation import OwnRecords, alone
from treaty.arrays import FloatArray
from treaty.fitness import Problem, Risk, RowRisk, curvature_of, optimum
from treaty.fitness.threads import on_one_thread
from treaty.learners.public_view import PublicView, view_of
from treaty.losses import Squared

Begin = Literal["zero", "public", "tuned"]
PARTS = 10
"""Into so many parts public rows are cut to tune a model on them."""


@dataclass(frozen=True)
class Geometry:
    """What a step size depends on.

    Args:
        smoothness: a Lipschitz constant of ∇f; infinite for a loss with kinks.
        strong_convexity: a lower bound of the curvature of f.
        distance: how far the optimum may lie from the start.
        gradient: how large a gradient may be on the way, without noise.
    """

    smoothness: float
    strong_convexity: float
    distance: float
    gradient: float

    @property
    def longest_step(self) -> float:
        """1/smoothness; for a loss with kinks 1/λ of the regulariser, if it has one."""
        if math.isfinite(self.smoothness):
            return 1.0 / self.smoothness
        return 1.0 / self.strong_convexity if self.strong_convexity > 0 else math.inf


def declared_geometry(problem: Problem, start: FloatArray) -> Geometry:
    """Return what the loss declares over the public domain, without seeing any row."""
    ends = np.array(problem.domain.target)
    at_zero = float(problem.loss_at_zero(ends).max())
    distance = problem.theta_max * math.sqrt(problem.dimension)
    if problem.ridge > 0:
        # (λ/2)‖θ*‖² ≤ f(θ*) ≤ f(0) ≤ sup φ(0, y)
        distance = min(distance, math.sqrt(2 * at_zero / problem.ridge))
    distance += float(np.linalg.norm(start))
    slope = problem.gradient_bound("l2")
    return Geometry(problem.smoothness, problem.ridge, distance, slope + problem.ridge * distance)


@dataclass(frozen=True, eq=False)
class Tuned:
    """A model of public rows, and the ridge it was found with.

    Args:
        theta: the model.
        pull: the matrix K of ½(θ − a)ᵀK(θ − a); of a model that is held at a, the curvature of the rows:
            what cross-validation on them cannot tell from nothing may be as large as chance in them.
    """

    theta: FloatArray
    pull: FloatArray


@dataclass(frozen=True, eq=False)
class Survey:
    """What public rows tell a learner: their best model, and the shape of f around it.

    Args:
        problem: what is learnt.
        risk: the public rows, under the loss that fitness is measured with.
        theta: their best model.
        curvature: the Hessian of f there. A loss with kinks has that of its average over a window.
        smoothness: the largest curvature of f anywhere; for a loss with kinks, that of its average.
        by_chance: how far that model may be off because the rows are few.
        spread: the trace of the covariance of one record's gradient there.
    """

    problem: Problem
    risk: Risk
    theta: FloatArray
    curvature: FloatArray
    smoothness: float
    by_chance: float
    spread: float

    @cached_property
    def tuned(self) -> "Tuned":
        """The model of the rows with as much of a ridge as cross-validation on them asks for."""
        rows = self.risk
        if not isinstance(rows, RowRisk) or rows.n < 2 * PARTS:
            return Tuned(self.theta, self.problem.ridge * np.eye(len(self.theta)))
        # On one thread: whoever has the same rows comes to the same model, however many cores there are.
        with on_one_thread():
            found = alone(OwnRecords(self.problem, rows.x, rows.y, PARTS))
        return Tuned(
            found.theta, found.pull if math.isfinite(found.strength) else found.metric.matrix
        )

    def under(self, problem: Problem) -> "Survey":
        """Return what the same rows tell about a problem that differs in its clip alone."""
        other = replace(self, problem=problem)
        other.__dict__["tuned"] = self.tuned  # found once: no clip changes it
        return other

    def model(self, begin: Begin) -> Tuned:
        """Return where a learner begins, and the ridge that model was found with."""
        if begin == "tuned":
            found = self.tuned
        else:
            theta = self.theta if begin == "public" else np.zeros_like(self.theta)
            found = Tuned(theta, self.problem.ridge * np.eye(len(self.theta)))
        return replace(found, theta=self.problem.project(found.theta))

    def view(self, begin: Begin) -> PublicView:
        """Return what the rows tell about answers at where a learner begins."""
        found = self.model(begin)
        with on_one_thread():
            return view_of(self.problem, self.risk, found.theta, found.pull)

    def geometry(self, start: FloatArray) -> Geometry:
        """Return what the step sizes of a learner that begins at `start` depend on."""
        problem = self.problem
        across = 2 * problem.theta_max * math.sqrt(problem.dimension)
        distance = min(float(np.linalg.norm(self.theta - start)) + self.by_chance, across)
        gradient = float(np.linalg.norm(self.risk.gradient(start) + problem.ridge * start))
        gradient += math.sqrt(self.spread / self.risk.n)
        flattest = float(np.linalg.eigvalsh(self.curvature)[0])
        return Geometry(self.smoothness, max(problem.ridge, flattest), distance, gradient)


def survey(problem: Problem, public: Risk, best: FloatArray | None = None) -> Survey:
    """Look at public rows once, for all that a learner derives from them.

    The optimum of n rows lies about √(tr(H⁻¹GH⁻¹)/n) from that of the population, H being the
    Hessian and G the covariance of a record's gradient.

    Args:
        problem: what is learnt.
        public: the public rows.
        best: their best model, if it is at hand.
    """
    loss = problem.fitness_loss
    risk = public.with_loss(loss)
    theta = optimum(problem, risk).theta if best is None else best
    spread = risk.gradient_covariance(theta)
    kinks = math.isinf(loss.curvature_bound)
    curvature = curvature_of(problem, public, theta) + problem.ridge * np.eye(len(theta))
    inverse = np.linalg.pinv(curvature, rcond=1e-10, hermitian=True)
    by_chance = math.sqrt(max(0.0, float(np.trace(inverse @ spread @ inverse))) / risk.n)
    largest = float(np.linalg.eigvalsh(curvature)[-1])
    if not kinks:
        # sup φ″ · mean x xᵀ bounds the Hessian everywhere; squared loss has twice mean x xᵀ.
        gram = 0.5 * public.with_loss(Squared()).hessian(theta)
        largest = loss.curvature_bound * float(np.linalg.eigvalsh(gram)[-1]) + problem.ridge
    return Survey(problem, risk, theta, curvature, largest, by_chance, float(np.trace(spread)))
