"""What else could be done with the same budgets, in the same unit as a plan."""

import math
from dataclasses import dataclass

from treaty.forecasting import forecast
from treaty.records import DictionaryTerms, FrameSource
from treaty.settings.expecting import Judge, in_unit
from treaty.settings.planning import Candidate
from treaty.terms import Treaty
from treaty.terms.document import PartyTerms

PAPERS = (
    ("W-1: shrinking steps, T = 100", "shrinking-steps", 100),
    ("W-2: averaged sub-gradient, T = 100", "averaged-subgradient", 100),
    ("F-1: one at a time, T = 1,000", "one-at-a-time", 1000),
)
"""The papers' algorithms, at the horizons they use."""


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
    """Return what needs no rehearsal: the public rows, a curator, no privacy."""
    treaty = found.treaty
    curated = judge.expected(under_a_curator(treaty)).error
    return [
        Rival("the public rows only", found.expected.public_error),
        Rival("one trusted curator at the smallest ε", curated),
        Rival("all records in one place, no privacy", judge.expected(_without_noise(treaty)).error),
    ]


def papers(draft: Treaty, judge: Judge) -> list[Rival]:
    """Return the papers' algorithms at the same budgets, rehearsed on the public rows.

    Their columns are mapped from bounds to [−1, 1]; begin, steps and clip are as the draft has them.
    """
    made: list[Rival] = []
    for name, method, horizon in PAPERS:
        training = draft.training.model_copy(
            update={"method": method, "horizon": horizon, "start": "zero", "parameters": {}}
        )
        treaty = draft.model_copy(
            update={
                "training": training,
                "dictionary": DictionaryTerms(norm="l1"),
                "parties": tuple(p.model_copy(update={"answers": None}) for p in draft.parties),
                "fitted": None,
            }
        )
        if method == "shrinking-steps" and draft.loss.name == "hinge":
            continue
        told = forecast(treaty, FrameSource(judge.rows), precision=0.2)
        public = told.public_only
        off = (
            told.cost.value
            if public is None
            else told.cost.value * (1 - public.value / told.together.value)
        )
        loss = float(judge.held_out(treaty).mean()) + off * in_unit(treaty)
        made.append(
            Rival(name, loss if treaty.target.bounds is None else math.sqrt(max(loss, 0.0)))
        )
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
