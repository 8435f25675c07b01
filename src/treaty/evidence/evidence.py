"""Evidence: rows that stand in for the owners' records, read once for any number of treaties."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np

from treaty.errors import TreatyError, not_a_party
from treaty.evidence.folds import Rows, cross_fitted, dictionary_of, exact_rows, whole
from treaty.evidence.parts import FEWEST_OWN
from treaty.evidence.stage import Stage, stages
from treaty.evidence.stand_in import (
    EvidenceKind,
    StandIn,
    generated_stand_in,
    read_stand_in,
    with_records_of,
)
from treaty.evidence.worlds import worlds
from treaty.fitness import Problem
from treaty.learners import Survey, survey
from treaty.plans import Party, Plan
from treaty.records import Dictionary, Source, SourceLike
from treaty.terms import Treaty, plan_of, problem_of
from treaty.terms.asking import along_all, with_axes
from treaty.terms.reading import settled

FOLDS = 10
Made = TypeVar("Made")


@dataclass(frozen=True, eq=False)
class Ground:
    """What evidence says about one treaty: all that its forecasts stand on.

    Args:
        plan: the treaty's plan, its learner informed by the stand-in as if it were the public rows.
        survey: what the stand-in tells a learner.
        stages: the folds, made ready.
        kind: what stands in for the records.
        rows: how many rows do.
        public_rows: how many public rows the learner has.
        alike: whether owners are assumed to be alike.
        unknown: where they are told apart: owners the stand-in has too few rows of.
    """

    plan: Plan
    survey: Survey
    stages: tuple[Stage, ...]
    kind: EvidenceKind
    rows: int
    public_rows: int | None
    alike: bool
    unknown: tuple[str, ...]


class Evidence:
    """Rows that stand in for the owners' records, and whatever was computed from them.

    Nothing is computed twice: rows are read once for all treaties with the same columns, folds are cut
    once for every dictionary, optima are solved once for every loss and every number of records. Clip,
    noise, budgets, method and horizon change none of that.

    Args:
        stand_in: rows that stand in for the records.
        private: whether they are somebody's private ones; what follows from them must then not leave.
        by: the column that says whose each row is, where owners differ.
        own: the very records of parties, by name, inside their own walls: the result must not leave.
        generate: without rows: make some up from a treaty's bounds, the weakest evidence.
        public_rows: how many public rows the learner has; all of a public stand-in if not given.
        folds: the number of cross-fitting folds, even; each random split into halves gives two.

    Example:
        evidence = treaty.Evidence("public.parquet", by="dest")
        for document in documents:
            print(treaty.forecast(document, evidence))
    """

    def __init__(
        self,
        stand_in: SourceLike | None = None,
        *,
        private: bool = False,
        by: str | None = None,
        own: Mapping[str, SourceLike] | None = None,
        generate: bool = False,
        public_rows: int | None = None,
        folds: int = FOLDS,
    ) -> None:
        if stand_in is not None and generate:
            raise TreatyError("`stand_in` and `generate` exclude each other")
        if stand_in is None and not generate:
            raise TreatyError(
                "a forecast needs rows to stand in for the records: give some with `stand_in`, "
                "or let `generate` make them up from the treaty's bounds alone"
            )
        if public_rows is not None and public_rows < 1:
            raise TreatyError(f"`public_rows` must be at least 1, not {public_rows}")
        if folds < 2 or folds % 2:
            raise TreatyError(f"`folds` must be an even number of at least 2, not {folds}")
        self._stand_in_rows = stand_in
        self._own = dict(own or {})
        self._private, self._by = private, by
        self._public_rows, self._folds = public_rows, folds
        self._made: dict[object, object] = {}

    def source(self, treaty: Treaty) -> Source | None:
        """Return the stand-in as a treaty reads it, if there is one."""
        rows = self._stand_in_rows
        return None if rows is None else self._opened("stand-in", rows, treaty)

    def public(self, treaty: Treaty) -> Source | None:
        """Return the stand-in, where it is public rows that a learner has as well."""
        return None if self._private else self.source(treaty)

    @property
    def by(self) -> str | None:
        """The column that says whose each row is."""
        return self._by

    def own(self, treaty: Treaty) -> Mapping[str, Source]:
        """Return the very records of parties, by name, as a treaty reads them."""
        return {n: self._opened(n, records, treaty) for n, records in self._own.items()}

    def _opened(self, name: str, records: SourceLike, treaty: Treaty) -> Source:
        key = ("opened", name, _key(treaty.dialect))
        return self._once(key, lambda: treaty.open(records))

    def ground(self, treaty: Treaty) -> Ground:
        """Return what this evidence says about a treaty."""
        treaty = settled(treaty, self.source(treaty))
        stand_in = self._stand_in(treaty)
        fitted = treaty.fitted or self._once(
            ("dictionary", stand_in, _key(treaty.dictionary)),
            lambda: dictionary_of(treaty.dictionary, treaty.features, stand_in),
        )
        dictionary = (_key(treaty.dictionary), _key(fitted))
        public_rows = self._how_many_public(treaty, stand_in)
        treaty = treaty.model_copy(update={"fitted": fitted})
        surveyed = self._survey(problem_of(along_all(treaty)), stand_in, fitted, dictionary)
        if fitted.axes is None:
            treaty = with_axes(treaty, surveyed)
        plan = plan_of(treaty)
        surveyed = surveyed.under(plan.problem)
        if plan.begin != "zero" and public_rows is None:
            raise TreatyError(
                "training.start: the learner begins at the public model: say of how many rows, "
                "with `public_rows`"
            )
        return Ground(
            plan=plan.informed_by(surveyed),
            survey=surveyed,
            stages=self._stages(plan, treaty, stand_in, fitted, public_rows),
            kind="private" if self._own else stand_in.kind,
            rows=stand_in.rows,
            public_rows=public_rows,
            alike=self._by is None,
            unknown=_unknown(plan.parties, stand_in),
        )

    def _stand_in(self, treaty: Treaty) -> StandIn:
        strangers = [n for n in self._own if n not in {party.name for party in treaty.parties}]
        if strangers:
            parties = [party.name for party in treaty.parties]
            raise TreatyError(not_a_party("`own`", strangers[0], parties))
        return self._once(
            (
                "rows",
                json.dumps({n: _key(f) for n, f in treaty.features.items()}),
                _key(treaty.target),
                _key(treaty.dialect),
            ),
            lambda: self._read(treaty),
        )

    def _read(self, treaty: Treaty) -> StandIn:
        features, target = treaty.features, treaty.target
        source = self.source(treaty)
        if source is None:
            rows = generated_stand_in(features, target)
        else:
            rows = read_stand_in(features, target, source, private=self._private, by=self._by)
        for name, records in self.own(treaty).items():
            rows = with_records_of(rows, name, features, target, records)
        return rows

    def _how_many_public(self, treaty: Treaty, stand_in: StandIn) -> int | None:
        if self._public_rows is not None:
            return self._public_rows
        if stand_in.kind == "public":
            return stand_in.rows
        fitted = treaty.fitted
        return fitted.public_rows if fitted is not None and fitted.public_rows else None

    def _survey(
        self, problem: Problem, stand_in: StandIn, fitted: Dictionary, dictionary: object
    ) -> Survey:
        def look() -> Survey:
            rows = self._whole(stand_in, fitted, dictionary)
            return survey(problem, rows.risk(problem), rows.best(problem).theta)

        return self._once(("survey", stand_in, dictionary, problem.fitness_key), look)

    def _whole(self, stand_in: StandIn, fitted: Dictionary, dictionary: object) -> Rows:
        """Return all rows of a stand-in, in the features of the treaty's own dictionary."""
        return self._once(("whole", stand_in, dictionary), lambda: whole(fitted, stand_in))

    def _stages(
        self,
        plan: Plan,
        treaty: Treaty,
        stand_in: StandIn,
        fitted: Dictionary,
        public_rows: int | None,
    ) -> tuple[Stage, ...]:
        """Return folds where owners are taken to be alike, else worlds in which they differ."""
        problem, parties = plan.problem, plan.parties
        dictionary = (_key(treaty.dictionary), _key(fitted))
        sizes = tuple((party.name, party.records) for party in parties)
        owner = stand_in.owner
        if owner is None:
            folds = self._once(
                ("folds", stand_in, dictionary),
                lambda: cross_fitted(
                    treaty.dictionary, treaty.features, fitted, stand_in, self._folds
                ),
            )
            return self._once(
                ("stages", stand_in, dictionary, problem.fitness_key, sizes),
                lambda: tuple(stages(problem, parties, folds)),
            )
        informed = stand_in.kind == "public" and public_rows == stand_in.rows
        rows = self._whole(stand_in, fitted, dictionary)
        return self._once(
            ("worlds", stand_in, dictionary, problem.fitness_key, sizes, informed),
            lambda: tuple(
                worlds(
                    problem,
                    parties,
                    rows,
                    owner,
                    exact_rows(fitted, stand_in),
                    self._folds,
                    informed=informed,
                )
            ),
        )

    def _once(self, key: object, make: Callable[[], Made]) -> Made:
        if key not in self._made:
            self._made[key] = make()
        return cast(Made, self._made[key])


def _key(plain: Any) -> str:
    """Return plain data as a text that tells it from other data."""
    return plain.model_dump_json()


def _unknown(parties: Sequence[Party], rows: StandIn) -> tuple[str, ...]:
    """Return the parties that too few rows are of, in halves of the stand-in."""
    if rows.owner is None:
        return ()
    of = [int(np.sum(rows.owner == party.name)) for party in parties]
    if not any(of):
        found = ", ".join(sorted(set(rows.owner.tolist()))[:3])
        raise TreatyError(
            f"`by`: no row of the stand-in is of a party to this treaty; the column has {found}, …: "
            "leave `by` out, or give rows of the parties"
        )
    names = [party.name for party, count in zip(parties, of, strict=True) if count < 2 * FEWEST_OWN]
    return tuple(name for name in names if name not in rows.exact)
