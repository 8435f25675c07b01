"""The one loop in which a learner asks and is told, wherever its questions are answered."""

from collections.abc import Iterator, Mapping, Sequence

from treaty.arrays import FloatArray, IntArray
from treaty.plans.blocs import Bloc
from treaty.plans.plan import Plan
from treaty.questions import Question


class Driver:
    """Takes a plan's learner through its rounds.

    Whoever answers its questions uses it like this:

        for number in driver.rounds():
            question = driver.ask(bloc)
            driver.tell(bloc, answers)

    A round that is not told comes again. Leave the loop when nobody has an answer left.

    Args:
        plan: the plan.
        runs: how many runs to learn at once, as a leading axis; None for one run without it.
    """

    def __init__(self, plan: Plan, runs: int | None = None) -> None:
        self.plan = plan
        self.learner = plan.learner(runs)

    @property
    def blocs(self) -> tuple[Bloc, ...]:
        """The blocs that the learner meets."""
        return self.plan.blocs_met

    @property
    def model(self) -> FloatArray:
        """The model so far."""
        return self.learner.model

    @property
    def round(self) -> int:
        """The number of the next question."""
        return self.learner.round

    def rounds(self) -> Iterator[int]:
        """Return the number of every round that is left to ask in."""
        while not self.learner.finished:
            yield self.learner.round

    def ask(self, bloc: IntArray | int) -> Question:
        """Return what to ask a bloc."""
        return self.learner.ask(bloc)

    def tell(self, bloc: int, answers: Mapping[int, Sequence[float] | FloatArray]) -> None:
        """Tell the learner the mean of what a bloc's members have answered, by their index."""
        self.learner.tell(bloc, self.blocs[bloc].mean(answers))

    def tell_mean(self, bloc: IntArray | int, mean: FloatArray) -> None:
        """Tell the learner a bloc's mean answer; with a run axis, one for every run."""
        self.learner.tell(bloc, mean)
