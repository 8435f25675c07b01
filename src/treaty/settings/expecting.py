"""The judge: what to expect of a treaty's model, by public rows alone."""

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar, cast

import numpy as np
import polars as pl

from treaty.adaptation import OwnRecords, alone
from treaty.arrays import FloatArray, IntArray
from treaty.errors import TreatyError
from treaty.fitness import Problem, RowRisk, optimum
from treaty.fitness.curvature import curvature_of
from treaty.fitness.threads import on_one_thread
from treaty.learners import Survey, survey
from treaty.learners.blended_step import BlendedStep
from treaty.learners.geometry import Begin
from treaty.losses import Logistic
from treaty.matrices import absolute, euclidean, scores
from treaty.measures import MEASURES
from treaty.records import Counts, Encoder, FrameSource, Source
from treaty.records.fitting import encoded_columns
from treaty.records.values import as_numbers
from treaty.settings.expected import Expected
from treaty.settings.rehearsing import rehearsals, rehearsed_cost
from treaty.settings.three_parts import promised_and_kept
from treaty.settings.work import AGAIN, LEAST, work_of
from treaty.terms import Treaty, encoder_of, fit, plan_of, problem_of
from treaty.terms.asking import along_all, with_axes
from treaty.terms.reading import class_weights

PARTS = 6
"""Into so many parts public rows are cut; each is judged by models of the others."""
GLIMPSED = 2
"""A way that is clearly worse on so many of these parts is not judged on the others."""
FEWEST = 50
"""So many public rows are needed to choose anything by them."""
FEWEST_OF_LABEL = 10
"""Of fewer rows of a label nobody can say how long nine in ten of their gradients are."""
FEWEST_OWNERS = 3
"""So many owners are needed where rows of some are to tell about others."""
TINY = 1e-12
Made = TypeVar("Made")


class OutOfTime(TreatyError):
    """The time is over in which a treaty was to be judged."""


class Judge:
    """Judges treaties by public rows; nothing is computed twice.

    The model of the public rows is judged by cross-validation, dictionary, knots and ridge included.
    What noised answers of the owners add to it follows from how far it may be off by chance and from
    the noise: for `BlendedStep` in closed form, for any other method by rehearsal on the public rows.
    A treaty's own ridge is part of what is to be low.

    Args:
        public: the public rows.
        columns: the columns to be read.
        seed: of the cut into parts.
        by: the column that says whose each row is, if the rows are of some owners and are to tell about
            others: no owner's rows are then in two parts.
    """

    def __init__(
        self, public: Source, columns: list[str], seed: int = 0, by: str | None = None
    ) -> None:
        read = [*columns, *([by] if by is not None and by not in columns else [])]
        blocks = list(public.blocks(read))
        known = sum(len(block) for block in blocks)
        if known < FEWEST:
            raise TreatyError(
                f"{public.label}: {known} rows are too few to choose settings by: at least {FEWEST} are "
                "needed"
            )
        self.rows = pl.concat(blocks)
        self.seed, self.owners = seed, 0
        """Of how many owners the rows are, where that matters."""
        self.parts = PARTS
        self._part = np.random.default_rng(seed).permutation(np.arange(len(self.rows)) % PARTS)
        if by is not None:
            self._part = self._by_owner(self.rows[by].cast(pl.String).fill_null("").to_list())
        self._made: dict[object, object] = {}
        self.end = math.inf
        """When to stop, by the monotonic clock."""

    def _by_owner(self, owner: list[str]) -> IntArray:
        """Cut the rows between owners, into parts of about as many rows."""
        names, places, sizes = np.unique(owner, return_inverse=True, return_counts=True)
        self.owners = len(names)
        if self.owners < FEWEST_OWNERS:
            raise TreatyError(
                f"public rows of {self.owners} owner(s) do not tell how owners differ: at least "
                f"{FEWEST_OWNERS} are needed, or leave out by whom they are"
            )
        self.parts = min(PARTS, self.owners)
        filled, of_name = np.zeros(self.parts), np.zeros(self.owners, dtype=np.int64)
        for place in np.argsort(-sizes, kind="stable"):
            of_name[place] = filled.argmin()
            filled[of_name[place]] += sizes[place]
        return of_name[places]

    def fitted(self, treaty: Treaty) -> Treaty:
        """Return the treaty with all in place that public rows decide."""
        return self._once(
            ("fitted", *_shape(treaty)), lambda: fit(along_all(treaty), FrameSource(self.rows))
        )

    def _fitted_on(self, treaty: Treaty, part: pl.DataFrame) -> Treaty:
        """Return the treaty with all in place as a part of the public rows decides it."""
        return fit(along_all(treaty), FrameSource(part), self.fitted(treaty).fitted)

    def expected(self, treaty: Treaty) -> Expected:
        """Return what a treaty's model is expected to cost, to compare it with others."""
        return self._expected(treaty, range(self.parts))

    def glimpsed(self, treaty: Treaty) -> Expected:
        """Return the same on the first of these rows only."""
        return self._expected(treaty, range(GLIMPSED))

    def gain(self, treaty: Treaty) -> float:
        """Return by how much training is expected to lower the mean loss below the public model's."""
        return self._gained(treaty)[0]

    def foreseen(self, treaty: Treaty, optimism: float = 0.0) -> Expected:
        """Return what `expected` does, with what more is told of a treaty that is to be shown.

        Args:
            treaty: the treaty.
            optimism: by how much its expected loss is too low for having been chosen; see `optimism_of`.
        """
        told, excess = self.expected(treaty), self._gained(treaty)[1]
        rows = 0 if self.owners else len(self.rows)
        return replace(told, optimism=optimism, excess=excess, rows=rows)

    def work(self, treaty: Treaty) -> float:
        """Return the units of work in judging a treaty: less if its public model is known already."""
        width = len(encoded_columns(self.fitted(treaty).features))
        labels = treaty.target.bounds is None
        rehearsed = 0
        if treaty.training.method != BlendedStep.name:
            rehearsed = rehearsals(treaty.training.horizon) * treaty.training.horizon
        whole = work_of(len(self.rows), width, self.parts, labels=labels, rehearsed=rehearsed)
        known = ("losses", *_shape(treaty), self.parts - 1) in self._made
        return LEAST + AGAIN * (whole - LEAST) if known else whole

    def constant(self, treaty: Treaty) -> float | None:
        """Return the error of the best constant guess, each part judged by that of all other rows.

        In the target's unit, or log loss; None for a loss of labels that is no log loss.
        """
        column = self.rows[treaty.target.column]
        if treaty.target.bounds is not None:
            truth = as_numbers(treaty.target.column, column, Counts())
            return math.sqrt(float(np.nanmean(self._off_constant(truth) ** 2)))
        if treaty.loss.name != Logistic.name:
            return None
        labels = treaty.target.encode(column, Counts())
        shares = np.clip(0.5 * (1 + labels - self._off_constant(labels)), TINY, 1 - TINY)
        odds = np.log(shares / (1 - shares))
        return float(np.mean(Logistic().value(odds, labels)))

    def _off_constant(self, truth: FloatArray) -> FloatArray:
        """Return by how much every row lies off the mean of all rows of other parts."""
        off = np.empty(len(truth))
        for part in range(self.parts):
            inside = self._part == part
            off[inside] = truth[inside] - np.nanmean(truth[~inside])
        return off

    def auc(self, treaty: Treaty) -> float | None:
        """Return the AUC of the public model, where labels are predicted.

        Every row is judged by a model made without it.
        """
        if treaty.target.bounds is not None:
            return None
        column = self.rows[treaty.target.column]
        labels = [
            treaty.target.encode(column.filter(pl.Series(self._part == part)), Counts())
            for part in range(self.parts)
        ]
        told = np.concatenate(labels)
        losses = np.concatenate([self._held_out(treaty, part) for part in range(self.parts)])
        # The score that a log loss, or a hinge loss, is that of.
        margins = 1.0 - losses
        if treaty.loss.name == "logistic":
            margins = -np.log(np.expm1(np.maximum(losses, TINY)))
        return MEASURES["auc"].of(told, told * margins)

    def _expected(self, treaty: Treaty, parts: range) -> Expected:
        gain, excess = self._gained(treaty)
        with on_one_thread():
            losses = np.concatenate([self._held_out(treaty, part) for part in parts])
            # Models that judge are of fewer rows than the public model: their excess is larger.
            return Expected(losses - excess / (self.parts - 1), gain, treaty.target.bounds is None)

    def gradient_sizes(self, treaty: Treaty) -> tuple[FloatArray, FloatArray | None]:
        """Return the norm of every public row's gradient at the public model, as the noise counts it.

        Beside it those of the rarer label, where labels are predicted: of so few rows that next to
        nothing is known of them, what all rows would have with that label.
        """
        found, rows = self.surveyed(treaty), self._encoded(treaty)
        plan = plan_of(self.in_place(treaty))
        score = scores(rows.x, found.model(_about(treaty)).theta)
        axes = plan.problem.axes
        asked = rows.x if axes is None else scores(rows.x, axes)
        lengths = absolute(asked) if plan.mechanism.norm == "l1" else euclidean(asked)
        loss = found.problem.fitness_loss
        sizes = np.abs(loss.slope(score, rows.y)) * lengths
        if not loss.labels:
            return sizes, None
        label = 1.0 if np.sum(rows.y > 0) <= rows.n / 2 else -1.0
        rarer = rows.y == label
        if not rarer.any():
            raise TreatyError(
                f"all public rows have the same {treaty.target.column}, so nothing can be chosen by "
                "them: give public rows with both labels"
            )
        if np.sum(rarer) == 1:
            raise TreatyError(
                f"only one public row has another {treaty.target.column} than all others, so nothing "
                "can be chosen by them: give more public rows"
            )
        if np.sum(rarer) >= FEWEST_OF_LABEL:
            return sizes, sizes[rarer]
        return sizes, np.abs(loss.slope(score, np.full_like(rows.y, label))) * lengths

    def surveyed(self, treaty: Treaty) -> Survey:
        """Return what all public rows tell a learner."""
        settled = self.in_place(treaty)
        return self._looked(treaty).under(plan_of(settled).problem)

    def in_place(self, treaty: Treaty) -> Treaty:
        """Return a treaty with the columns, the dictionary and the axes that public rows decide."""
        settled = _settled_as(treaty, self.fitted(treaty))
        if treaty.training.axes is None:
            return settled
        fitted = self._once(
            ("axes", *_shape(treaty), treaty.training.axes),
            lambda: with_axes(settled, self._looked(treaty)).fitted,
        )
        return settled.model_copy(update={"fitted": fitted})

    def _looked(self, treaty: Treaty) -> Survey:
        """Return what all public rows tell, whatever is asked for."""
        plain = along_all(_settled_as(treaty, self.fitted(treaty)))
        return self._once(
            ("survey", *_shape(treaty)),
            lambda: survey(problem_of(plain), self._encoded(treaty)),
        )

    def _encoded(self, treaty: Treaty) -> RowRisk:
        def read() -> RowRisk:
            settled = self.fitted(treaty)
            problem = problem_of(settled)
            return encoder_of(settled).rows(problem.fitness_loss, FrameSource(self.rows))[0]

        return self._once(("rows", *_shape(treaty)), read)

    def _gained(self, treaty: Treaty) -> tuple[float, float]:
        """Return by how much training lowers the mean loss, and the public model's excess."""
        with on_one_thread():
            return self._once(
                ("gain", treaty.model_dump_json(exclude={"title", "fitted"})),
                lambda: self._gain(treaty),
            )

    def _gain(self, treaty: Treaty) -> tuple[float, float]:
        found = self.surveyed(treaty)
        ready = plan_of(self.in_place(treaty)).informed_by(found)
        theta, view = found.model(_about(treaty)).theta, found.view(_about(treaty))
        # Where the best model of the public rows lies outside of Θ, all others do worse than it.
        free = found.theta if _about(treaty) == "public" else found.tuned.theta
        kept_out = float(found.risk.value(theta)) - float(found.risk.value(free))
        curvature = curvature_of(found.problem, found.risk, theta)
        curvature = curvature + found.problem.ridge * np.eye(len(theta))
        excess, unit = 0.5 * float(np.sum(curvature * view.covariance)), in_unit(treaty)
        if ready.method != BlendedStep.name:
            cost = rehearsed_cost(ready, found.risk, theta, view.covariance, self.seed)
            return (excess - cost - kept_out) * unit, excess * unit
        learner = ready.learner()
        assert isinstance(learner, BlendedStep)
        gain = learner.expected_gain(curvature)
        if self.owners or math.isinf(found.problem.fitness_loss.curvature_bound):
            gain *= self._kept(treaty)
        return (gain - kept_out) * unit, excess * unit

    def _kept(self, treaty: Treaty) -> float:
        """Return which share of the promised gain is kept on rows that nobody has seen, 1 at most.

        Every part is judged once, and asked once, by models of all others. Where these tell different
        stories, the share is one standard error below their mean.
        """
        told = [
            self._rehearsed(treaty, asked, (asked + 1) % self.parts) for asked in range(self.parts)
        ]
        promised, kept = (np.array(each) for each in zip(*told, strict=True))
        if promised.sum() <= 0:
            return 0.0
        error = float(kept.std(ddof=1)) * math.sqrt(self.parts)
        return min(1.0, (float(kept.sum()) - error) / float(promised.sum()))

    def _rehearsed(self, treaty: Treaty, asked: int, judged: int) -> tuple[float, float]:
        seen = self.rows.filter((self._part != asked) & (self._part != judged))

        def look() -> tuple[Treaty, Survey, RowRisk, RowRisk]:
            self.check_time()
            settled = self._fitted_on(treaty, seen)
            problem, encoder = problem_of(settled), encoder_of(settled)
            rows, first, second = (
                encoder.rows(problem.fitness_loss, FrameSource(frame))[0]
                for frame in (seen, *(self.rows.filter(self._part == k) for k in (asked, judged)))
            )
            return settled, survey(problem, rows), first, second

        settled, found, first, second = self._once(("three", *_shape(treaty), asked), look)
        ready = plan_of(with_axes(_settled_as(treaty, settled), found))
        found = found.under(ready.problem)
        return promised_and_kept(ready.informed_by(found), found, first, second, seed=asked)

    def _held_out(self, treaty: Treaty, part: int) -> FloatArray:
        """Return what the model of the public rows costs on each row of a part, made without it."""

        def judge() -> FloatArray:
            self.check_time()
            seen, judged = (self.rows.filter(which) for which in _parted(self._part, part))
            settled = self._fitted_on(treaty, seen)
            problem, encoder = problem_of(settled), encoder_of(settled)
            rows = encoder.rows(problem.fitness_loss, FrameSource(seen))[0]
            if _about(treaty) == "public":
                theta = optimum(problem, rows).theta
            else:
                theta = alone(OwnRecords(problem, rows.x, rows.y)).theta
            penalty = float(problem.penalty(theta)) * in_unit(treaty)
            return _losses(settled, problem, encoder, theta, judged) + penalty

        return self._once(("losses", *_shape(treaty), part), judge)

    def check_time(self) -> None:
        """Stop if the time is over in which treaties were to be judged."""
        if time.monotonic() > self.end:
            raise OutOfTime("there is no time left to judge this")

    def _once(self, key: object, make: Callable[[], Made]) -> Made:
        if key not in self._made:
            self._made[key] = make()
        return cast(Made, self._made[key])


def _parted(parts: IntArray, part: int) -> tuple[pl.Series, pl.Series]:
    """Return which rows are not in a part, and which are."""
    inside = pl.Series(parts == part)
    return ~inside, inside


def _settled_as(treaty: Treaty, settled: Treaty) -> Treaty:
    """Return a treaty with the columns, the dictionary and the weights of one that is settled."""
    loss = treaty.loss.model_copy(update={"class_weights": settled.loss.class_weights})
    return treaty.model_copy(
        update={"features": settled.features, "fitted": settled.fitted, "loss": loss}
    )


def _losses(
    treaty: Treaty, problem: Problem, encoder: Encoder, theta: FloatArray, rows: pl.DataFrame
) -> FloatArray:
    """Return the loss of rows as it counts for people: squared errors, not clamped, or log loss."""
    score = scores(encoder.x(rows), theta)
    target = treaty.target
    if target.bounds is None:
        weights = class_weights(treaty)
        shift = math.log(weights[1] / weights[0]) if weights else 0.0
        labels = target.encode(rows[target.column], Counts())
        loss = Logistic() if treaty.loss.name == "logistic" else problem.fitness_loss
        return loss.value(score - shift, labels)
    centre, scale = target.scaling
    truth = as_numbers(target.column, rows[target.column], Counts())
    known = np.where(np.isnan(truth), centre, truth)
    return (known - centre - scale * score) ** 2


def in_unit(treaty: Treaty) -> float:
    """Return what one unit of the mean loss is in the target's own unit, squared."""
    return 1.0 if treaty.target.bounds is None else treaty.target.scaling[1] ** 2


def _about(treaty: Treaty) -> Begin:
    """Return around which model of the public rows a treaty is judged."""
    return "public" if treaty.training.start == "public" else "tuned"


def _shape(treaty: Treaty) -> tuple[str, ...]:
    """Return what tells treaties apart whose public models differ: not clip, noise or parties."""
    loss = treaty.loss.model_copy(update={"clip": None})
    features = ",".join(f"{n}:{f.model_dump_json()}" for n, f in treaty.features.items())
    return (
        features,
        treaty.target.model_dump_json(),
        treaty.dictionary.model_dump_json(),
        loss.model_dump_json(),
        _about(treaty),
    )
