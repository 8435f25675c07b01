"""A treaty and its records put together: what training and simulation both start from."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.fitness import Risk, model_alone
from treaty.fitness.model import Model
from treaty.learners import Plan
from treaty.records import Counts, Source
from treaty.terms import Treaty, encoder_of, fit, model_of, plan_of


@dataclass(frozen=True, eq=False)
class Assembly:
    """Everything that a run needs, with every owner's records in this process.

    Args:
        treaty: with its dictionary fitted.
        plan: who is asked what, with how much noise.
        risks: the records of every party.
        counts: what happened to them on their way into the public domain.
        public: the public rows, if there are any.
        start: where the learner begins.
    """

    treaty: Treaty
    plan: Plan
    risks: Mapping[str, Risk]
    counts: Mapping[str, Counts]
    public: Risk | None
    start: FloatArray | None

    def model(self, theta: FloatArray) -> Model:
        """Return θ as a model that can leave."""
        return model_of(self.treaty, theta)


def assemble(
    treaty: Treaty, records: Mapping[str, Source], public: Source | None = None
) -> Assembly:
    """Read every owner's records under a treaty, and check that they are what it says.

    Args:
        treaty: the treaty; its dictionary is fitted on the public rows if need be.
        records: a source for every party, by name.
        public: public rows.
    """
    strangers = sorted(set(records) - {party.name for party in treaty.parties})
    if strangers:
        raise TreatyError(f"{strangers[0]} is not a party to this treaty")
    treaty = fit(treaty, public)
    encoder, plan = encoder_of(treaty), plan_of(treaty)
    risks: dict[str, Risk] = {}
    counts: dict[str, Counts] = {}
    for party in plan.parties:
        if party.name not in records:
            raise TreatyError(f"there are no records for {party.name}")
        risk, counts[party.name] = encoder.risk(plan.problem.loss, records[party.name])
        if risk.n != party.records:
            raise TreatyError(
                f"{records[party.name].label}: there are {risk.n:,} records, and the treaty says "
                f"that {party.name} holds {party.records:,}"
            )
        risks[party.name] = risk
    public_risk = None
    if public is not None:
        public_risk, _ = encoder.risk(plan.problem.fitness_loss, public)
    start = None
    if treaty.training.start == "public":
        if public_risk is None:
            raise TreatyError(
                "training.start: to start from the public model, give a file of public rows "
                "with --public"
            )
        start = model_alone(plan.problem, public_risk)
    return Assembly(treaty, plan, risks, counts, public_risk, start)


def sources(
    treaty: Treaty,
    *,
    data: str | Path | None = None,
    by: str | None = None,
    owners: Mapping[str, str | Path] | None = None,
) -> dict[str, Source]:
    """Return a source for every party: one file with a column of owners, or a file each."""
    if (data is None) == (not owners):
        raise TreatyError(
            "say where the records are: one file of all owners with --data and --by, "
            "or a file each with --owner NAME=FILE"
        )
    if owners:
        return {name: Source(path) for name, path in owners.items()}
    assert data is not None
    if by is None:
        raise TreatyError("say which column of the file names the owner, with --by")
    return {party.name: Source(data, by=by, owner=party.name) for party in treaty.parties}
