"""Planning: lever by lever, the settings with the lowest expected error, on public rows alone."""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from treaty.errors import TreatyError
from treaty.records import SourceLike, open_source
from treaty.settings.expecting import Expected, Judge
from treaty.settings.levers import (
    Basis,
    Categories,
    Knots,
    Lever,
    NoiseKind,
    Option,
    Weighing,
    one_question,
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


def plan(
    treaty: Treaty,
    public: SourceLike,
    *,
    delta: float = 0.0,
    seconds: float = 60.0,
    seed: int = 0,
) -> Iterator[Candidate]:
    """Find good settings for a treaty on public rows alone; give the best so far, again and again.

    Columns to predict from, target, loss and parties stay what the draft says.

    Args:
        treaty: the draft.
        public: public rows.
        delta: δ that every party allows; 0 for pure ε.
        seconds: after so long no further way is tried.
        seed: of the cuts that ways are compared on.

    Example:
        for candidate in treaty.plan(treaty.load("draft.toml"), "public.parquet"):
            print(candidate.expected.error)
    """
    judge = Judge(open_source(public), [*treaty.features, treaty.target.column], seed)
    yield from planned(treaty, judge, delta=delta, seconds=seconds)


def planned(
    treaty: Treaty, judge: Judge, *, delta: float = 0.0, seconds: float = 60.0
) -> Iterator[Candidate]:
    """Find good settings with a judge that is there already; see `plan`."""
    if not 0 <= delta < 1:
        raise TreatyError(f"`delta` must lie between 0 and 1, not {delta:g}")
    end = time.monotonic() + seconds
    first = next(Basis().options(one_question(treaty), judge))
    best = _with_clip(first.treaty, judge)
    yield best
    levers: Sequence[Lever] = (Knots(), Categories(), Basis(), NoiseKind(delta), Weighing())
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
    good = [each for each in found if _as_good(each[1], lowest)]
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


def _as_good(candidate: Candidate, lowest: Candidate) -> bool:
    apart, error = candidate.expected.above(lowest.expected)
    return apart <= max(error, NOTHING * lowest.expected.loss)


def _with_clip(treaty: Treaty, judge: Judge) -> Candidate:
    clipped, share = with_best_clip(treaty, judge)
    return Candidate(clipped, judge.expected(clipped), share)
