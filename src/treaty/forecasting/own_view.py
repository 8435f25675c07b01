"""The owner's own question, before anybody trains: from its own records, or from public rows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from treaty.adaptation import OwnRecords, alone, in_predictions
from treaty.arrays import FloatArray, IntArray
from treaty.errors import TreatyError, not_a_party
from treaty.evidence import Evidence
from treaty.fitness import RowRisk
from treaty.fitness.threads import on_one_thread
from treaty.gains import (
    WORTHWHILE,
    Audience,
    OwnGain,
    Prospect,
    foreseen_gain,
    imagined_gain,
    levels_of,
    tails_of,
)
from treaty.learners import survey
from treaty.matrices import scores as scores_of
from treaty.models.own_rows import check_own
from treaty.records import Source
from treaty.records.cells import name_of
from treaty.terms import Treaty, encoder_of, fit, plan_of, problem_of
from treaty.terms.reading import class_weights

FEWEST_KNOWN = 20
"""So many public rows of an owner are needed to tell it from the others."""


class _Scene:
    """A treaty and the public rows that its learner has: all that is the same for every owner."""

    def __init__(self, treaty: Treaty, public: Source) -> None:
        self._treaty = fit(treaty, public)
        self.encoder, self.problem = encoder_of(self._treaty), problem_of(self._treaty)
        self.rows, _ = self.encoder.rows(self.problem.fitness_loss, public)
        self.survey = survey(self.problem, self.rows)
        self.plan = plan_of(self._treaty).informed_by(self.survey)
        self.theta = self.survey.tuned.theta
        self.metrics = in_predictions(self.problem, self.rows, self.theta)
        self._tails = tails_of(self.rows, self.theta)

    def names(self, public: Source, by: str) -> np.ndarray[tuple[int], np.dtype[np.object_]]:
        """Return whose each public row is, in the order of the rows."""
        also = self.encoder.judged(self.rows.loss, public, also=(by,)).also
        whose = also.select(name_of(by, also.schema[by])).to_series()
        return np.array(whose.to_list(), dtype=object)

    def rows_at(self, places: IntArray) -> RowRisk:
        """Return some of the public rows."""
        return RowRisk(self.rows.loss, self.rows.x[places], self.rows.y[places])

    def unseen_losses(self) -> FloatArray:
        """Return what the public model costs on every public row, made without that row.

        The rows that a level of errors is read off must not be those that the model was fitted to.
        """
        records = OwnRecords(self.problem, self.rows.x, self.rows.y)
        losses = np.empty(self.rows.n)
        for part in records.parts:
            theta, hidden = alone(records, frozenset({part})).theta, records.rows[part]
            scores = scores_of(records.x[hidden], theta)
            losses[hidden] = self.problem.fitness_loss.value(scores, records.y[hidden])
        return losses

    def prospect(self, name: str, coalition: Sequence[str] | None, seed: int) -> Prospect:
        """Return draws of what an owner would get if it joined a coalition."""
        plan = self.plan
        if coalition is not None:
            plan = plan.with_parties(p for p in plan.parties if p.name in {name, *coalition})
        return Prospect(plan, self.survey, name, seed)

    def audience(self, name: str, next_records: int, worthwhile: float) -> Audience:
        """Return who asks."""
        weights, logistic = class_weights(self._treaty), self._treaty.loss.name == "logistic"
        return Audience(
            name,
            self._treaty.target,
            next_records=next_records,
            probabilities=logistic,
            shift=float(np.log(weights[1] / weights[0])) if weights and logistic else 0.0,
            worthwhile=worthwhile,
            tails=self._tails,
        )


def own_gains(
    treaty: Treaty,
    public: Source,
    own: Mapping[str, Source],
    *,
    coalition: Sequence[str] | None = None,
    worthwhile: float = WORTHWHILE,
    seed: int = 0,
) -> Iterator[OwnGain]:
    """Forecast, for every owner whose records are at hand, what joining does to its own errors.

    Args:
        treaty: the treaty.
        public: the public rows that the learner has.
        own: the very records of parties, by name.
        coalition: who trains, the asking owner in any case; all parties if not given.
        worthwhile: the least share by which an error must fall to matter.
        seed: of the draws.
    """
    scene = _Scene(treaty, public)
    loss = scene.rows.loss
    for name, source in own.items():
        if scene.plan.party(name) is None:
            parties = [party.name for party in scene.plan.parties]
            raise TreatyError(not_a_party("`own`", name, parties))
        judged = scene.encoder.judged(loss, source)
        mine, truth = judged.rows, judged.truth
        check_own(source, mine, labels=loss.labels)
        records = OwnRecords(scene.problem, mine.x, mine.y)
        prospect = scene.prospect(name, coalition, seed)
        audience = scene.audience(name, mine.n, worthwhile)
        with on_one_thread():
            gain = foreseen_gain(audience, records, truth, prospect, scene.theta, scene.metrics)
        yield gain


def imagined_gains(
    treaty: Treaty,
    public: Source,
    by: str,
    *,
    coalition: Sequence[str] | None = None,
    worthwhile: float = WORTHWHILE,
    seed: int = 0,
) -> Iterator[OwnGain]:
    """Forecast the same from public rows alone, for every owner that enough of them are of.

    Args:
        treaty: the treaty.
        public: the public rows that the learner has.
        by: the column that says whose each row is.
        coalition: who trains, the asking owner in any case; all parties if not given.
        worthwhile: the least share by which an error must fall to matter.
        seed: of the draws.
    """
    scene = _Scene(treaty, public)
    names = scene.names(public, by)
    with on_one_thread():
        unseen = scene.unseen_losses()
    places = {party.name: np.flatnonzero(names == party.name) for party in scene.plan.parties}
    places = {name: mine for name, mine in places.items() if len(mine) >= FEWEST_KNOWN}
    levels = levels_of({name: unseen[mine] for name, mine in places.items()}, unseen)
    for party in scene.plan.parties:
        if party.name not in places:
            continue
        rows, level = scene.rows_at(places[party.name]), levels[party.name]
        audience = scene.audience(party.name, party.records, worthwhile)
        prospect = scene.prospect(party.name, coalition, seed)
        with on_one_thread():
            gain = imagined_gain(
                audience,
                scene.problem,
                rows,
                party.records,
                prospect,
                scene.theta,
                scene.metrics,
                level,
            )
        yield gain


def gains_from(
    treaty: Treaty,
    evidence: Evidence,
    *,
    coalition: Sequence[str] | None = None,
    worthwhile: float = WORTHWHILE,
    seed: int = 0,
) -> dict[str, OwnGain]:
    """Return the own gain of every owner that evidence tells enough of, by name.

    Args:
        treaty: the treaty.
        evidence: public rows, with owners' own records or a column of owners beside.
        coalition: who trains, the asking owner in any case; all parties if not given.
        worthwhile: the least share by which an error must fall to matter.
        seed: of the draws.
    """
    public, by, own = evidence.public(treaty), evidence.by, evidence.own(treaty)
    if public is None:
        return {}
    found: Iterable[OwnGain] = ()
    if own:
        found = own_gains(
            treaty, public, own, coalition=coalition, worthwhile=worthwhile, seed=seed
        )
    elif by is not None:
        found = imagined_gains(
            treaty, public, by, coalition=coalition, worthwhile=worthwhile, seed=seed
        )
    return {gain.name: gain for gain in found}
