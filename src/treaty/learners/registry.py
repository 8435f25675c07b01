"""Learners by the name that a treaty calls them."""

from treaty.errors import TreatyError, nearest
from treaty.learners.averaged_subgradient import AveragedSubgradient
from treaty.learners.blended_step import BlendedStep
from treaty.learners.learner import Learner
from treaty.learners.one_at_a_time import OneAtATime
from treaty.learners.one_shot import OneShot
from treaty.learners.shrinking_steps import ShrinkingSteps

METHODS: dict[str, type[Learner]] = {
    learner.name: learner
    for learner in (
        ShrinkingSteps,
        AveragedSubgradient,
        OneAtATime,
        OneShot,
        BlendedStep,
    )
}


def method_named(name: str) -> type[Learner]:
    """Return the learner called `name`."""
    if name not in METHODS:
        meant = nearest(name, METHODS)
        raise TreatyError(f'no method is called "{name}"{meant}; there are {", ".join(METHODS)}')
    return METHODS[name]
