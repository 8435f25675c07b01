"""The method: a few questions at the public model, one noised statistic, or one owner at a time."""

import math
from collections.abc import Collection, Iterator
from typing import ClassVar

from treaty.errors import TreatyError
from treaty.learners import method_named
from treaty.learners.averaged_subgradient import AveragedSubgradient
from treaty.learners.blended_step import BlendedStep
from treaty.learners.one_at_a_time import OneAtATime
from treaty.learners.one_shot import OneShot
from treaty.records import Counts, DictionaryTerms
from treaty.records.encoder import encode
from treaty.records.fitting import encoded_columns, varying
from treaty.settings.expecting import Judge
from treaty.settings.levers.lever import Lever, Option
from treaty.terms import Treaty

ROOM = 10.0
"""Θ is a box so large that it does not matter; where gradients are clipped it costs no noise."""
RIDGE = 1e-6
NUMBERS = (3, 5)
"""How often everybody is asked. The second answer shows what a step on the word of public rows has done,
the third what came of taking it back: with fewer, rows unlike everybody's may ruin a model."""
MEETINGS = (1, 2, 4, 8)
"""How often each owner is met, one at a time."""
STEPS = (20, 100)
"""How many short steps are tried."""
MOST_MOMENTS = 40
"""With more columns than that, one noised statistic is noise."""


class Method(Lever):
    """A few questions at the public model, or one noised statistic that answers all questions.

    Where a loss has kinks its curvature is a poor guide: then also many short steps.

    Args:
        moments: whether one noised statistic may be tried.
        most: no more rounds than that.
    """

    name: ClassVar[str] = "method"
    line: ClassVar[str] = "training.method"

    def __init__(self, *, moments: bool, most: int) -> None:
        self._moments, self._most = moments, most

    def options(self, treaty: Treaty, judge: Judge) -> Iterator[Option]:
        """Return questions at the public model, then one noised statistic, or many short steps."""
        if treaty.training.method == OneShot.name:  # its columns may be good for questions as well
            treaty = under(treaty, BlendedStep.name, self._most, public_owners=judge.owners)
        yield Option(treaty, "questions at the public model")
        if math.isinf(judge.surveyed(treaty).problem.fitness_loss.curvature_bound):
            for steps in STEPS:
                if steps < self._most:
                    training = treaty.training.model_copy(
                        update={
                            "method": AveragedSubgradient.name,
                            "horizon": steps + 1,
                            "axes": None,
                        }
                    )
                    changed = treaty.model_copy(update={"training": training})
                    yield Option(changed, f"{steps} short steps")
        features = judge.fitted(treaty).features
        few = len(encoded_columns(features)) <= MOST_MOMENTS
        if self._moments and treaty.loss.name == "squared" and few:
            width = varying(encode(features, judge.rows, Counts()))
            yield Option(_with_moments(treaty, width), "one noised statistic")


class Rounds(Lever):
    """One question, or a few: more mend what few public rows get wrong, and cost noise.

    Args:
        most: no more rounds than that.
    """

    name: ClassVar[str] = "rounds"
    line: ClassVar[str] = "training.horizon"

    def __init__(self, most: int) -> None:
        self._most = most

    def options(self, treaty: Treaty, judge: Judge) -> Iterator[Option]:
        """Return few rounds, then more."""
        if treaty.training.method == OneShot.name:
            return
        for changed in _over(treaty, self._most):
            number = changed.training.horizon
            yield Option(changed, "one round" if number == 1 else f"{number} rounds")


def under(
    treaty: Treaty,
    method: str,
    most_rounds: int,
    *,
    keep: Collection[str] = (),
    public_owners: int = 0,
) -> Treaty:
    """Return a treaty trained with a method from the public model on, every gradient clipped.

    Args:
        treaty: the treaty.
        method: the method.
        most_rounds: no more rounds than that.
        keep: what stays as the treaty has it: axes; rounds, if its method is this one; and "ridge",
            where its own is part of what is learnt. If not, the public model has a ridge by
            cross-validation, and there is hardly any besides.
        public_owners: of how many owners public rows are that are to tell about others; 0 if they are
            like everybody's.
    """
    keeps_ridge, keeps_axes = "ridge" in keep, "axes" in keep and method == BlendedStep.name
    asks_owners = public_owners > 0 and "public_owners" in method_named(method).parameters
    training = treaty.training.model_copy(
        update={
            "method": method,
            "start": "public" if keeps_ridge else "tuned",
            "parameters": {"public_owners": float(public_owners)} if asks_owners else {},
            "blocs": (),
            "frequency_scaling": "off",
            "axes": treaty.training.axes if keeps_axes else None,
        }
    )
    loss = treaty.loss.model_copy(update={"clip": treaty.loss.clip or 1.0, "clip_norm": None})
    if not keeps_ridge:
        loss = loss.model_copy(update={"ridge": RIDGE, "theta_max": ROOM})
    changed = treaty.model_copy(update={"training": training, "loss": loss, "fitted": None})
    if method == OneShot.name:
        return _with_moments(changed, None)
    if "rounds" not in keep or treaty.training.method != method:
        return next(_over(changed, most_rounds))
    if treaty.training.horizon > most_rounds:
        raise TreatyError(
            f"training.horizon: {treaty.training.horizon:,} rounds are to be kept, and no more than "
            f"{most_rounds:,} are allowed"
        )
    return changed


def _over(treaty: Treaty, most: int) -> Iterator[Treaty]:
    """Return the treaty with few rounds, then with more."""
    method = treaty.training.method
    one_by_one = not method_named(method).synchronous
    # The papers' methods ask T − 1 times.
    unasked = 0 if method in (BlendedStep.name, OneAtATime.name) else 1
    found = False
    numbers = MEETINGS if one_by_one else NUMBERS
    if not one_by_one and most < NUMBERS[0] + unasked:
        numbers = tuple(range(most - unasked, 0, -1))[:1]  # as many as are allowed
    for number in numbers:
        horizon = number * len(treaty.parties) if one_by_one else number + unasked
        if horizon > most:
            break
        found = True
        cap = number if one_by_one else None
        yield treaty.model_copy(
            update={
                "training": treaty.training.model_copy(update={"horizon": horizon}),
                "parties": tuple(p.model_copy(update={"answers": cap}) for p in treaty.parties),
            }
        )
    if not found:
        least = len(treaty.parties) * MEETINGS[0] if one_by_one else 1 + unasked
        raise TreatyError(
            f"{method} needs at least {least:,} rounds among these parties, and no more than {most:,} "
            "are allowed"
        )


def _with_moments(treaty: Treaty, width: int | None) -> Treaty:
    """Return a treaty in which everybody gives its moments once, of whitened columns."""
    training = treaty.training.model_copy(
        update={
            "method": OneShot.name,
            "horizon": 1,
            "start": "zero",
            "parameters": {},
            "axes": None,
        }
    )
    changed: dict[str, object] = {
        "training": training,
        "loss": treaty.loss.model_copy(update={"clip": None}),
        "parties": tuple(p.model_copy(update={"answers": None}) for p in treaty.parties),
    }
    if width is not None:
        norm = "l1" if treaty.training.mechanism == "laplace" else "l2"
        changed["dictionary"] = DictionaryTerms(
            standardise="public", components=width, whiten=True, radius_quantile=0.95, norm=norm
        )
    return treaty.model_copy(update=changed)
