"""Bad settings or a bad collaboration: which line of a treaty to change, and what that would bring."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from treaty.errors import TreatyError
from treaty.learners.blended_step import BlendedStep
from treaty.records import Counts, Feature, Hats, Number
from treaty.records.values import as_numbers
from treaty.settings.expected import Expected
from treaty.settings.expecting import Judge
from treaty.settings.levers import by_frequency, under, with_best_clip
from treaty.settings.levers.lever import with_features
from treaty.settings.levers.method import NUMBERS, ROOM
from treaty.terms import Treaty

WORTH = 0.01
"""A change that lowers the error by less is not worth a word."""
EFFORT = 30.0
"""Units of work that all changes together may cost, counted as those of a plan are."""


@dataclass(frozen=True)
class Change:
    """One line of a treaty, written otherwise.

    Args:
        line: which line.
        words: what to write instead.
        error: the expected error then, in the target's unit, or log loss.
    """

    line: str
    words: str
    error: float


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What a treaty's settings are worth beside other settings of the same collaboration.

    Args:
        told: what is expected of the treaty as it is.
        changes: what single changes would bring, the best first.
        planned: what is expected with good settings throughout, as `treaty plan` begins.
    """

    told: Expected
    changes: tuple[Change, ...]
    planned: Expected

    @property
    def public_error(self) -> float:
        """What the public rows alone are expected to err by, with the settings that suit them."""
        return min(self.told.public_error, self.planned.public_error)

    @property
    def words(self) -> str:
        """Which it is, in a sentence."""
        better = self.planned.error < (1 - WORTH) * self.told.error
        lowest = min(self.planned, self.told, key=lambda each: each.error)
        pays = lowest.error < (1 - WORTH) * self.public_error
        if better and pays:
            return "It is the settings: `treaty plan` finds better ones for the same budgets."
        if better and not self.changes:
            return (
                "No single line decides, but other settings throughout are better: `treaty plan` finds "
                "them. Even so training would not beat the public rows by 1%: at these budgets the "
                "collaboration does not pay."
            )
        if better:
            return (
                "The settings are bad, but with good ones training would not beat the public rows by "
                "1% either: at these budgets the collaboration does not pay."
            )
        if pays:
            return "The settings are good: no change that was tried lowers the error by 1%."
        return (
            "It is not the settings: none that were tried make training beat the public rows by 1%. At "
            "these budgets the collaboration does not pay."
        )


def diagnosis(treaty: Treaty, judge: Judge) -> Diagnosis:
    """Try to change single lines of a treaty, and all of them, on public rows.

    Args:
        treaty: the treaty.
        judge: of these rows.
    """
    left = EFFORT
    told = judge.expected(treaty)
    best = with_best_clip(by_frequency(_blended(_widened(treaty, judge))), judge)
    found: list[Change] = []
    for line, words, changed in _changes(treaty, judge):
        work = judge.work(changed)
        if work > left:
            continue
        left -= work
        try:
            error = judge.expected(changed).error
        except TreatyError:  # a change that these rows, or this method, do not go with
            continue
        if error < (1 - WORTH) * told.error:
            found.append(Change(line, words, error))
    changes = tuple(sorted(found, key=lambda change: change.error))
    return Diagnosis(told, changes, judge.expected(best[0]))


def _changes(treaty: Treaty, judge: Judge) -> Iterator[tuple[str, str, Treaty]]:
    """Return single changes: the line, what to write, and the treaty with it."""
    if treaty.training.method != BlendedStep.name:
        changed = with_best_clip(_blended(treaty), judge)[0]
        yield (
            "[training]",
            f'method = "blended-step", start = "tuned", horizon = {NUMBERS[0]}',
            changed,
        )
    if treaty.loss.clip is not None:
        changed = with_best_clip(treaty, judge)[0]
        yield "[loss]", f"clip = {changed.loss.clip:g}", changed
    if treaty.loss.theta_max < ROOM:
        loss = treaty.loss.model_copy(update={"theta_max": ROOM})
        yield "[loss]", f"theta_max = {ROOM:g}", treaty.model_copy(update={"loss": loss})
    changed = by_frequency(treaty)
    if changed.dictionary != treaty.dictionary:
        if treaty.loss.clip is not None:
            changed = with_best_clip(changed, judge)[0]
        yield "[dictionary]", 'standardise = "frequency", norm = "l1", nothing else', changed
    changed = _widened(treaty, judge)
    for name, feature in changed.features.items():
        if feature != treaty.features[name]:
            yield f"[features.{name}]", _bounds(feature), with_features(treaty, {name: feature})
    if changed.target != treaty.target:
        words = _bounds(changed.target)
        yield "[target]", words, treaty.model_copy(update={"target": changed.target})


def _blended(treaty: Treaty) -> Treaty:
    return under(treaty, BlendedStep.name, NUMBERS[0])


def _bounds(part: object) -> str:
    low, high = getattr(part, "bounds", (0.0, 0.0))
    return f"bounds = [{low:g}, {high:g}]"


def _widened(treaty: Treaty, judge: Judge) -> Treaty:
    """Return a treaty whose bounds hold all public rows, where they do not yet."""
    features: dict[str, Feature] = {}
    for name, feature in treaty.features.items():
        if isinstance(feature, Number | Hats):
            features[name] = feature.model_copy(
                update={"bounds": _around(feature.bounds, name, judge)}
            )
    target = treaty.target
    if target.bounds is not None:
        bounds = _around(target.bounds, target.column, judge)
        target = target.model_copy(update={"bounds": bounds})
    return with_features(treaty, features).model_copy(update={"target": target})


def _around(bounds: tuple[float, float], column: str, judge: Judge) -> tuple[float, float]:
    numbers = as_numbers(column, judge.rows[column], Counts(), "missing")
    known = numbers[np.isfinite(numbers)]
    if not len(known):
        return bounds
    return min(bounds[0], float(known.min())), max(bounds[1], float(known.max()))
