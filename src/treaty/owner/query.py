"""What passes between learner and owner: plain data, nothing else."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Query:
    """A learner asks for the mean gradient at θ.

    Args:
        treaty: the fingerprint of the treaty under which it asks.
        run: the name of one training run.
        round: k, from 1 to the horizon; a question has one round for good.
        theta: θ.
    """

    treaty: str
    run: str
    round: int
    theta: tuple[float, ...]


@dataclass(frozen=True)
class Answer:
    """An owner's noised mean gradient."""

    owner: str
    run: str
    round: int
    gradient: tuple[float, ...]
