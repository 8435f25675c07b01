"""The mean gradient of the loss at θ: what both papers ask for."""

from typing import ClassVar

from treaty.arrays import FloatArray
from treaty.fitness import Problem, Risk
from treaty.losses import Clipped, Norm, ships
from treaty.questions.question import Question, Records


class MeanGradient(Question):
    """Q(θ) = (1/n) Σ ∇ℓ(θ; x, y); along axes A, (1/n) Σ Aᵀ∇ℓ.

    With Ξ = sup‖∇ℓ‖ over Θ and the public domain, two records' gradients lie at most 2Ξ apart. Along
    axes Ξ is the clip: sup‖Aᵀ∇ℓ‖.
    """

    name: ClassVar[str] = "gradient"

    @classmethod
    def arguments(cls, problem: Problem) -> int:
        """Return p."""
        return problem.dimension

    @classmethod
    def length(cls, problem: Problem) -> int:
        """Return p, or k along k axes."""
        return problem.dimension if problem.axes is None else problem.axes.shape[1]

    @classmethod
    def largest(cls, problem: Problem, norm: Norm) -> float:
        """Return Ξ."""
        return problem.gradient_bound(norm)

    @classmethod
    def distance(cls, problem: Problem, norm: Norm) -> float:
        """Return 2Ξ."""
        return 2.0 * problem.gradient_bound(norm)

    @classmethod
    def roundings(cls, problem: Problem) -> int:
        """Return p + 8: a score is a sum of p products."""
        return problem.dimension + 8

    @classmethod
    def words(cls, problem: Problem) -> str:
        """Say what is asked for."""
        words = f"the mean gradient of the {problem.fitness_loss.name} loss"
        if problem.axes is None:
            return words
        return f"{words} along {cls.length(problem)} axes, of its {problem.dimension} numbers"

    def exact(self, records: Records, problem: Problem) -> FloatArray:
        """Return the mean gradient at every θ, along the axes if there are any."""
        if problem.axes is None:
            return records.gradient(self.theta)
        return records.gradient_along(self.theta, problem.axes)

    @classmethod
    def guarded(cls, risk: Risk, problem: Problem, norm: Norm) -> Risk:
        """Return the records under the problem's loss, held to Ξ where a user's own loss declares it."""
        if ships(problem.fitness_loss):
            return risk.with_loss(problem.loss)
        bound = problem.gradient_bound(norm)
        return risk.with_loss(Clipped(problem.loss, bound, norm, problem.axes))
