"""An owner: holds records, answers a query within its budget, or refuses."""

import math

import numpy as np

from treaty.errors import Refusal, TreatyError
from treaty.fitness import Problem, Risk
from treaty.owner.query import Answer, Query
from treaty.privacy import Entry, Grant, Ledger, Mechanism, sensitivity

SMALLEST_SENSITIVITY = 1e-200
"""Below this, products of small numbers vanish and a sensitivity may be understated."""
LARGEST_SCORE = 1e100
"""No θ is answered whose scores could be larger: products of scores must not overflow."""


class Owner:
    """Answers gradient queries under one treaty; everything else is refused and costs nothing.

    The sensitivity holds for every θ in Θ, whatever the learner asks; the noise follows from it,
    the granted budget and the number of answers, never from the query.

    Args:
        name: who this is in the treaty.
        treaty: the fingerprint it has ratified.
        problem: the learning problem of that treaty.
        risk: its records, already clamped into the public domain.
        horizon: the largest round it will be asked.
        mechanism: the noise.
        ledger: where it keeps what it has granted and answered. The noise follows from the grant.
    """

    def __init__(
        self,
        name: str,
        *,
        treaty: str,
        problem: Problem,
        risk: Risk,
        horizon: int,
        mechanism: Mechanism,
        ledger: Ledger,
    ) -> None:
        if risk.dimension != problem.dimension:
            raise TreatyError(
                f"{name}'s records have {risk.dimension} columns, the problem {problem.dimension}"
            )
        self.name = name
        self.treaty = treaty
        self.horizon = horizon
        self._problem = problem
        self._risk = risk
        self._mechanism = mechanism
        self._ledger = ledger
        moved = sensitivity(problem.gradient_bound(mechanism.norm), risk.n, problem.dimension)
        grant = ledger.granted(treaty)
        if grant is None:
            raise Refusal(f"{name} has granted no budget to treaty {treaty[:12]}")
        if not moved >= SMALLEST_SENSITIVITY:
            raise TreatyError(f"a sensitivity of {moved:g} is too small to compute with")
        self.scale = mechanism.scale(moved, grant.budget, grant.answers)
        if not self.scale > 0 and not grant.budget.unlimited:
            raise TreatyError("the noise came out as 0")
        self._event = mechanism.event(self.scale / moved)

    def answer(self, query: Query) -> Answer:
        """Return the noised mean gradient at the query's θ.

        A question already answered gets the stored answer, to the last bit.

        Raises:
            Refusal: the query is not one this owner answers. Nothing is spent.
        """
        self._check(query)
        grant = self._ledger.granted(query.treaty)
        if grant is None or grant.revoked:
            raise Refusal(f"{self.name} has revoked treaty {query.treaty[:12]}")
        entry = self._ledger.entry(query.treaty, query.run, query.round)
        if entry is None:
            entry = self._fresh(query, grant)
        elif entry.theta != query.theta:
            raise Refusal(
                f"round {query.round} of run {query.run} has been asked with another theta"
            )
        return Answer(self.name, query.run, query.round, entry.answer)

    def _fresh(self, query: Query, grant: Grant) -> Entry:
        given = self._ledger.answers_given(query.treaty)
        if given >= grant.answers:
            raise Refusal(
                f"{self.name}'s budget is spent: {given} of {grant.answers} answers given, "
                f"epsilon {grant.budget.epsilon:g} used up"
            )
        exact = self._risk.gradient(np.array(query.theta))
        noised = exact if self.scale == 0 else self._mechanism.release(exact, self.scale)
        answer = tuple(float(value) for value in noised)
        entry = Entry(query.treaty, query.run, query.round, query.theta, answer, self._event)
        return self._ledger.write(entry)

    def _check(self, query: Query) -> None:
        theta = query.theta
        if query.treaty != self.treaty:
            raise Refusal(
                f"{self.name} has not ratified treaty {query.treaty[:12]}; "
                f"it answers under {self.treaty[:12]}"
            )
        if not 1 <= query.round <= self.horizon:
            raise Refusal(f"round {query.round} lies outside the horizon 1..{self.horizon}")
        if len(theta) != self._problem.dimension:
            raise Refusal(
                f"theta has {len(theta)} coordinates, the treaty says {self._problem.dimension}"
            )
        if not all(isinstance(value, float) and math.isfinite(value) for value in theta):
            raise Refusal("theta has a coordinate that is not a finite number")
        largest = max(abs(value) for value in theta)
        if largest * self._problem.domain.l1 > LARGEST_SCORE:
            # Beyond this a score may overflow for one record and not for another.
            raise Refusal(f"theta is too large to compute with: a coordinate of size {largest:g}")
        if largest > self._problem.theta_max:
            raise Refusal(
                f"theta lies outside Θ: a coordinate of size {largest:g}, "
                f"at most {self._problem.theta_max:g} is allowed"
            )
