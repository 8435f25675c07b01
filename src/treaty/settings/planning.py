"""Planning: lever by lever, the settings with the lowest expected error, on public rows alone."""

import math
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from treaty.errors import TreatyError
from treaty.gains import WORTHWHILE
from treaty.learners.blended_step import BlendedStep
from treaty.records import SourceLike
from treaty.settings.expected import Expected, optimism_of
from treaty.settings.expecting import Judge, OutOfTime
from treaty.settings.levers import (
    Axes,
    Basis,
    Bounds,
    Categories,
    Dates,
    Knots,
    Lever,
    Method,
    NoiseKind,
    Option,
    Rounds,
    Start,
    Weighing,
    by_frequency,
    under,
    with_best_clip,
)
from treaty.terms import Treaty
from treaty.views import some

NOTHING = 0.001
"""A share of the loss that is not worth a longer treaty."""
CLEARLY = 3.0
"""A way that is worse by so many standard errors on the first rows is not judged on the others."""
OF_LABELS = 2.0
"""Where labels are predicted, so many standard errors are chance: where one label is rare, most of a
log loss is that of a few records, and the lowest of many expected losses suits these few."""
UNSURE = 2.0
"""With an interval whose end is so many times its beginning, next to nothing is known of an error."""
EFFORT = 45.0
"""Units of work that a plan may be by default: for ten owners and thirty columns it ends within a minute
on two idle cores."""
PASSES = 2
"""How often every lever is tried: what is best for one depends on the others."""


@dataclass(frozen=True, eq=False)
class Step:
    """What one lever brought.

    Args:
        lever: its name.
        line: where in the treaty it is written.
        words: what was chosen.
        before: the expected error before.
        after: the expected error after.
        ways: what else was tried: in words, and the expected error, or why it cannot be.
    """

    lever: str
    line: str
    words: str
    before: float
    after: float
    ways: Mapping[str, float | str]


@dataclass(frozen=True, eq=False)
class Candidate:
    """The best treaty so far.

    Args:
        treaty: the treaty.
        expected: what its model is expected to cost.
        clip_leaves: which share of public gradients its clip leaves as they are.
        steps: what each lever brought on the way to it.
        done: which share of the search is done; 1 at the end, less if time ran out.
        untried: ways that were left out because they are more work than a plan may be.
        stopped: levers that were not come to when the time was over.
        optimism: by how much its expected loss is too low for having been chosen on these rows.
    """

    treaty: Treaty
    expected: Expected
    clip_leaves: float
    steps: tuple[Step, ...] = ()
    done: float = 0.0
    untried: tuple[str, ...] = ()
    stopped: tuple[str, ...] = ()
    optimism: float = 0.0

    @property
    def pays(self) -> bool:
        """Whether training together is expected to beat the public model by anything to speak of."""
        return self.expected.gain > NOTHING * self.expected.loss

    @property
    def cut_short(self) -> str:
        """What was not tried, in a sentence; empty if all was."""
        if self.done < 1:
            left = f" Not tried: {', '.join(self.stopped)}." if self.stopped else ""
            return (
                f"The search was stopped when {self.done:.0%} of it was done, for its time was over: "
                f"with more it may find better settings.{left}"
            )
        if self.untried:
            return (
                f"Not tried, for being more work than a plan may be: {some(self.untried, 4)}. More "
                "`effort` tries them."
            )
        return ""

    def verdict(self, told: Expected) -> str:
        """Say whether to spend ε on it, in a sentence.

        Args:
            told: what is expected of it on rows by which nothing was chosen.
        """
        if not self.pays:
            return (
                "Training together is not expected to beat the public rows: do not spend ε on it."
            )
        lower = 1 - told.error / told.public_error
        what = "log loss" if told.labels else "error"
        less = "" if self.worthwhile(told) else ": hardly worth any ε"
        said = f"Training together is expected to lower the {what} by {100 * lower:.2g}%{less}."
        low, high = told.interval
        if high > UNSURE * low:
            said += " The public rows are too few to tell that well."
        alone = told.alone(self.typical_records)
        if alone is None or alone > told.error:
            return said
        return (
            f"{said} But a typical owner's own model, of {self.typical_records:,} records, may be "
            "better still: ask treaty forecast."
        )

    def worthwhile(self, told: Expected) -> bool:
        """Whether the error is expected to fall by enough to matter."""
        return told.error <= (1 - WORTHWHILE) * told.public_error

    @property
    def typical_records(self) -> int:
        """How many records half of the owners have, or more."""
        return int(np.median([party.records for party in self.treaty.parties]))


@dataclass(frozen=True)
class Limits:
    """What a plan has to keep to.

    Args:
        delta: δ that every party allows; 0 for pure ε.
        method: the only method it may use; None for whichever is best.
        most_rounds: no more rounds than that.
        keep: names of levers that are left as the draft has them: bounds, dates, knots, categories,
            basis, rounds, axes, weights; and "ridge": the draft's own is then part of what is to be
            low, and "start", where training begins, may be kept as well.
        effort: units of work that all ways together may cost, each about a second on an idle core: it
            is counted, so that a plan is the same on every machine, busy or not.
        seconds: after so long the search stops where it is; without end if not given.
    """

    delta: float = 0.0
    method: str | None = None
    most_rounds: int = 1_000
    keep: frozenset[str] = frozenset()
    effort: float = EFFORT
    seconds: float = math.inf

    KEEPABLE: ClassVar = (
        *("bounds", "dates", "knots", "categories", "basis", "rounds", "axes", "weights"),
        *("ridge", "start"),
    )

    def __post_init__(self) -> None:
        if not 0 <= self.delta < 1:
            raise TreatyError(f"`delta` must lie between 0 and 1, not {self.delta:g}")
        if not self.effort >= 0:
            raise TreatyError(f"`effort` must be at least 0, not {self.effort:g}")
        if self.most_rounds < 1:
            raise TreatyError(f"at least one round is needed, not {self.most_rounds:,}")
        unknown = sorted(self.keep - set(self.KEEPABLE))
        if unknown:
            raise TreatyError(
                f"a plan cannot keep {', '.join(unknown)}: it can keep {', '.join(self.KEEPABLE)}"
            )

    def levers(self, draft: Treaty) -> list[Lever]:
        """Return the levers that may be moved, in the order in which they are tried."""
        found: list[Lever] = [Start()] if "ridge" in self.keep else []
        found += [Bounds(draft), Dates(draft), Categories(draft), Basis()]
        found += [NoiseKind(self.delta), Weighing(), Rounds(self.most_rounds), Axes(), Knots()]
        as_it_is = "rounds" in self.keep or (
            "axes" in self.keep and draft.training.axes is not None
        )
        if self.method is None and not as_it_is:
            moments = not self.keep & {"basis", "ridge"}
            found.append(Method(moments=moments, most=self.most_rounds))
        return [lever for lever in found if lever.name not in self.keep]


def plan(
    treaty: Treaty,
    public: SourceLike,
    *,
    delta: float = 0.0,
    method: str | None = None,
    most_rounds: int = 1_000,
    keep: Collection[str] = (),
    effort: float = EFFORT,
    seconds: float = math.inf,
    seed: int = 0,
    by: str | None = None,
) -> Iterator[Candidate]:
    """Find good settings for a treaty on public rows alone; give the best so far, again and again.

    Columns to predict from, target, loss and parties stay what the draft says.

    Args:
        treaty: the draft.
        public: public rows.
        delta: δ that every party allows; 0 for pure ε.
        method: the only method it may use; None for whichever is best.
        most_rounds: no more rounds than that.
        keep: levers that are left as the draft has them; see `Limits`.
        effort: units of work that ways may cost; see `Limits`.
        seconds: after so long the search stops where it is.
        seed: of the cuts that ways are compared on.
        by: the column that says whose each public row is, if these are of other owners than the parties.

    Example:
        for candidate in treaty.plan(treaty.load("draft.toml"), "public.parquet"):
            print(candidate.expected.error)
    """
    judge = Judge(treaty.open(public), [*treaty.features, treaty.target.column], seed, by)
    limits = Limits(delta, method, most_rounds, frozenset(keep), effort, seconds)
    yield from planned(treaty, judge, limits)


def planned(treaty: Treaty, judge: Judge, limits: Limits) -> Iterator[Candidate]:
    """Find good settings with a judge that is there already; see `plan`."""
    end = time.monotonic() + limits.seconds
    begin = under(
        treaty,
        limits.method or BlendedStep.name,
        limits.most_rounds,
        keep=limits.keep,
        public_owners=judge.owners,
    )
    if "basis" not in limits.keep:
        begin = by_frequency(begin)
    search = _Search(judge, limits.effort)
    best = search.first(begin)
    yield best
    levers = limits.levers(treaty)
    judge.end, done = end, 0.0
    stopped: tuple[str, ...] = ()
    try:
        for number in range(PASSES):
            before = best.treaty
            for place, lever in enumerate(levers, start=1):
                try:
                    judge.check_time()
                    best = search.pulled(lever, best)
                except OutOfTime:
                    if number == 0:
                        stopped = tuple(each.name for each in levers[place - 1 :])
                    break
                done = (number + place / len(levers)) / (PASSES + 1)
                yield search.finished(best, done)
            else:
                if best.treaty != before:
                    continue
            break
        out_of_time = time.monotonic() > end
    finally:  # interrupted or not, what was found may still be compared with rivals
        judge.end = math.inf
    yield replace(search.finished(best, done if out_of_time else 1.0), stopped=stopped)


class _Search:
    """Tries ways, and counts what they cost.

    Args:
        judge: of the ways.
        effort: units of work that they may cost.
    """

    def __init__(self, judge: Judge, effort: float) -> None:
        self._judge, self._left = judge, effort
        self._tried: list[Expected] = []
        self._untried: dict[str, None] = {}

    def first(self, treaty: Treaty) -> Candidate:
        """Return what the search begins with, whatever work that is."""
        self._left -= self._judge.work(treaty)
        return self.with_clip(treaty)

    def finished(self, best: Candidate, done: float) -> Candidate:
        """Return the best so far with what is true of the search."""
        optimism = optimism_of(best.expected, self._tried, self._judge.seed)
        return replace(best, done=done, untried=tuple(self._untried), optimism=optimism)

    def pulled(self, lever: Lever, best: Candidate) -> Candidate:
        """Try the ways of one lever; return the simplest that is as good as the best within chance.

        Any but the simplest has to be expected to be no worse than the best so far, too: a way of which
        these rows tell hardly anything would else be as good as any within chance.
        """
        found: list[tuple[Option, Candidate]] = []
        ways: dict[str, float | str] = {}
        simplest: Option | None = None
        for option in lever.options(best.treaty, self._judge):
            simplest = simplest or option
            try:
                self._afford(option)
                candidate = self.with_clip(option.treaty, best)
            except _Hopeless as error:
                ways[option.words] = error.expected
                continue
            except OutOfTime:
                raise
            except TreatyError as error:  # some ways do not go with these rows
                ways[option.words] = str(error)
                continue
            found.append((option, candidate))
            ways[option.words] = candidate.expected.error
        if not found:
            return best
        lowest = min((candidate for _, candidate in found), key=lambda c: c.expected.loss)
        if best.expected.loss < lowest.expected.loss:
            lowest = best
        most = best.expected.loss + NOTHING * lowest.expected.loss
        good = [
            each
            for each in found
            if (each[0] is simplest or each[1].expected.loss <= most)
            and _as_good(each[1], lowest, lever)
        ]
        if not good or good[0][1].treaty == best.treaty:
            return best
        option, candidate = good[0]
        before, after = best.expected.error, candidate.expected.error
        step = Step(lever.name, lever.line, option.words, before, after, ways)
        return replace(candidate, steps=(*best.steps, step))

    def with_clip(self, treaty: Treaty, best: Candidate | None = None) -> Candidate:
        """Return a treaty with its best clip, and what is expected of it.

        Args:
            treaty: the treaty.
            best: the best so far. What is clearly worse on the first rows is not judged on the others.
        """
        self._judge.check_time()
        clipped, share = with_best_clip(treaty, self._judge)
        if best is not None:
            self._glimpse(clipped, best)
        found = Candidate(clipped, self._judge.expected(clipped), share)
        self._tried.append(found.expected)
        return found

    def _afford(self, option: Option) -> None:
        """Count the work of a way; refuse one that is more than is left."""
        work = self._judge.work(option.treaty)
        if work > self._left:
            self._untried[option.words] = None
            raise TreatyError("not tried: more work than a plan may be")
        self._left -= work

    def _glimpse(self, treaty: Treaty, best: Candidate) -> None:
        """Refuse what is clearly worse than the best on the first rows, and by more than a trifle."""
        beside = self._judge.glimpsed(best.treaty)
        apart, error = self._judge.glimpsed(treaty).above(beside)
        if apart > max(CLEARLY * error, NOTHING * beside.loss):
            raise _Hopeless(best.expected.worse_by(apart))


class _Hopeless(TreatyError):
    """A way is clearly worse than the best so far.

    Args:
        expected: its expected error, as the first rows tell it.
    """

    def __init__(self, expected: float) -> None:
        super().__init__("clearly worse on the first rows")
        self.expected = expected


def _as_good(candidate: Candidate, lowest: Candidate, lever: Lever) -> bool:
    """Whether a way may be taken although another is expected to be better."""
    apart, error = candidate.expected.above(lowest.expected)
    trifle = NOTHING * lowest.expected.loss
    if candidate.expected.labels:
        return apart <= max(OF_LABELS * error, trifle)
    return apart <= {"chance": max(error, trifle), "trifle": trifle, "never": 0.0}[lever.first_if]
