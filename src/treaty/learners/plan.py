"""The plan: who is asked, how often, with how much noise. All of it public."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.fitness import Problem
from treaty.privacy import Budget, Laplace, Mechanism, sensitivity

Weights = Literal["records", "precision"]
FrequencyScaling = Literal["off", "declared", "observed"]


@dataclass(frozen=True)
class Party:
    """An owner as the others know it.

    Args:
        name: its name.
        records: n_i.
        budget: (ε_i, δ_i), over the whole training.
        answers: T_i, how many answers it gives at most; the horizon if not given. An owner that
            enforces a smaller cap needs proportionally less noise.
        rate: how often its clock ticks, relative to the others (asynchronous learning only).
        away: intervals of clock time during which it does not answer (asynchronous only). An owner
            of rate 1 ticks about once per unit of time.
    """

    name: str
    records: int
    budget: Budget
    answers: int | None = None
    rate: float = 1.0
    away: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        if self.records < 1:
            raise TreatyError(f"{self.name} has no records")
        if self.answers is not None and self.answers < 1:
            raise TreatyError(f"{self.name} must give at least 1 answer, not {self.answers}")
        if not (self.rate > 0 and math.isfinite(self.rate)):
            raise TreatyError(f"{self.name}'s rate must be a positive number, not {self.rate}")
        for leaves, returns in self.away:
            if not 0 <= leaves < returns:
                raise TreatyError(f"{self.name} cannot be away from {leaves:g} to {returns:g}")


@dataclass(frozen=True)
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

    def answers(self, party: Party) -> int:
        """Return how many answers a party gives at most."""
        return self.horizon if party.answers is None else min(party.answers, self.horizon)

    def budget(self, party: Party) -> Budget:
        """Return what its answers may spend: its budget, divided by the overlap κ."""
        return party.budget if self.overlap == 1 else party.budget.split(self.overlap)

    def scale(self, party: Party, budget: Budget | None = None) -> float:
        """Return the noise scale of a party's answers: b_i = 2ΞT_iκ/(n_iε_i) for Laplace noise.

        Args:
            party: the owner.
            budget: what its answers may spend, if that is not what the plan says.
        """
        bound = self.problem.gradient_bound(self.mechanism.norm)
        moved = sensitivity(bound, party.records, self.problem.dimension)
        return self.mechanism.scale(moved, budget or self.budget(party), self.answers(party))

    @cached_property
    def scales(self) -> FloatArray:
        """The noise scale of every party."""
        return np.array([self.scale(party) for party in self.parties])

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

    def with_parties(self, parties: tuple[Party, ...]) -> "Plan":
        """Return the same plan among other parties."""
        return replace(self, parties=parties)
