"""What the demonstration computes."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from treaty.forecasting import Forecast, forecast
from treaty.forecasting.own_view import own_gains
from treaty.gains import OwnGain
from treaty.plans import Party
from treaty.privacy import Budget
from treaty.records import open_source
from treaty.simulation import simulate
from treaty.studies.flights import write_flights
from treaty.terms import load
from treaty.training import Training, assemble, sources, train

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)


@dataclass(frozen=True, eq=False)
class Story:
    """What airports were told before they trained, one real training, and simulations around it.

    Args:
        forecast: what was expected: by the airports, each inside its own walls, of their own flights; by
            the learner, from the public rows alone, of one model over all.
        training: the real one, at the treaty's ε.
        simulated: mean ψ of 100 simulated runs of the same treaty.
        by_epsilon: mean ψ of simulated runs at other budgets.
        records: how many records in all.
        public_rows: how many public rows.
    """

    forecast: Forecast
    training: Training
    simulated: float
    by_epsilon: dict[float, float]
    records: int
    public_rows: int

    @property
    def told(self) -> Mapping[str, OwnGain]:
        """What joining would bring each airport on its own flights, forecast inside its own walls."""
        return self.forecast.owners

    @property
    def measured(self) -> Mapping[str, OwnGain]:
        """What joining brought each airport, those with the largest gains first."""
        found = self.training.owners
        return dict(sorted(found.items(), key=lambda item: -item[1].gain.value))

    @property
    def over_alone(self) -> dict[str, float]:
        """By which share joining lowered the error of each airport's own model, tuned."""
        return {
            name: 1 - gain.adapted.rmse.value / gain.alone.rmse.value
            for name, gain in self.measured.items()
        }

    @property
    def beaten(self) -> int:
        """Over everybody's flights, how many airports' own models are worse than the shared one."""
        return sum(psi > self.training.together for psi in self.training.alone.values())

    def plain(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "records": self.records,
            "public_rows": self.public_rows,
            "owners": {name: gain.plain() for name, gain in self.training.owners.items()},
            "forecast": self.forecast.plain(),
            "psi": self.training.together,
            "psi_simulated": self.simulated,
            "psi_by_epsilon": {str(epsilon): psi for epsilon, psi in self.by_epsilon.items()},
            "psi_alone": self.training.alone,
            "psi_public_only": self.training.public_only,
            "psi_nothing": self.training.nothing,
            "better_together": self.beaten,
        }


def tell(folder: Path, progress: Callable[[int, int], None]) -> Story:
    """Forecast inside every airport's walls and from public rows, train once for real, then simulate."""
    treaty_path, records, public = write_flights(folder)
    document = load(treaty_path)
    by_airport = sources(document, data=records, by="dest")
    steps = len(by_airport) + 3 + len(EPSILONS)
    told: dict[str, OwnGain] = {}
    for gain in own_gains(document, open_source(public), by_airport):
        told[gain.name] = gain
        progress(len(told), steps)
    expected = replace(forecast(document, public, by="dest"), ask_owners=lambda: told)
    progress(len(told) + 1, steps)
    assembly = assemble(document, by_airport, public)
    training = train(assembly)
    progress(len(told) + 2, steps)
    _ = training.owners  # asked for while the files are there
    by_epsilon: dict[float, float] = {}
    for done, epsilon in enumerate(EPSILONS, start=len(told) + 3):
        progress(done, steps)
        plan = assembly.plan.with_budgets(partial(_at, epsilon))
        by_epsilon[epsilon] = simulate(plan, assembly.risks).mean
    progress(steps, steps)
    granted = assembly.plan.parties[0].budget.epsilon
    same = next(psi for epsilon, psi in by_epsilon.items() if math.isclose(epsilon, granted))
    return Story(
        forecast=expected,
        training=training,
        simulated=same,
        by_epsilon=by_epsilon,
        records=assembly.plan.total,
        public_rows=0 if assembly.public is None else assembly.public.risk.n,
    )


def _at(epsilon: float, party: Party) -> Budget:
    return Budget(epsilon, party.budget.delta)
