"""All that an owner could use on its own next records, side by side: rivals, and what joining brings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from treaty.adaptation import Metric, OwnRecords, adapt, alone
from treaty.arrays import FloatArray

ALONE = "alone"
PUBLIC = "public"
TOGETHER = "together"
CEILING = "ceiling"
RIVALS = ("alone", "public", "public, adapted")
"""What an owner can have without joining."""


def adapted(name: str) -> str:
    """Return what the adapted version of a model is called."""
    return f"{name}, adapted"


ADAPTED = adapted(TOGETHER)


@dataclass(frozen=True, eq=False)
class Contest:
    """The models that an owner can choose from, made without some parts of its records.

    Args:
        models: by name, shape (draws, p): several draws of a model that is not known yet, else one.
        scores: by name, what cross-validation on the records that were seen says of each: lower is
            better.
    """

    models: Mapping[str, FloatArray]
    scores: Mapping[str, float]

    @property
    def rival(self) -> str:
        """The best that can be had without joining, as far as the owner's own records tell."""
        there = [name for name in RIVALS if name in self.scores]
        return min(there, key=lambda name: self.scores[name])


def contest(
    records: OwnRecords,
    anchors: Mapping[str, FloatArray],
    metrics: Sequence[Metric],
    left_out: frozenset[int] = frozenset(),
) -> Contest:
    """Let everything compete that can be made of an owner's records and of others' models.

    Who has joined still has the public model: what is adapted is near whichever its own records favour.

    Args:
        records: the owner's own.
        anchors: others' models by name ("public", "together"), each of shape (draws, p).
        metrics: in which metrics they are adapted.
        left_out: parts of the records that nothing is to be seen of.
    """
    own = alone(records, left_out)
    models: dict[str, FloatArray] = {ALONE: own.theta[None]}
    scores: dict[str, float] = {ALONE: own.score}
    seen = records.without(left_out)
    for name, drawn in anchors.items():
        public = None if name == PUBLIC or PUBLIC not in anchors else anchors[PUBLIC][0]
        near = adapt(records, drawn, metrics, left_out, public=public)
        draws = records.wide(drawn)
        models[name] = draws
        models[adapted(name)] = np.stack([model.theta for model in near])
        scores[name] = float(np.mean(seen.value(draws)))
        scores[adapted(name)] = float(np.mean([model.score for model in near]))
    return Contest(models, scores)
