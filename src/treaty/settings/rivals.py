"""What else could be done with the same budgets, in the same unit as a plan."""

import math
from dataclasses import dataclass

from treaty.records import DictionaryTerms
from treaty.settings.expecting import Judge
from treaty.settings.planning import Candidate
from treaty.terms import Treaty
from treaty.terms.document import PartyTerms

PAPERS = (
    ("the papers' shrinking steps (W-1), 100 rounds", "shrinking-steps", 100),
    ("the papers' averaged steps (W-2), 100 rounds", "averaged-subgradient", 100),
    ("the papers' one owner at a time (F-1), 1,000 rounds", "one-at-a-time", 1000),
)
"""The papers' algorithms, at the horizons they use."""
RIDGE = 1e-5
"""F-1 needs one."""


@dataclass(frozen=True)
class Rival:
    """Something else that could be done.

    Args:
        name: what.
        error: its expected error, in the target's own unit, or log loss.
    """

    name: str
    error: float


def rivals(found: Candidate, judge: Judge) -> list[Rival]:
    """Return what else could be done, judged on the rows that the plan is judged on."""
    treaty = found.treaty
    curated, open_, told = (
        judge.foreseen(each, found.optimism)
        for each in (under_a_curator(treaty), _without_noise(treaty), treaty)
    )
    constant = judge.constant(treaty)
    alone = told.alone(found.typical_records)
    return [
        Rival("the public rows only", told.public_error),
        *([] if constant is None else [Rival("a constant guess", constant)]),
        *([] if alone is None else [Rival("a typical owner alone, if all are alike", alone)]),
        Rival("one trusted curator at the smallest ε", curated.error),
        Rival("all records in one place, no privacy", open_.error),
    ]


def papers(draft: Treaty, judge: Judge) -> list[Rival]:
    """Return the papers' algorithms at the same budgets, rehearsed on the public rows.

    Their columns are mapped from bounds to [−1, 1]; steps are derived from the public rows, gradients
    are clipped as the draft says, and begin at 0.
    """
    made: list[Rival] = []
    for name, method, horizon in PAPERS:
        if method == "shrinking-steps" and draft.loss.name == "hinge":
            continue
        training = draft.training.model_copy(
            update={
                "method": method,
                "horizon": horizon,
                "start": "zero",
                "parameters": {},
                "axes": None,
            }
        )
        loss = draft.loss.model_copy(update={"ridge": draft.loss.ridge or RIDGE})
        treaty = draft.model_copy(
            update={
                "training": training,
                "loss": loss,
                "dictionary": DictionaryTerms(norm="l1"),
                "parties": tuple(p.model_copy(update={"answers": None}) for p in draft.parties),
                "fitted": None,
            }
        )
        made.append(Rival(name, judge.foreseen(treaty).error))
    return made


def under_a_curator(treaty: Treaty) -> Treaty:
    """Return the treaty with one curator who holds all records, at the smallest ε."""
    epsilon = min(party.epsilon for party in treaty.parties)
    delta = max(party.delta for party in treaty.parties)
    records = sum(party.records for party in treaty.parties)
    curator = PartyTerms(name="curator", records=records, epsilon=epsilon, delta=delta)
    training = treaty.training.model_copy(update={"weights": "records", "overlap": 1, "blocs": ()})
    return treaty.model_copy(update={"parties": (curator,), "training": training})


def _without_noise(treaty: Treaty) -> Treaty:
    parties = tuple(
        p.model_copy(update={"epsilon": math.inf, "delta": 0.0}) for p in treaty.parties
    )
    training = treaty.training.model_copy(update={"mechanism": "laplace", "weights": "records"})
    return treaty.model_copy(update={"parties": parties, "training": training})
