"""Folds: random halves of a stand-in, each in features of a dictionary that was fitted on the other."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from treaty.adaptation import OwnRecords, alone
from treaty.arrays import FloatArray, IntArray
from treaty.evidence.stand_in import StandIn
from treaty.fitness import Optimum, Problem, Risk, RowRisk, optimum, risk_of
from treaty.fitness.tilt import TiltedRisk, tilted
from treaty.losses import Loss
from treaty.records import Dictionary, DictionaryTerms, Feature
from treaty.records.fitting import bounds_dictionary, digest, fit_dictionary

Names = np.ndarray[tuple[int], np.dtype[np.str_]]


class Rows:
    """Some rows (x, y), and their best model, which is solved once for every problem.

    Args:
        x: features.
        y: targets.
    """

    def __init__(self, x: FloatArray, y: FloatArray) -> None:
        self.x, self.y = x, y
        self._risks: dict[object, RowRisk] = {}
        self._best: dict[object, Optimum] = {}
        self._tuned: dict[object, FloatArray] = {}

    def __len__(self) -> int:
        return len(self.y)

    def risk(self, problem: Problem) -> RowRisk:
        """Return what the rows say about a model; the same object every time."""
        key = problem.fitness_loss.key
        if key not in self._risks:
            self._risks[key] = RowRisk(problem.fitness_loss, self.x, self.y)
        return self._risks[key]

    def best(self, problem: Problem) -> Optimum:
        """Return their best model."""
        if problem.fitness_key not in self._best:
            risk = through_moments(problem.fitness_loss, self.risk(problem))
            self._best[problem.fitness_key] = optimum(problem, risk)
        return self._best[problem.fitness_key]

    def tuned(self, problem: Problem) -> FloatArray:
        """Return a model of them with a ridge by cross-validation: of few rows, far better elsewhere."""
        if problem.fitness_key not in self._tuned:
            self._tuned[problem.fitness_key] = alone(OwnRecords(problem, self.x, self.y)).theta
        return self._tuned[problem.fitness_key]


class Half:
    """Half of a stand-in in the features of some dictionary.

    Args:
        everybody: its rows.
        owner: whose each row is, if known.
        exact: parties whose very records are at hand, in the same features.
    """

    def __init__(self, everybody: Rows, owner: Names | None, exact: Mapping[str, Rows]) -> None:
        self.everybody, self.owner, self.exact = everybody, owner, exact
        self._own: dict[str, Rows] = {}

    def own(self, name: str) -> Rows:
        """Return the rows of one owner, if any are known to be its own."""
        if name not in self._own:
            none = np.zeros(0, dtype=np.int64)
            self._own[name] = self.some(
                none if self.owner is None else np.flatnonzero(self.owner == name)
            )
        return self._own[name]

    def some(self, rows: IntArray) -> Rows:
        """Return some of its rows."""
        return Rows(self.everybody.x[rows], self.everybody.y[rows])


@dataclass(frozen=True, eq=False)
class Fold:
    """Half of a stand-in to be judged on, and the other half in the same features.

    Args:
        judged: the half that was not used to fit the dictionary.
        others: the half that was, where one had to be fitted.
    """

    judged: Half
    others: Half


def cross_fitted(
    terms: DictionaryTerms,
    features: Mapping[str, Feature],
    fitted: Dictionary,
    stand_in: StandIn,
    folds: int,
    seed: int = 0,
) -> list[Fold]:
    """Cut a stand-in into random halves, each in features of a dictionary fitted on the other.

    A dictionary that saw the very rows it is then judged on makes their Hessian the identity and the
    forecast too rosy. Halves keep both errors small: that of the dictionary, and that of the rows it
    is judged on. Where the treaty's dictionary was fitted on other rows, or on none, it is used as it
    is. The radius stays the treaty's own: it is what the noise is made for.

    Args:
        terms: what the parties agreed on about the dictionary.
        features: the columns.
        fitted: the treaty's dictionary.
        stand_in: the rows.
        folds: how many halves, an even number: every cut gives two.
        seed: of the cuts.
    """
    random = np.random.default_rng(seed)
    refit = terms.needs_public_rows and fitted.fitted_on == digest(stand_in.encoded)
    exact = exact_rows(fitted, stand_in)
    made: list[Fold] = []
    for _ in range(folds // 2):
        order = random.permutation(stand_in.rows)
        one, two = np.array_split(order, 2)
        if not refit:
            first, second = (_half(fitted, stand_in, part, exact) for part in (one, two))
            made += [Fold(first, second), Fold(second, first)]
            continue
        for part, others in ((one, two), (two, one)):
            own = fit_dictionary(terms, features, stand_in.encoded[others], fitted)
            dictionary = own.model_copy(update={"radius": fitted.radius})
            exact = exact_rows(dictionary, stand_in)
            made.append(
                Fold(*(_half(dictionary, stand_in, rows, exact) for rows in (part, others)))
            )
    return made


def _half(
    dictionary: Dictionary, stand_in: StandIn, rows: IntArray, exact: Mapping[str, Rows]
) -> Half:
    x, _ = dictionary.apply(stand_in.encoded[rows])
    owner = None if stand_in.owner is None else stand_in.owner[rows]
    return Half(Rows(np.ascontiguousarray(x), stand_in.target[rows]), owner, exact)


def whole(dictionary: Dictionary, stand_in: StandIn) -> Rows:
    """Return all rows of a stand-in in the features of a dictionary."""
    return Rows(np.ascontiguousarray(dictionary.apply(stand_in.encoded)[0]), stand_in.target)


def exact_rows(dictionary: Dictionary, stand_in: StandIn) -> dict[str, Rows]:
    """Return the very records of parties that are at hand, in the features of a dictionary."""
    return {
        name: Rows(np.ascontiguousarray(dictionary.apply(encoded)[0]), target)
        for name, (encoded, target) in stand_in.exact.items()
    }


def dictionary_of(
    terms: DictionaryTerms, features: Mapping[str, Feature], stand_in: StandIn
) -> Dictionary:
    """Return the dictionary the parties would fit, were the stand-in their public rows."""
    if terms.needs_public_rows:
        return fit_dictionary(terms, features, stand_in.encoded)
    return bounds_dictionary(terms, features)


def through_moments(loss: Loss, risk: Risk) -> Risk:
    """Return the same rows under a loss, through moments where it has them."""
    if isinstance(risk, TiltedRisk):
        under = risk.with_loss(loss)
        assert isinstance(under, TiltedRisk)
        return tilted(through_moments(loss, under.risk), under.slope, under.centre)
    assert isinstance(risk, RowRisk)
    return risk_of(loss, risk.x, risk.y)
