"""What both estimators do: rows and groups become a treaty, and its training a fitted model."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import polars as pl
from sklearn.base import BaseEstimator
from sklearn.utils import validation

from treaty.errors import TreatyError
from treaty.fitness.threads import on_one_thread
from treaty.learners import OneShot
from treaty.records import FrameSource, Number, Target
from treaty.records.frames import as_polars, is_frame
from treaty.settings.expecting import Judge
from treaty.settings.planning import Limits, planned
from treaty.terms import Treaty, loads, model_of
from treaty.terms.draft import draft
from treaty.training import assemble, train_only
from treaty.training.assembly import survey_of

TARGET = "what is predicted"
GROUP = "whose it is"
EVERYBODY = "everybody"


class TreatyEstimator(BaseEstimator):
    """Trains under differential privacy across groups of records, each an owner with its own budget.

    With public rows the treaty is drafted and planned on them, and nothing is read off the private ones
    but their number. Without, `bounds` and `target_bounds` say what may be known of their range; nothing
    is planned then, and nothing tells whether the model beats a constant guess.

    Args:
        epsilon: every owner's budget ε, or a mapping from groups to budgets.
        delta: δ that every owner allows; 0 for pure ε.
        bounds: without public rows: the least and the largest value of every feature, each one number
            or one for each feature.
        effort: units of work in planning, with public rows; each takes about a second.

    Attributes:
        model_: the trained model, a `treaty.Model`.
        treaty_: the treaty it was trained under.
        spent_: the ε that each owner has spent; nothing if training together was not expected to beat
            the public rows, whose model this then is.
        trained_together_: whether owners were asked.
    """

    def __init__(
        self,
        epsilon: float | Mapping[Any, float] = 1.0,
        *,
        delta: float = 0.0,
        bounds: tuple[Any, Any] | None = None,
        effort: float = 20.0,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.effort = effort

    def _fitted_to(
        self, X: Any, y: Any, groups: Any, public: tuple[Any, Any] | None, target: Target
    ) -> None:
        """Train on rows whose targets are numbers that `target` can encode."""
        self._check_budgets()
        check_known("y", y)
        frame = self._frame(X, y)
        who = [EVERYBODY] * len(frame) if groups is None else _names(groups)
        if len(who) != len(frame):
            raise ValueError(f"groups has {len(who)} entries, and X has {len(frame)} rows")
        if public is not None:
            _check_same_columns(frame.columns, self._frame(*public).columns)
        frame = frame.with_columns(pl.Series(GROUP, who))
        owners = FrameSource(frame).owners(GROUP)
        if public is None:
            treaty = self._from_bounds(frame.drop(GROUP), target, owners)
            rows = None
        else:
            rows = FrameSource(self._frame(*public), "the public rows")
            first = loads(draft(rows, target=TARGET, by=None, owners=owners).text)
            treaty = self._with_budgets(first.model_copy(update={"target": target}))
            treaty, pays = self._planned(treaty, rows)
            if not pays:
                theta = survey_of(treaty, rows).model("tuned").theta
                self.treaty_, self.model_ = treaty, model_of(treaty, theta, {})
                self.spent_, self.trained_together_ = dict.fromkeys(owners, 0.0), False
                return
        sources = {name: FrameSource(frame).of_owner(GROUP, name) for name in owners}
        with on_one_thread():
            assembly = assemble(treaty, sources, rows)
            self.model_, self.spent_ = train_only(assembly)
        self.treaty_, self.trained_together_ = assembly.treaty, True

    def _check_budgets(self) -> None:
        """Refuse a budget that is none, before anything is planned."""
        given = self.epsilon.values() if isinstance(self.epsilon, Mapping) else [self.epsilon]
        for epsilon in given:
            if not float(epsilon) > 0:
                raise TreatyError(f"epsilon must be above 0, not {float(epsilon):g}")

    def _planned(self, treaty: Treaty, rows: FrameSource) -> tuple[Treaty, bool]:
        judge = Judge(rows, [*treaty.features, TARGET])
        *_, found = planned(treaty, judge, Limits(self.delta, effort=self.effort))
        told = judge.foreseen(found.treaty, found.optimism)
        return judge.in_place(found.treaty), found.pays and found.worthwhile(told)

    def _with_budgets(self, treaty: Treaty) -> Treaty:
        parties = tuple(
            party.model_copy(update={"epsilon": self._budget(party.name), "delta": self.delta})
            for party in treaty.parties
        )
        changed = treaty.model_copy(update={"parties": parties})
        return Treaty.model_validate(changed.model_dump(mode="python"))

    def _budget(self, name: str) -> float:
        if not isinstance(self.epsilon, Mapping):
            return float(self.epsilon)
        budgets = {str(group): float(epsilon) for group, epsilon in self.epsilon.items()}
        if name not in budgets:
            raise TreatyError(f"epsilon has no budget for the group {name}: give one for each")
        return budgets[name]

    def _from_bounds(self, frame: pl.DataFrame, target: Target, owners: dict[str, int]) -> Treaty:
        """Return a treaty from public bounds alone."""
        columns = [name for name in frame.columns if name != TARGET]
        if self.bounds is None:
            raise TreatyError(
                "nothing may be read off private records: give public rows with X_public and y_public, "
                "or say in `bounds` (and for numbers in `target_bounds`) what may be known of them"
            )
        low, high = (np.broadcast_to(np.asarray(end, float), len(columns)) for end in self.bounds)
        features = {
            name: Number(bounds=(float(a), float(b)))
            for name, a, b in zip(columns, low, high, strict=True)
        }
        squared = target.bounds is not None
        plain = {
            "version": 1,
            "title": "from bounds alone",
            "features": {name: each.model_dump() for name, each in features.items()},
            "target": target.model_dump(),
            "dictionary": {"standardise": "bounds"},
            "loss": {
                "name": "squared" if squared else "logistic",
                "ridge": 1e-6,
                "theta_max": 1e3 if squared else 1e2,
            },
            "training": {
                "method": OneShot.name if squared else "averaged-subgradient",
                "horizon": 1 if squared else 100,
                "mechanism": "gaussian" if self.delta else "laplace",
            },
            "parties": [
                {"name": n, "records": r, "epsilon": self._budget(n), "delta": self.delta}
                for n, r in owners.items()
            ],
        }
        return Treaty.model_validate(plain)

    def _frame(self, X: Any, y: Any) -> pl.DataFrame:
        """Return features and targets as one frame."""
        if is_frame(X):
            frame = as_polars(X)
        else:
            array = np.asarray(X)
            frame = pl.DataFrame({f"x{i}": array[:, i] for i in range(array.shape[1])})
        return frame.with_columns(pl.Series(TARGET, np.asarray(y)))

    def _checked(self, X: Any, y: Any = None, *, reset: bool, numeric: bool = False) -> Any:
        """Check rows as scikit-learn does; columns of data frames may hold anything."""
        if reset and y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        if is_frame(X):
            if reset:
                self.n_features_in_ = len(X.columns)
                self.feature_names_in_ = np.array([str(c) for c in X.columns], dtype=object)
            return X if y is None else (X, np.asarray(y))
        options: dict[str, Any] = {"ensure_all_finite": "allow-nan", "reset": reset, "dtype": float}
        check = cast(Any, validation).validate_data
        try:
            if y is None:
                return check(self, X, **options)
            return check(self, X, y, y_numeric=numeric, ensure_min_samples=2, **options)
        except TypeError as error:
            if "float()" not in str(error):
                raise
            raise TypeError(
                f"an array may hold numbers only ({error}): give texts and dates as a data frame, with "
                "the same columns in fit and predict"
            ) from error

    def _rows(self, X: Any) -> pl.DataFrame:
        cast(Any, validation).check_is_fitted(self, "model_")
        checked = self._checked(X, reset=False)
        if is_frame(checked):
            return as_polars(checked)
        names = getattr(self, "feature_names_in_", [f"x{i}" for i in range(checked.shape[1])])
        return pl.DataFrame({str(name): checked[:, i] for i, name in enumerate(names)})

    def __sklearn_tags__(self) -> Any:
        tags: Any = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.non_deterministic = True
        return tags


def _names(groups: Any) -> list[str]:
    """Return whose each record is, by name."""
    who = np.asarray(groups).tolist()
    missing = _missing(who)
    if missing is not None:
        raise ValueError(f"groups: entry {missing} is missing: say whose every record is")
    return [str(name) for name in who]


def check_known(name: str, values: Any) -> None:
    """Refuse targets that are missing, with the first place."""
    missing = _missing(np.asarray(values).ravel().tolist())
    if missing is not None:
        raise ValueError(
            f"{name}: entry {missing} is missing (NaN): leave out rows whose target is not known"
        )


def public_rows(features: Any, targets: Any) -> tuple[Any, Any] | None:
    """Return public rows, if there are any, or say what is missing of them."""
    if features is None and targets is None:
        return None
    if features is None or targets is None:
        given, other = ("X_public", "y_public") if targets is None else ("y_public", "X_public")
        raise ValueError(f"{given} is given without {other}: public rows have features and targets")
    check_known("y_public", targets)
    return features, targets


def _missing(values: Sequence[Any]) -> int | None:
    """Return the place of the first missing entry, from 0: None, NaN, or what pandas has for it."""
    for place, value in enumerate(values):
        try:
            if value is None or bool(value != value):
                return place
        except TypeError:  # pandas.NA is neither equal to itself nor not
            return place
    return None


def _check_same_columns(private: list[str], public: list[str]) -> None:
    """Refuse public rows with other columns."""
    other = [name for name in private if name not in public]
    if other:
        raise ValueError(
            f"X_public has no column {other[0]!r}: X and X_public must have the same columns"
        )
