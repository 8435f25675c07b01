"""One owner's own question, answered: its errors on its own records, and what joining does to them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.fitness import RowRisk
from treaty.gains.competing import ADAPTED, ALONE, CEILING, PUBLIC, RIVALS, TOGETHER, adapted
from treaty.gains.judging import RIVAL
from treaty.measures import MEASURES, Comparison, Errors, Estimate, measures_for
from treaty.records import Target

Decision = Literal["join", "small", "small loss", "stay away", "too close", "no difference"]
NOTHING = 0.0005
"""A gain that is surely smaller than this, up or down, makes no difference."""
WORTHWHILE = 0.01
UNLIKE = 2.0
"""If the public model's error is so many times that of an owner's own, its records are other ones."""


@dataclass(frozen=True)
class OwnGain:
    """What joining does to one owner's predictions of its own records, out of sample.

    Args:
        name: the owner.
        records: how many records it has.
        target: the column that is predicted, with its unit and label.
        models: the errors of every model by its name: alone, public, "public, adapted", together,
            "together, adapted", and where all records are at hand, the ceiling.
        rival: the best without joining, as the owner's own cross-validation picks it.
        gain: by which share the shared model, adapted, lowers the error of that rival; its interval is
            for as many further records.
        long_run: the same over ever more records; decisions go by it.
        measure: the name of the measure that this is about.
        worthwhile: the least share that matters to the owner.
        clamped: the share of its targets that lie outside the treaty's bounds, and count as the bound.
        unclamped: the error of the shared model, adapted, if these counted as they are.
        known: whether the shared model is known; else this is a forecast.
        leans_to_join: whether joining is likelier to be right, even where it is too close to tell.
        rows_known: how many public rows of the owner it was made of, where its records are not at hand.
        rise: in a forecast, by which share the error of the adapted model rises for each unit by which
            the mean loss of the shared one does: what others add to this owner is told by it.
    """

    name: str
    records: int
    target: Target
    models: Mapping[str, Errors]
    rival: str
    gain: Estimate
    long_run: Estimate
    measure: str
    worthwhile: float = WORTHWHILE
    clamped: float = 0.0
    unclamped: float | None = None
    known: bool = False
    leans_to_join: bool = False
    rows_known: int | None = None
    rise: float = 0.0

    @property
    def alone(self) -> Errors:
        """The owner's own model, tuned."""
        return self.models[ALONE]

    @property
    def public(self) -> Errors | None:
        """The public model as it is."""
        return self.models.get(PUBLIC)

    @property
    def public_adapted(self) -> Errors | None:
        """The public model, adapted."""
        return self.models.get(adapted(PUBLIC))

    @property
    def together(self) -> Errors:
        """The shared model as it is."""
        return self.models[TOGETHER]

    @property
    def adapted(self) -> Errors:
        """The shared model, adapted."""
        return self.models[ADAPTED]

    @property
    def ceiling(self) -> Errors | None:
        """All records in one place without privacy, adapted."""
        return self.models.get(adapted(CEILING))

    @property
    def unlike_public(self) -> bool:
        """Whether the public model errs so much more than the owner's own that it is of other records.

        What is forecast of one model for everybody takes records to be like the public rows.
        """
        if self.target.bounds is None or self.rows_known is not None or self.public is None:
            return False
        ours, theirs = (errors.measures.get(self.measure) for errors in (self.alone, self.public))
        return ours is not None and theirs is not None and theirs.value > UNLIKE * ours.value

    @property
    def decision(self) -> Decision:
        """What the interval says: join or stay away, a small gain or loss, too close, no difference."""
        gain = self.long_run
        if max(abs(gain.low), abs(gain.high)) < NOTHING:
            return "no difference"
        if gain.low > 0:
            return "join" if gain.value >= self.worthwhile else "small"
        if gain.high < 0:
            return "stay away" if gain.value <= -self.worthwhile else "small loss"
        return "too close"

    def plain(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "name": self.name,
            "records": self.records,
            "unit": self.target.unit,
            "label": self.target.label,
            "models": {name: errors.plain() for name, errors in self.models.items()},
            "rival": self.rival,
            "unlike_public": self.unlike_public,
            "gain": self.gain.plain(),
            "gain_in_the_long_run": self.long_run.plain(),
            "measure": self.measure,
            "worthwhile": self.worthwhile,
            "share_of_targets_clamped": self.clamped,
            "error_unclamped": self.unclamped,
            "shared_model_known": self.known,
            "decision": self.decision,
            "leans_to_join": self.leans_to_join,
            "rows_known": self.rows_known,
            "verdict": sentence(self),
        }


@dataclass(frozen=True)
class Audience:
    """Who asks, about which target, and what matters to it.

    Args:
        name: the owner.
        target: the column that is predicted.
        next_records: intervals are for errors on so many further records.
        probabilities: whether scores are logarithms of odds.
        shift: by how much class weights have raised them.
        worthwhile: the least share that matters to the owner.
        tails: the variance of squared errors over their squared mean on public rows; see `tails_of`.
    """

    name: str
    target: Target
    next_records: int
    probabilities: bool = False
    shift: float = 0.0
    worthwhile: float = WORTHWHILE
    tails: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.worthwhile < 1:
            share = 100 * self.worthwhile
            raise TreatyError(f"`worthwhile` must lie between 0% and 100%, not {share:g}%")


def tails_of(rows: RowRisk, theta: FloatArray) -> float:
    """Return how long the tails of a model's errors on public rows are: var(e²)/mean(e²)²."""
    squares = np.square(rows.x @ theta - rows.y)
    mean = float(squares.mean())
    return float(squares.var()) / mean**2 if mean > 0 else 0.0


def gain_from(
    audience: Audience,
    truth: FloatArray,
    scores: Mapping[str, FloatArray],
    picked: Mapping[str, int],
) -> OwnGain:
    """Measure held-out scores of an owner's records, and compare.

    Args:
        audience: who asks, about which target, and what matters to it.
        truth: what was true of every record, as the user writes it.
        scores: every model's scores θᵀx of every record, by its name, shape (draws, records).
        picked: how often each rival was picked.
    """
    target = audience.target
    labels = target.bounds is None
    there = np.isfinite(truth)
    centre, scale = target.scaling
    predictions = {
        key: (each[:, there] - audience.shift) if labels else centre + scale * each[:, there]
        for key, each in scores.items()
    }
    measures = measures_for(labels=labels, probabilities=audience.probabilities)
    known, clamped, unclamped = truth[there], 0.0, None
    if target.bounds is not None:
        inside = np.clip(known, *target.bounds)
        clamped = float(np.mean(np.not_equal(inside, known)))
        if clamped > 0:
            unclamped = measures[0].of(known, predictions[ADAPTED].mean(axis=0))
        known = inside
    compared = Comparison(known, predictions, audience.next_records, audience.tails)
    gain = compared.gain(ADAPTED, RIVAL, measures[0])
    return OwnGain(
        name=audience.name,
        records=len(truth),
        target=target,
        models={key: compared.errors(key, measures) for key in scores if key != RIVAL},
        rival=max(picked, key=lambda key: (picked[key], -RIVALS.index(key))),
        gain=gain,
        long_run=compared.gain(ADAPTED, RIVAL, measures[0], in_the_long_run=True),
        measure=measures[0].name,
        worthwhile=audience.worthwhile,
        clamped=clamped,
        unclamped=unclamped,
        known=True,
        leans_to_join=gain.value > 0,
    )


ALTERNATIVES = {
    ALONE: "your own model",
    PUBLIC: "the public model as it is",
    adapted(PUBLIC): "the public model adapted to your records",
}


def sentence(gain: OwnGain) -> str:
    """Say in one sentence what a person who decides needs to know."""
    told = gain.long_run
    share, low, high = (100 * end for end in (told.value, told.low, told.high))
    alternative = ALTERNATIVES[gain.rival]
    if gain.decision == "no difference":
        return f"It makes no difference: {alternative} does as well as joining."
    if gain.decision == "too close":
        most = max(abs(low), abs(high))
        return f"Too close to tell, and at most {most:.1f}% either way: {alternative} does as well."
    before = gain.models[gain.rival].measures[gain.measure].value
    measure = MEASURES[gain.measure]
    after = measure.loss(before) * (1 - gain.gain.value)
    after = 1 - after if measure.rises else after
    what = _what(gain)
    change = f"from {shown(before)} to {shown(after)}{_unit(gain)}"
    sure = f"between {low:.1f}% and {high:.1f}%"
    if gain.decision == "stay away":
        verb = "has raised" if gain.known else "would raise"
        return (
            f"Stay away: joining {verb} {what} {change} ({-share:.1f}% worse); "
            f"{alternative} is better."
        )
    if gain.decision == "small loss":
        verb = "has raised" if gain.known else "would raise"
        return (
            f"A small loss: joining {verb} {what} {change} ({-share:.1f}% worse, less than the "
            f"{100 * gain.worthwhile:g}% that matter); {alternative} does as well."
        )
    verb = "has lowered" if gain.known else "would lower"
    start = "Joining" if gain.decision == "join" else "A small gain: joining"
    return (
        f"{start} {verb} {what} {change} ({share:.1f}%, {sure}); your best alternative without "
        f"joining is {alternative}."
    )


def _what(gain: OwnGain) -> str:
    named = gain.target.label or gain.target.column
    if gain.measure == "rmse":
        return f"your error on your own records' {named}"
    return f"the {MEASURES[gain.measure].words.split(',')[0]} of {named} on your own records"


def _unit(gain: OwnGain) -> str:
    if not MEASURES[gain.measure].in_unit:
        return ""
    return f" {gain.target.unit}" if gain.target.unit else ""


def shown(value: float) -> str:
    """Return a number with as many digits as tell it apart: three, or four where the first is small."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    digits = max(0, 3 - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(digits, 6)}f}"
