"""A treaty and its records put together: what training and simulation both start from."""

from collections.abc import Mapping
from dataclasses import dataclass

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.fitness import Risk, Yardstick
from treaty.learners import Survey, survey
from treaty.models import Model
from treaty.plans import Plan
from treaty.records import Counts, Source, SourceLike
from treaty.terms import Treaty, encoder_of, fit, model_of, plan_of, problem_of
from treaty.views import some


@dataclass(frozen=True, eq=False)
class Assembly:
    """Everything that a run needs, with every owner's records in this process.

    Args:
        treaty: with its dictionary fitted.
        plan: who is asked what, with how much noise.
        risks: the records of every party.
        counts: what happened to them on their way into the public domain.
        public: what the public rows tell, if there are any.
        sources: where every party's records are.
        public_source: where the public rows are, if there are any.
    """

    treaty: Treaty
    plan: Plan
    risks: Mapping[str, Risk]
    counts: Mapping[str, Counts]
    public: Survey | None
    sources: Mapping[str, Source]
    public_source: Source | None

    def __repr__(self) -> str:
        names = some(list(self.risks))
        return f"Assembly({self.treaty.title!r}, records of {names})"

    def psi_public_only(self, stick: Yardstick) -> float | None:
        """Return ψ of the model of the public rows, tuned or not, whichever is better."""
        if self.public is None:
            return None
        models = (self.public.model("public"), self.public.model("tuned"))
        return min(float(stick.relative(model.theta)) for model in models)

    def model(
        self,
        theta: FloatArray,
        spent: Mapping[str, float] | None = None,
        answers: Mapping[str, int] | None = None,
    ) -> Model:
        """Return θ as a model, with the ε that its owners' answers came to, if that is known."""
        return model_of(self.treaty, theta, spent, answers)


def assemble(
    treaty: Treaty,
    records: Mapping[str, SourceLike],
    public: SourceLike | None = None,
) -> Assembly:
    """Read every owner's records under a treaty, and check that they are what it says.

    Args:
        treaty: the treaty; its dictionary is fitted on the public rows if need be.
        records: a source for every party, by name.
        public: public rows.
    """
    strangers = sorted(set(records) - {party.name for party in treaty.parties})
    if strangers:
        raise TreatyError(
            f"{strangers[0]} is not a party to this treaty: give records of those that are"
        )
    public = None if public is None else treaty.open(public)
    treaty = fit(treaty, public)
    encoder, plan = encoder_of(treaty), plan_of(treaty)
    opened = {name: treaty.open(each) for name, each in records.items()}
    risks: dict[str, Risk] = {}
    counts: dict[str, Counts] = {}
    for party in plan.parties:
        if party.name not in opened:
            raise TreatyError(f"there are no records for {party.name}")
        source = opened[party.name]
        risk, counts[party.name] = encoder.risk(plan.problem.loss, source)
        if risk.n != party.records:
            raise TreatyError(
                f"{source.label}: there are {risk.n:,} records, and the treaty says "
                f"that {party.name} holds {party.records:,}: correct whichever is wrong"
            )
        risks[party.name] = risk
    surveyed = None if public is None else survey_of(treaty, public)
    if surveyed is not None:
        plan = plan.informed_by(surveyed)
    elif plan.begin != "zero":
        raise TreatyError(
            "training.start: to start from the public model, give public rows with `public`"
        )
    return Assembly(treaty, plan, risks, counts, surveyed, opened, public)


def survey_of(treaty: Treaty, public: SourceLike) -> Survey:
    """Return what public rows tell a learner under a treaty whose dictionary is in place."""
    problem = problem_of(treaty)
    return survey(problem, encoder_of(treaty).rows(problem.fitness_loss, treaty.open(public))[0])


def sources(
    treaty: Treaty,
    *,
    data: SourceLike | None = None,
    by: str | None = None,
    owners: Mapping[str, SourceLike] | None = None,
) -> dict[str, Source]:
    """Return a source for every party: one file or frame with a column of owners, or one each.

    Args:
        treaty: the treaty.
        data: all owners' records: a file, a database, a pandas or Polars frame.
        by: the column of them that names the owner.
        owners: or the records of each owner, by name.
    """
    if (data is None) == (not owners):
        raise TreatyError(
            "say where the records are: those of all owners with `data` and `by`, or each owner's "
            "with `owners`"
        )
    if owners:
        return {name: treaty.open(one) for name, one in owners.items()}
    assert data is not None
    if by is None:
        raise TreatyError("say which column of the records names the owner, with `by`")
    return {party.name: treaty.open(data, by=by, owner=party.name) for party in treaty.parties}
