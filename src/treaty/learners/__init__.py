"""Learners: what to ask next, what to do with the answers. No I/O."""

import numpy as np

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.fitness import Risk
from treaty.learners.averaged_subgradient import AveragedSubgradient as AveragedSubgradient
from treaty.learners.blocs import Bloc as Bloc
from treaty.learners.blocs import blocs_of as blocs_of
from treaty.learners.clocks import PoissonClocks as PoissonClocks
from treaty.learners.clocks import Timetable as Timetable
from treaty.learners.geometry import Geometry as Geometry
from treaty.learners.geometry import declared_geometry, public_geometry
from treaty.learners.learner import Learner as Learner
from treaty.learners.learner import Setting as Setting
from treaty.learners.one_at_a_time import OneAtATime as OneAtATime
from treaty.learners.peers import peer_plans as peer_plans
from treaty.learners.plan import Party as Party
from treaty.learners.plan import Plan as Plan
from treaty.learners.shrinking_steps import ShrinkingSteps as ShrinkingSteps

METHODS: dict[str, type[Learner]] = {
    learner.name: learner for learner in (ShrinkingSteps, AveragedSubgradient, OneAtATime)
}


def method_named(name: str) -> type[Learner]:
    """Return the learner called `name`."""
    if name not in METHODS:
        raise TreatyError(f'no method is called "{name}"; there are {", ".join(METHODS)}')
    return METHODS[name]


def learner_for(
    plan: Plan,
    *,
    public: Risk | None = None,
    start: FloatArray | None = None,
    runs: int | None = None,
) -> Learner:
    """Return the learner of a plan, ready to ask its first question.

    Args:
        plan: the plan.
        public: public rows, from which step sizes are derived; else from the declared bounds.
        start: where to begin; 0 if not given. A stack of starts gives every run its own.
        runs: how many runs to learn at once, as a leading axis; None for one run without it.
    """
    kind = method_named(plan.method)
    kind.check(plan.problem)
    begin = np.zeros(plan.problem.dimension) if start is None else plan.problem.project(start)
    geometry = (
        declared_geometry(plan.problem, np.atleast_2d(begin)[0])
        if public is None
        else public_geometry(plan.problem, public, np.atleast_2d(begin)[0])
    )
    blocs = blocs_of(plan, synchronous=kind.synchronous)
    rates = np.array([Timetable.of(plan, bloc).rate for bloc in blocs])
    variances = np.array([plan.mechanism.variance(scale) for scale in plan.scales])
    return kind(
        Setting(
            problem=plan.problem,
            horizon=plan.horizon,
            parameters=plan.parameters,
            geometry=geometry,
            weights=np.array([bloc.weight for bloc in blocs]),
            frequencies=rates / rates.sum(),
            frequency_scaling=plan.frequency_scaling,
            noise=float(plan.problem.dimension * (plan.shares**2 @ variances)),
            start=begin,
            runs=runs,
        )
    )
