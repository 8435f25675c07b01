"""What the demonstration computes."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from treaty.forecasting import Forecast, forecast
from treaty.plans import Party
from treaty.privacy import Budget
from treaty.simulation import simulate
from treaty.studies.flights import write_flights
from treaty.terms import load
from treaty.training import Training, assemble, sources, train

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)


@dataclass(frozen=True, eq=False)
class Story:
    """A forecast, then one real training among airlines, and simulations around it.

    Args:
        forecast: what was expected, from the public rows alone.
        training: the real one, at the treaty's ε.
        simulated: mean ψ of 100 simulated runs of the same treaty.
        by_epsilon: mean ψ of simulated runs at other budgets.
        names: airlines' codes to their sizes as shown.
        records: how many records in all.
        public_rows: how many public rows.
    """

    forecast: Forecast
    training: Training
    simulated: float
    by_epsilon: dict[float, float]
    names: dict[str, str]
    records: int
    public_rows: int

    @property
    def beaten(self) -> int:
        """How many airlines are better off together than alone."""
        return sum(psi > self.training.together for psi in self.training.alone.values())

    def plain(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "records": self.records,
            "public_rows": self.public_rows,
            "forecast": self.forecast.plain(),
            "psi": self.training.together,
            "psi_simulated": self.simulated,
            "psi_by_epsilon": {str(epsilon): psi for epsilon, psi in self.by_epsilon.items()},
            "psi_alone": self.training.alone,
            "psi_public_only": self.training.public_only,
            "psi_nothing": self.training.nothing,
            "better_together": self.beaten,
            "owners": {name: gain.plain() for name, gain in self.training.owners.items()},
        }


def tell(folder: Path, progress: Callable[[int, int], None]) -> Story:
    """Forecast from public rows, train once for real, then simulate at several budgets."""
    treaty_path, records, public = write_flights(folder)
    document = load(treaty_path)
    expected = forecast(document, public, by="carrier")
    by_airline = sources(document, data=records, by="carrier")
    assembly = assemble(document, by_airline, public)
    steps = 2 + len(EPSILONS)
    progress(1, steps)
    training = train(assembly)
    # Asked for while the files are there.
    _ = expected.owners, training.owners
    progress(2, steps)
    by_epsilon: dict[float, float] = {}
    for done, epsilon in enumerate(EPSILONS, start=3):
        by_epsilon[epsilon] = simulate(
            assembly.plan.with_budgets(partial(_at, epsilon)), assembly.risks
        ).mean
        progress(done, steps)
    granted = assembly.plan.parties[0].budget.epsilon
    same = next(psi for epsilon, psi in by_epsilon.items() if math.isclose(epsilon, granted))
    return Story(
        expected,
        training,
        same,
        by_epsilon,
        {party.name: f"{party.name} ({party.records:,})" for party in assembly.plan.parties},
        sum(party.records for party in assembly.plan.parties),
        0 if assembly.public is None else assembly.public.risk.n,
    )


def _at(epsilon: float, party: Party) -> Budget:
    return Budget(epsilon, party.budget.delta)
