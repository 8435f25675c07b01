"""What an answer releases: one formula, from public terms for a plan, from its grant for an owner."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from treaty.fitness import Problem
from treaty.privacy import Budget, Mechanism
from treaty.questions.question import Question

if TYPE_CHECKING:  # dp-accounting takes a second to import
    from dp_accounting import DpEvent


@dataclass(frozen=True)
class Release:
    """Answers to one kind of question about one owner's records, with noise for all of them.

    Args:
        question: what is asked.
        problem: what is learnt: the public domain, Θ and the loss.
        records: n_i.
        budget: what all answers together may spend.
        answers: how many answers that covers.
        mechanism: the noise.
    """

    question: type[Question]
    problem: Problem
    records: int
    budget: Budget
    answers: int
    mechanism: Mechanism

    @property
    def length(self) -> int:
        """How many numbers an answer has."""
        return self.question.length(self.problem)

    @cached_property
    def sensitivity(self) -> float:
        """How far replacing one record can move an answer, in the mechanism's norm."""
        return self.question.sensitivity(self.problem, self.records, self.mechanism.norm)

    @cached_property
    def scale(self) -> float:
        """The scale of the noise: 2ΞT/(nε) for mean gradients and pure ε; 0 where none is asked for."""
        return self.mechanism.scale(self.sensitivity, self.budget, self.answers)

    @property
    def variance(self) -> float:
        """E‖w‖² of the noise on one answer."""
        return self.mechanism.variance(self.scale, self.length)

    @property
    def event(self) -> "DpEvent":
        """What one answer releases, in dp-accounting's vocabulary."""
        return self.mechanism.event(self.scale / self.sensitivity)

    @property
    def largest(self) -> float:
        """The largest norm of an answer without noise, in the mechanism's norm."""
        return self.question.largest(self.problem, self.mechanism.norm)

    def reach(self, probability: float) -> float:
        """Return a size that no number of an honest answer exceeds, but with this small probability."""
        noise = 0.0
        if self.scale > 0:
            noise = self.mechanism.reach(self.scale, self.length, probability)
        return (self.largest + noise) * (1 + 1e-9)
