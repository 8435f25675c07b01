"""Planning: lever by lever, the settings with the lowest expected error, on public rows alone."""

import math
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from treaty.errors import TreatyError
from treaty.learners.blended_step import BlendedStep
from treaty.records import SourceLike, open_source
from treaty.settings.expecting import Expected, Judge
from treaty.settings.levers import (
    Basis,
    Bounds,
    Categories,
    Knots,
    Lever,
    Method,
    NoiseKind,
    Option,
    PublicOwners,
    Reference,
    Rounds,
    Weighing,
    under,
    with_best_clip,
)
from treaty.terms import Treaty

NOTHING = 0.001
"""A share of the loss that is not worth a longer treaty."""
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
        done: whether the search is at its end.
    """

    treaty: Treaty
    expected: Expected
    clip_leaves: float
    steps: tuple[Step, ...] = ()
    done: bool = False

    @property
    def pays(self) -> bool:
        """Whether training together is expected to beat the public model by anything to speak of."""
        return self.expected.gain > NOTHING * self.expected.loss


@dataclass(frozen=True)
class Limits:
    """What a plan has to keep to.

    Args:
        delta: δ that every party allows; 0 for pure ε.
        method: the only method it may use; None for whichever is best.
        most_rounds: no more rounds than that.
        keep: names of levers that are left as the draft has them: bounds, knots, categories, reference,
            basis, rounds, weights; and "ridge": the draft's own is then part of what is to be low.
        seconds: after so long no further way is tried.
    """

    delta: float = 0.0
    method: str | None = None
    most_rounds: int = 1_000
    keep: frozenset[str] = frozenset()
    seconds: float = 60.0

    KEEPABLE: ClassVar[tuple[str, ...]] = (
        *("bounds", "knots", "categories", "reference", "basis", "rounds", "weights", "ridge"),
    )

    def __post_init__(self) -> None:
        if not 0 <= self.delta < 1:
            raise TreatyError(f"`delta` must lie between 0 and 1, not {self.delta:g}")
        if self.most_rounds < 1:
            raise TreatyError(f"at least one round is needed, not {self.most_rounds:,}")
        unknown = sorted(self.keep - set(self.KEEPABLE))
        if unknown:
            raise TreatyError(
                f"a plan cannot keep {', '.join(unknown)}: it can keep {', '.join(self.KEEPABLE)}"
            )

    def levers(self, draft: Treaty) -> list[Lever]:
        """Return the levers that may be moved, in the order in which they are tried."""
        found: list[Lever] = [Knots(), Bounds(draft), Categories(), Reference(), Basis()]
        found += [PublicOwners(), NoiseKind(self.delta), Weighing(), Rounds(self.most_rounds)]
        if self.method is None and "basis" not in self.keep and "ridge" not in self.keep:
            found.append(Method())
        return [lever for lever in found if lever.name not in self.keep]


def plan(
    treaty: Treaty,
    public: SourceLike,
    *,
    delta: float = 0.0,
    method: str | None = None,
    most_rounds: int = 1_000,
    keep: Collection[str] = (),
    seconds: float = 60.0,
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
        seconds: after so long no further way is tried.
        seed: of the cuts that ways are compared on.
        by: the column that says whose each public row is, if these are of other owners than the parties.

    Example:
        for candidate in treaty.plan(treaty.load("draft.toml"), "public.parquet"):
            print(candidate.expected.error)
    """
    judge = Judge(open_source(public), [*treaty.features, treaty.target.column], seed, by)
    yield from planned(treaty, judge, Limits(delta, method, most_rounds, frozenset(keep), seconds))


def planned(treaty: Treaty, judge: Judge, limits: Limits) -> Iterator[Candidate]:
    """Find good settings with a judge that is there already; see `plan`."""
    end = time.monotonic() + limits.seconds
    begin = under(
        treaty,
        limits.method or BlendedStep.name,
        limits.most_rounds,
        keeps_ridge="ridge" in limits.keep,
    )
    if "basis" not in limits.keep:
        begin = next(Basis().options(begin, judge)).treaty
    best = _with_clip(begin, judge)
    yield best
    levers = limits.levers(treaty)
    judge.end = end
    try:
        for _ in range(PASSES):
            before = best.treaty
            for lever in levers:
                best = _pulled(lever, best, judge)
                yield best
            if best.treaty == before or time.monotonic() > end:
                break
    finally:  # interrupted or not, what was found may still be compared with rivals
        judge.end = math.inf
    yield replace(best, done=True)


def _pulled(lever: Lever, best: Candidate, judge: Judge) -> Candidate:
    """Try the ways of one lever; return the simplest that is as good as the best within chance."""
    found: list[tuple[Option, Candidate]] = []
    ways: dict[str, float | str] = {}
    for option in lever.options(best.treaty, judge):
        if time.monotonic() > judge.end:
            break
        try:
            candidate = _with_clip(option.treaty, judge)
        except TreatyError as error:  # some ways do not go with these rows: too many components
            ways[option.words] = str(error)
            continue
        found.append((option, candidate))
        ways[option.words] = candidate.expected.error
    if not found:
        return best
    lowest = min((candidate for _, candidate in found), key=lambda c: c.expected.loss)
    if best.expected.loss < lowest.expected.loss:
        lowest = best
    good = [each for each in found if _as_good(each[1], lowest, lever.ordered)]
    if not good or good[0][1].treaty == best.treaty:
        return best
    option, candidate = good[0]
    step = Step(
        lever.name,
        lever.line,
        option.words,
        best.expected.error,
        candidate.expected.error,
        ways,
    )
    return replace(candidate, steps=(*best.steps, step))


def _as_good(candidate: Candidate, lowest: Candidate, ordered: bool) -> bool:
    apart, error = candidate.expected.above(lowest.expected)
    return apart <= max(error if ordered else 0.0, NOTHING * lowest.expected.loss)


def _with_clip(treaty: Treaty, judge: Judge) -> Candidate:
    clipped, share = with_best_clip(treaty, judge)
    return Candidate(clipped, judge.expected(clipped), share)
