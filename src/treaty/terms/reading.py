"""What a treaty means to the rest of the program: encoder, problem and plan."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.fitness import Problem
from treaty.learners import survey
from treaty.losses import Clipped, Weighted, loss_named
from treaty.models.model import Model
from treaty.models.provenance import Provenance
from treaty.plans import Party, Plan
from treaty.privacy import Budget, mechanism_named
from treaty.records import (
    Counts,
    Dictionary,
    Encoder,
    Hats,
    Source,
    SourceLike,
    dictionary_for,
)
from treaty.records.fitting import place_knots
from treaty.terms.asking import along_all, asked_along, with_axes
from treaty.terms.document import Treaty
from treaty.terms.faults import check_target
from treaty.terms.fingerprints import fingerprint


def fit(treaty: Treaty, public: SourceLike | None, whole: Dictionary | None = None) -> Treaty:
    """Return the treaty with its dictionary in place, fitted on public rows where it has to be.

    Args:
        treaty: the treaty.
        public: public rows.
        whole: the dictionary of all public rows, if these are a part of them.
    """
    source = None if public is None else treaty.open(public)
    treaty = with_class_weights(treaty, source)
    if treaty.fitted is not None:
        return treaty
    waiting = [c for c, f in treaty.features.items() if isinstance(f, Hats) and f.knots is None]
    if waiting and source is None:
        raise TreatyError(
            f'the knots of column "{waiting[0]}" are placed on public rows: give some with `public`, or '
            "let treaty fit put them into the treaty first"
        )
    treaty = with_knots(treaty, source)
    fitted = dictionary_for(treaty.dictionary, treaty.features, source, whole)
    treaty = treaty.model_copy(update={"fitted": fitted})
    if treaty.training.axes is None:
        return treaty
    if source is None:
        raise TreatyError(
            "training.axes: axes are found on public rows: give some with `public`, or let treaty fit "
            "put them into the treaty first"
        )
    plain = along_all(treaty)
    problem = problem_of(plain)
    return with_axes(
        treaty, survey(problem, encoder_of(plain).rows(problem.fitness_loss, source)[0])
    )


def check_settled(treaty: Treaty, path: str | Path) -> None:
    """Refuse a treaty that nobody can ratify yet, and say which command makes it ready.

    Args:
        treaty: the treaty.
        path: where it is written.
    """
    waiting = treaty.loss.class_weights == "balanced" or any(
        isinstance(feature, Hats) and feature.knots is None for feature in treaty.features.values()
    )
    unsettled = treaty.dictionary.needs_public_rows or treaty.training.axes is not None
    if waiting or (treaty.fitted is None and unsettled):
        raise TreatyError(
            f"{path}: public rows have to settle its dictionary before anybody can ratify it: "
            f"treaty fit {path} --public FILE"
        )
    plan_of(fit(treaty, None))


def settled(treaty: Treaty, public: Source | None) -> Treaty:
    """Return the treaty with everything in place that public rows decide, but for the dictionary."""
    return with_knots(with_class_weights(treaty, public), public)


def with_knots(treaty: Treaty, public: Source | None) -> Treaty:
    """Return the treaty with the knots of its hats placed, on public rows where there are any."""
    placed = place_knots(treaty.features, public)
    return treaty if placed == treaty.features else treaty.model_copy(update={"features": placed})


def with_class_weights(treaty: Treaty, public: Source | None) -> Treaty:
    """Return the treaty with "balanced" class weights as numbers: m/(2·rows with the label)."""
    if treaty.loss.class_weights != "balanced":
        return treaty
    if public is None:
        raise TreatyError(
            "loss.class_weights: balanced weights are counted on public rows: give some with `public`, "
            "or write numbers"
        )
    labels = treaty.target.labels or ("-1", "1")
    found = np.concatenate(
        [np.zeros(0)]
        + [
            treaty.target.encode(frame[treaty.target.column], Counts())
            for frame in public.blocks([treaty.target.column])
        ]
    )
    counted = {labels[0]: int(np.sum(found < 0)), labels[1]: int(np.sum(found > 0))}
    rare = [label for label, count in counted.items() if count == 0]
    if rare:
        raise TreatyError(
            f"{public.label}: no public row has the label {rare[0]}, so weights cannot be balanced: "
            "give more rows, or write numbers"
        )
    weights = {label: len(found) / (2 * count) for label, count in counted.items()}
    loss = treaty.loss.model_copy(update={"class_weights": weights})
    return treaty.model_copy(update={"loss": loss})


def class_weights(treaty: Treaty) -> tuple[float, float] | None:
    """Return how much a record with the negative and with the positive label counts, if not alike."""
    given = treaty.loss.class_weights
    if given is None:
        return None
    if given == "balanced":
        raise TreatyError(
            "loss.class_weights: balanced weights have not been counted yet: treaty fit does that, on "
            "public rows"
        )
    labels = treaty.target.labels or ("-1", "1")
    strange = sorted(set(given) - set(labels))
    if strange:
        raise TreatyError(
            f"loss.class_weights: there is no label {strange[0]}; there are {labels[0]} and {labels[1]}"
        )
    return given.get(labels[0], 1.0), given.get(labels[1], 1.0)


def encoder_of(treaty: Treaty) -> Encoder:
    """Return how records become (x, y) under this treaty."""
    if treaty.fitted is None:
        raise TreatyError("the treaty's dictionary has not been fitted yet: treaty fit does that")
    return Encoder(treaty.features, treaty.target, treaty.fitted, treaty.dialect)


def problem_of(treaty: Treaty) -> Problem:
    """Return what is learnt under this treaty."""
    encoder = encoder_of(treaty)
    terms = treaty.loss
    try:
        loss = loss_named(terms.name, terms.parameters)
    except TreatyError as error:
        raise TreatyError(f"loss.name: {error}") from error
    check_target(loss, treaty.target)
    weights = class_weights(treaty)
    if weights is not None:
        loss = Weighted(loss, *weights)
    if terms.clip is not None:
        loss = Clipped(loss, terms.clip, terms.clip_norm)
    problem = Problem(
        loss,
        encoder.domain,
        ridge=terms.ridge,
        theta_max=terms.theta_max,
        intercept=encoder.dictionary.intercept_index,
    )
    problem = asked_along(problem, treaty)
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
    kind.check_axes(plan.problem)
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


def model_of(
    treaty: Treaty,
    theta: FloatArray,
    spent: Mapping[str, float] | None = None,
    answers: Mapping[str, int] | None = None,
) -> Model:
    """Return θ as a model that can be saved and used.

    Args:
        treaty: the treaty, its dictionary in place.
        theta: θ.
        spent: the ε that each owner's answers came to; with nobody in it, no records were used.
        answers: how many answers each owner gave.
    """
    assert treaty.fitted is not None
    terms, provenance = treaty.training, None
    if spent is not None:
        deltas = {party.name: party.delta / terms.overlap for party in treaty.parties}
        provenance = Provenance.of(terms.mechanism, terms.overlap, spent, deltas, answers or {})
    return Model(
        treaty=fingerprint(treaty),
        dialect=treaty.dialect,
        features=treaty.features,
        target=treaty.target,
        dictionary=treaty.fitted.model_copy(update={"axes": None}),
        loss=treaty.loss.name,
        parameters=treaty.loss.parameters,
        class_weights=class_weights(treaty),
        theta=tuple(theta.tolist()),
        provenance=provenance,
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
                "for everybody: leave them out"
            )
