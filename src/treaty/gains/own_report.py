"""A shared model that is there, adapted to an owner's own records, and what that brought."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Group

from treaty.adaptation import adapt
from treaty.arrays import FloatArray
from treaty.fitness.threads import on_one_thread
from treaty.gains.competing import ADAPTED, CEILING, PUBLIC, TOGETHER, adapted
from treaty.gains.judging import held_out_scores
from treaty.gains.own_gain import WORTHWHILE, Audience, OwnGain, gain_from, sentence, tails_of
from treaty.gains.table import render
from treaty.learners import survey
from treaty.models import Model
from treaty.models.own_rows import OwnRows
from treaty.records import SourceLike, open_source
from treaty.terms import Treaty, encoder_of, fit, model_of, problem_of
from treaty.terms.asking import along_all
from treaty.views import Shown


@dataclass(frozen=True, repr=False)
class OwnReport(Shown):
    """An adapted model, and every model's errors on the owner's own records, out of sample.

    Args:
        model: the adapted model.
        gain: the errors, and by how much joining has lowered them.
    """

    model: Model
    gain: OwnGain

    def rendered(self) -> Group:
        """Return it as something Rich prints."""
        return render(self.gain)

    def __repr__(self) -> str:
        return f"OwnReport({sentence(self.gain)})"

    def plain(self) -> dict[str, Any]:
        """Return it as plain data."""
        note = self.model.adapted
        return {"adapted": None if note is None else note.model_dump(), **self.gain.plain()}


def adapt_model(
    model: Model,
    records: SourceLike,
    public: SourceLike | None = None,
    *,
    name: str = "us",
    worthwhile: float = WORTHWHILE,
    ceiling: FloatArray | None = None,
    public_theta: FloatArray | None = None,
    extra: Sequence[str] = (),
) -> OwnReport:
    """Adapt a shared model to an owner's own records, and compare all that the owner could use.

    Everything happens inside the owner's walls, and costs no budget. What comes out is computed from the
    records without noise: if it leaves, that is a release. Where the own records were in the training,
    the shared model has seen them, through noise.

    Args:
        model: the shared model.
        records: the owner's own.
        public: public rows, for the public model and its adaptation.
        name: the owner's name.
        worthwhile: the least share by which an error must fall to matter.
        ceiling: where all records are at hand: the best model of them in one place, without privacy.
        public_theta: the model of the public rows, if it is at hand.
        extra: columns of the owner's own that models of its own may use on top of the treaty's, the
            rivals as well.

    Example:
        report = treaty.adapt_model(treaty.Model.load("model.json"), "ours.parquet", "public.parquet")
        print(report.gain.adapted.rmse)
        report.model.save("ours.json")
    """
    reader = model.reader
    own = reader.own(records, extra)
    metrics = reader.metrics(np.array(model.theta), own, public)
    shared = np.array([model.theta])
    anchors: dict[str, FloatArray] = {TOGETHER: shared}
    theta, tails = public_theta, 0.0
    if public is not None:
        theta = reader.public_model(public) if theta is None else theta
        anchors[PUBLIC] = theta[None]
        rows, _ = reader.encoder.rows(
            reader.problem.fitness_loss, open_source(public, dialect=model.dialect)
        )
        tails = tails_of(rows, theta)
    if ceiling is not None:
        anchors[CEILING] = ceiling[None]
    audience = _audience(name, model, own, worthwhile, tails)
    with on_one_thread():
        scores, picked = held_out_scores(own.records, anchors, metrics)
        gain = gain_from(audience, own.truth, scores, picked)
        chosen = adapt(own.records, shared, metrics, public=theta)[0]
    return OwnReport(model.adapted_as(chosen, own), gain)


def adapt_public(
    treaty: Treaty,
    records: SourceLike,
    public: SourceLike,
    *,
    name: str = "us",
    worthwhile: float = WORTHWHILE,
    extra: Sequence[str] = (),
) -> OwnReport:
    """Adapt the model of public rows to an owner's own records: what can be had without joining.

    Args:
        treaty: how rows are read; its method means nothing here.
        records: the owner's own.
        public: public rows.
        name: the owner's name.
        worthwhile: the least share by which an error must fall to matter.
        extra: columns of the owner's own that models may use on top.
    """
    treaty = along_all(treaty)
    treaty = treaty if treaty.fitted is not None else fit(treaty, public)
    problem = problem_of(treaty)
    rows, _ = encoder_of(treaty).rows(problem.fitness_loss, treaty.open(public))
    theta = survey(problem, rows).tuned.theta
    model = model_of(treaty, theta, {})
    reader = model.reader
    own = reader.own(records, extra)
    metrics = reader.metrics(theta, own, public)
    audience = _audience(name, model, own, worthwhile, tails_of(rows, theta))
    with on_one_thread():
        scores, picked = held_out_scores(own.records, {PUBLIC: theta[None]}, metrics)
        gain = gain_from(audience, own.truth, {**scores, ADAPTED: scores[adapted(PUBLIC)]}, picked)
        chosen = adapt(own.records, theta[None], metrics)[0]
    return OwnReport(model.adapted_as(chosen, own), gain)


def _audience(name: str, model: Model, own: OwnRows, worthwhile: float, tails: float) -> Audience:
    """Return who asks about a model of its own records."""
    return Audience(
        name,
        model.target,
        next_records=len(own.truth),
        probabilities=model.loss == "logistic",
        shift=model.shift,
        worthwhile=worthwhile,
        tails=tails,
    )
