"""The plan: who is asked what, how often, with how much noise, from where. All of it public."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.fitness import Problem
from treaty.learners import (
    Brief,
    FrequencyScaling,
    Geometry,
    Learner,
    PublicView,
    Survey,
    method_named,
)
from treaty.learners.geometry import Begin, declared_geometry
from treaty.plans.blocs import Bloc, everybody, one_by_one
from treaty.plans.clocks import Timetable
from treaty.plans.party import Party
from treaty.privacy import Budget, Laplace, Mechanism
from treaty.questions import Release

Weights = Literal["records", "precision"]


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything about a training that can be known before it: problem, parties, method, noise.

    Args:
        problem: what is learnt.
        parties: the owners.
        method: the learner's name; see `treaty.learners.METHODS`.
        horizon: T.
        parameters: the method's own numbers (ρ, c₁, σ); defaults are derived from the problem.
        mechanism: the noise.
        weights: "records" weighs owner i by n_i/n; "precision" by 1/(its noise variance), which is
            n_i²ε_i² when all give the same number of answers.
        overlap: κ, in how many datasets one record may sit.
        blocs: owners that answer together, as one fictitious owner (F Remark 2). Owners named in
            no bloc stand alone. Asynchronous learning only; a synchronous learner asks everybody.
        frequency_scaling: whether a gradient is divided by how often its owner talks (F Remark 4):
            "declared" uses the parties' rates, "observed" counts.
        begin: "zero"; "public": at the best model of the public rows; "tuned": at their best model with
            a ridge by cross-validation.
        start: where the learner begins, inside Θ: shape (p,), or (runs, p) for a start of its own each;
            0 if not given. A plan that begins at the public model has to be told what that is.
        geometry: the shape of the problem, from which step sizes follow; that of the declared bounds if
            not given.
        public: what public rows tell about answers at the start, for learners that need it.
    """

    problem: Problem
    parties: tuple[Party, ...]
    method: str
    horizon: int
    parameters: Mapping[str, float] = field(default_factory=dict[str, float])
    mechanism: Mechanism = field(default_factory=Laplace)
    weights: Weights = "records"
    overlap: int = 1
    blocs: tuple[tuple[str, ...], ...] = ()
    frequency_scaling: FrequencyScaling = "off"
    begin: Begin = "zero"
    start: FloatArray | None = None
    geometry: Geometry | None = None
    public: PublicView | None = None

    def __post_init__(self) -> None:
        names = [party.name for party in self.parties]
        if not names:
            raise TreatyError("a plan needs at least one party")
        if len(set(names)) < len(names):
            twice = sorted({name for name in names if names.count(name) > 1})
            raise TreatyError(f"two parties are called {', '.join(twice)}")
        if self.horizon < 1:
            raise TreatyError(f"the horizon must be at least 1, not {self.horizon}")
        if not 1 <= self.overlap <= len(names):
            raise TreatyError(
                f"a record cannot sit in {self.overlap} of {len(names)} datasets: "
                f"overlap must be between 1 and {len(names)}"
            )
        seated = [name for bloc in self.blocs for name in bloc]
        for name in seated:
            if name not in names:
                raise TreatyError(f"a bloc names {name}, who is not a party")
            if seated.count(name) > 1:
                raise TreatyError(f"{name} sits in two blocs")
        for party in self.parties:
            self.mechanism.check(party.budget)
        # A clip that names no norm is one in the norm of the mechanism, whichever that is.
        object.__setattr__(self, "problem", self.problem.under_norm(self.mechanism.norm))

    def answers(self, party: Party) -> int:
        """Return how many answers a party gives at most."""
        return self.horizon if party.answers is None else min(party.answers, self.horizon)

    def budget(self, party: Party) -> Budget:
        """Return what its answers may spend: its budget, divided by the overlap κ."""
        return party.budget if self.overlap == 1 else party.budget.split(self.overlap)

    @property
    def learner_class(self) -> type[Learner]:
        """The class of its learner."""
        return method_named(self.method)

    @property
    def synchronous(self) -> bool:
        """Whether everybody is asked in every round."""
        return self.learner_class.synchronous

    def release(self, party: Party, budget: Budget | None = None) -> Release:
        """Return what a party's answers release.

        Args:
            party: the owner.
            budget: what its answers may spend, if that is not what the plan says.
        """
        return Release(
            self.learner_class.asks,
            self.problem,
            party.records,
            budget or self.budget(party),
            self.answers(party),
            self.mechanism,
        )

    @cached_property
    def releases(self) -> tuple[Release, ...]:
        """What every party's answers release."""
        return tuple(self.release(party) for party in self.parties)

    @cached_property
    def scales(self) -> FloatArray:
        """The noise scale of every party: b_i = 2ΞT_iκ/(n_iε_i) for gradients with Laplace noise."""
        return np.array([release.scale for release in self.releases])

    @cached_property
    def variances(self) -> FloatArray:
        """E‖w‖² of the noise in every party's answer."""
        return np.array([release.variance for release in self.releases])

    @cached_property
    def shares(self) -> FloatArray:
        """The weight of every party in the learner's gradient; they sum to 1."""
        records = np.array([float(party.records) for party in self.parties])
        if self.weights == "records":
            return records / records.sum()
        exact = self.scales == 0
        if exact.any():
            # The limit of the formula: noiseless owners take it all, each by its records.
            return np.where(exact, records, 0.0) / records[exact].sum()
        precision = self.scales**-2.0
        return precision / precision.sum()

    @cached_property
    def blocs_met(self) -> tuple[Bloc, ...]:
        """The blocs that its learner meets: everybody, or one at a time."""
        if self.synchronous:
            return (everybody(self.shares),)
        return one_by_one([party.name for party in self.parties], self.shares, self.blocs)

    @property
    def timetables(self) -> tuple[Timetable, ...]:
        """When the clock of each of these blocs runs."""
        members = [[self.parties[i] for i in bloc.members] for bloc in self.blocs_met]
        return tuple(Timetable.of(some, [self.answers(p) for p in some]) for some in members)

    @property
    def total(self) -> int:
        """n, everybody's records."""
        return sum(party.records for party in self.parties)

    def party(self, name: str) -> Party | None:
        """Return the party of that name, if there is one."""
        return next((party for party in self.parties if party.name == name), None)

    def with_parties(self, parties: Iterable[Party]) -> "Plan":
        """Return the same plan among other parties."""
        return replace(self, parties=tuple(parties))

    def with_budgets(self, budget: Callable[[Party], Budget]) -> "Plan":
        """Return the same plan with other budgets: `budget` says which, for every party."""
        return self.with_parties(replace(party, budget=budget(party)) for party in self.parties)

    def silent(self) -> "Plan":
        """Return the same plan without any noise, for simulations."""
        return self.with_budgets(lambda party: Budget(math.inf))

    def informed_by(self, public: Survey) -> "Plan":
        """Return the plan as a learner with public rows follows it: start, geometry, what they tell."""
        start = self.start
        if self.begin != "zero":
            start = self.problem.project(public.model(self.begin).theta)
        at = np.zeros(self.problem.dimension) if start is None else np.atleast_2d(start)[0]
        view = None
        if self.learner_class.needs_public_rows and self.begin != "zero":
            view = public.view(self.begin)
        return replace(self, start=start, geometry=public.geometry(at), public=view)

    def with_steps(self) -> "Plan":
        """Return the plan with the step sizes written down that its learner derives."""
        return replace(self, parameters={**self.parameters, **self.learner().step_sizes})

    def learner(self, runs: int | None = None) -> Learner:
        """Return its learner, ready to ask its first question.

        Args:
            runs: how many runs to learn at once, as a leading axis; None for one run without it.
        """
        if self.begin != "zero" and self.start is None:
            raise TreatyError(
                "training.start: to start from the public model, public rows are needed"
            )
        zero = np.zeros(self.problem.dimension)
        start = zero if self.start is None else self.problem.project(self.start)
        blocs = self.blocs_met
        rates = np.array([timetable.rate for timetable in self.timetables])
        return self.learner_class(
            Brief(
                problem=self.problem,
                horizon=self.horizon,
                parameters=self.parameters,
                geometry=self.geometry or declared_geometry(self.problem, np.atleast_2d(start)[0]),
                weights=np.array([bloc.weight for bloc in blocs]),
                noises=np.array(
                    [float(b.shares**2 @ self.variances[list(b.members)]) for b in blocs]
                ),
                frequencies=rates / rates.sum(),
                frequency_scaling=self.frequency_scaling,
                start=start,
                records=self.total,
                public=self.public,
                runs=runs,
            )
        )
