"""What passes between learner and owner: plain data, nothing else."""

from dataclasses import dataclass

from treaty.questions import MeanGradient, Question


@dataclass(frozen=True)
class Query:
    """A learner asks a question.

    Args:
        treaty: the fingerprint of the treaty under which it asks.
        run: the name of one training run.
        round: k, from 1 to the horizon; a question has one round for good.
        theta: the θ it is put at; nothing for a question that is not about a model.
        question: what is asked, by name; see `treaty.questions.QUESTIONS`.
    """

    treaty: str
    run: str
    round: int
    theta: tuple[float, ...]
    question: str = MeanGradient.name

    @classmethod
    def of(cls, treaty: str, run: str, round: int, question: Question) -> "Query":
        """Return a question as what is sent."""
        theta = tuple(float(value) for value in question.theta)
        return cls(treaty, run, round, theta, question.name)
