"""Along which axes a treaty has owners asked: found on what public rows tell, then part of it."""

import numpy as np

from treaty.errors import TreatyError
from treaty.fitness import Problem
from treaty.learners import Survey
from treaty.learners.axes import axes_of
from treaty.terms.document import Treaty


def along_all(treaty: Treaty) -> Treaty:
    """Return the treaty with whole gradients asked for."""
    if treaty.training.axes is None:
        return treaty
    fitted = treaty.fitted and treaty.fitted.model_copy(update={"axes": None})
    training = treaty.training.model_copy(update={"axes": None})
    return treaty.model_copy(update={"training": training, "fitted": fitted})


def with_axes(treaty: Treaty, surveyed: Survey) -> Treaty:
    """Return the treaty with as many axes as it has owners asked along.

    Args:
        treaty: the treaty, its dictionary in place.
        surveyed: what public rows tell about `along_all` of it.
    """
    terms = treaty.training
    if terms.axes is None:
        return treaty
    if terms.start == "zero":
        raise TreatyError(
            "training.axes: axes are those along which a model of public rows may be off: set start = "
            '"public" or "tuned", or leave axes out'
        )
    assert treaty.fitted is not None
    found = axes_of(surveyed.view(terms.start), surveyed.problem.ridge, terms.axes)
    axes = tuple(tuple(axis) for axis in found.T.tolist())
    return treaty.model_copy(update={"fitted": treaty.fitted.model_copy(update={"axes": axes})})


def asked_along(problem: Problem, treaty: Treaty) -> Problem:
    """Return the problem with a treaty's axes in it, if it has any."""
    if treaty.training.axes is None:
        return problem
    if treaty.fitted is None or treaty.fitted.axes is None:
        raise TreatyError(
            "training.axes: the axes have not been found yet: treaty fit does that, on public rows"
        )
    return problem.along(np.array(treaty.fitted.axes).T)
