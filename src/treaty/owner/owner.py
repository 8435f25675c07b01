"""An owner: holds records, answers a query within its budget, or refuses."""

import math

import numpy as np

from treaty.errors import Refusal, TreatyError
from treaty.fitness import Risk
from treaty.limits import LARGEST
from treaty.owner.query import Query
from treaty.plans import Plan
from treaty.privacy import Entry, Grant, Ledger
from treaty.questions import Release


class Owner:
    """Answers questions under one treaty; everything else is refused and costs nothing.

    The sensitivity holds for every θ in Θ, whatever the learner asks; the noise follows from it,
    the granted budget and the number of answers, never from the query.

    Args:
        name: who this is in the treaty.
        treaty: the fingerprint it has ratified.
        plan: what that treaty comes to.
        risk: its records, already clamped into the public domain.
        ledger: where it keeps what it has granted and answered. The noise follows from the grant.
    """

    def __init__(self, name: str, *, treaty: str, plan: Plan, risk: Risk, ledger: Ledger) -> None:
        problem, question = plan.problem, plan.learner_class.asks
        if risk.dimension != problem.dimension:
            raise TreatyError(
                f"{name}'s records have {risk.dimension} columns, the problem {problem.dimension}"
            )
        grant = ledger.granted(treaty)
        if grant is None:
            raise Refusal(f"{name} has granted no budget to treaty {treaty[:12]}")
        self.name = name
        self.treaty = treaty
        self.horizon = plan.horizon
        self._problem = problem
        self._question = question
        self._risk = question.guarded(risk, problem, plan.mechanism.norm)
        self._ledger = ledger
        self.release = Release(
            question, problem, risk.n, grant.budget, grant.answers, plan.mechanism
        )
        self.scale = self.release.scale

    def answer(self, query: Query) -> tuple[float, ...]:
        """Return the noised answer to a question.

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
        elif (entry.question, entry.theta) != (query.question, query.theta):
            raise Refusal(
                f"round {query.round} of run {query.run} has been asked with another theta"
            )
        return entry.answer

    def _fresh(self, query: Query, grant: Grant) -> Entry:
        given = self._ledger.answers_given(query.treaty)
        if given >= grant.answers:
            raise Refusal(
                f"{self.name}'s budget is spent: {given} of {grant.answers} answers given, "
                f"epsilon {grant.budget.epsilon:g} used up"
            )
        release = self.release
        exact = self._question(np.array(query.theta)).exact(self._risk, self._problem)
        noised = exact if self.scale == 0 else release.mechanism.release(exact, self.scale)
        answer = tuple(float(value) for value in noised)
        entry = Entry(
            query.treaty, query.run, query.round, query.theta, answer, release.event, query.question
        )
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
        if query.question != self._question.name:
            raise Refusal(
                f"the treaty's learner asks for {self._question.name}, not for {query.question}"
            )
        wanted = self._question.arguments(self._problem)
        if len(theta) != wanted:
            raise Refusal(f"theta has {len(theta)} coordinates, the treaty says {wanted}")
        if not all(isinstance(value, float) and math.isfinite(value) for value in theta):
            raise Refusal("theta has a coordinate that is not a finite number")
        largest = max((abs(value) for value in theta), default=0.0)
        most = min(self._problem.theta_max, LARGEST)
        if largest > most:
            raise Refusal(
                f"theta lies outside Θ: a coordinate of size {largest:g}, "
                f"at most {most:g} is allowed"
            )
