"""What a treaty means to the rest of the program: encoder, problem and plan."""

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.fitness import Problem
from treaty.losses import Clipped, loss_named
from treaty.models.model import Model
from treaty.plans import Party, Plan
from treaty.privacy import Budget, mechanism_named
from treaty.records import Encoder, SourceLike, dictionary_for, open_source
from treaty.terms.document import Treaty
from treaty.terms.fingerprints import fingerprint


def fit(treaty: Treaty, public: SourceLike | None) -> Treaty:
    """Return the treaty with its dictionary in place, fitted on public rows where it has to be."""
    if treaty.fitted is not None:
        return treaty
    source = None if public is None else open_source(public)
    fitted = dictionary_for(treaty.dictionary, treaty.features, source)
    return treaty.model_copy(update={"fitted": fitted})


def encoder_of(treaty: Treaty) -> Encoder:
    """Return how records become (x, y) under this treaty."""
    if treaty.fitted is None:
        raise TreatyError("the treaty's dictionary has not been fitted yet: treaty fit does that")
    return Encoder(treaty.features, treaty.target, treaty.fitted)


def problem_of(treaty: Treaty) -> Problem:
    """Return what is learnt under this treaty."""
    encoder = encoder_of(treaty)
    terms = treaty.loss
    loss = loss_named(terms.name, terms.parameters)
    if loss.labels and treaty.target.bounds is not None:
        raise TreatyError(
            f"target.bounds: the {terms.name} loss learns labels: "
            "give target.labels instead of bounds"
        )
    if not loss.labels and treaty.target.bounds is None:
        raise TreatyError(f"target.bounds: the {terms.name} loss learns numbers: give their bounds")
    if terms.clip is not None:
        loss = Clipped(loss, terms.clip, terms.clip_norm)
    problem = Problem(
        loss,
        encoder.domain,
        ridge=terms.ridge,
        theta_max=terms.theta_max,
        intercept=encoder.dictionary.intercept_index,
    )
    return problem.under_norm(mechanism_named(treaty.training.mechanism).norm)


def plan_of(treaty: Treaty) -> Plan:
    """Return who is asked what, with how much noise, under this treaty."""
    terms = treaty.training
    plan = Plan(
        problem=problem_of(treaty),
        parties=tuple(
            Party(
                name=party.name,
                records=party.records,
                budget=Budget(party.epsilon, party.delta),
                answers=party.answers,
                rate=party.rate,
                away=party.away,
            )
            for party in treaty.parties
        ),
        method=terms.method,
        horizon=terms.horizon,
        parameters=terms.parameters,
        mechanism=mechanism_named(terms.mechanism),
        weights=terms.weights,
        overlap=terms.overlap,
        blocs=terms.blocs,
        frequency_scaling=terms.frequency_scaling,
        begin=terms.start,
    )
    kind = plan.learner_class
    kind.check(plan.problem, plan.horizon)
    if kind.synchronous:
        _only_asynchronous(treaty)
        short = [p.name for p in plan.parties if plan.answers(p) < kind.questions(plan.horizon)]
        if short:
            raise TreatyError(
                f"parties.answers: {short[0]} answers {terms.method} in every round, "
                f"{kind.questions(plan.horizon)} times, and offers fewer answers: raise its answers, or "
                "lower the horizon"
            )
    return plan


def model_of(treaty: Treaty, theta: FloatArray) -> Model:
    """Return θ as a model that can leave."""
    assert treaty.fitted is not None
    return Model(
        treaty=fingerprint(treaty),
        features=treaty.features,
        target=treaty.target,
        dictionary=treaty.fitted,
        loss=treaty.loss.name,
        parameters=treaty.loss.parameters,
        theta=tuple(theta.tolist()),
    )


def _only_asynchronous(treaty: Treaty) -> None:
    """Refuse what a synchronous method would silently ignore."""
    terms = treaty.training
    if terms.blocs:
        raise TreatyError(f"training.blocs: {terms.method} asks everybody together, blocs or not")
    if terms.frequency_scaling != "off":
        raise TreatyError(
            f"training.frequency_scaling: {terms.method} asks everybody equally often"
        )
    for party in treaty.parties:
        if party.away or party.rate != 1.0:
            raise TreatyError(
                f"parties.{party.name}: rate and away are for one-at-a-time; {terms.method} waits "
                "for everybody"
            )
