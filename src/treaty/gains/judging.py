"""Every model's scores of an owner's own records, each record judged by models that never saw it."""

from collections.abc import Mapping, Sequence

import numpy as np

from treaty.adaptation import Metric, OwnRecords
from treaty.arrays import FloatArray
from treaty.gains.competing import contest
from treaty.matrices import scores as scores_of

RIVAL = "rival"
"""The best without joining: whatever cross-validation picks before a record is judged."""


def held_out_scores(
    records: OwnRecords,
    anchors: Mapping[str, FloatArray],
    metrics: Sequence[Metric],
) -> tuple[dict[str, FloatArray], dict[str, int]]:
    """Return every model's scores of the own records, and how often each rival was picked.

    The records are cut into parts. What judges a part is made without it: the own models, their
    strengths, how own columns are read, and the choice of the rival.

    Args:
        records: the owner's own.
        anchors: others' models by name, each of shape (draws, p).
        metrics: in which metrics they are adapted.
    """
    scores: dict[str, FloatArray] = {}
    picked: dict[str, int] = {}
    for part in records.parts:
        hidden = frozenset({part})
        unseen = records.hiding(part)
        made = contest(unseen, anchors, metrics, hidden)
        rows = records.rows[part]
        for name, models in {**made.models, RIVAL: made.models[made.rival]}.items():
            place = scores.setdefault(name, np.empty((len(models), len(records.y))))
            place[:, rows] = scores_of(unseen.x[rows], models.T).T
        picked[made.rival] = picked.get(made.rival, 0) + 1
    return scores, picked
