"""Training with every owner in this process: live noise, real budgets, a ledger for each owner."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from rich.console import Group

from treaty.arrays import FloatArray
from treaty.fitness import Yardstick, best_constant, model_alone, yardstick
from treaty.gains import OwnGain, adapt_model
from treaty.models import Model
from treaty.models.own_rows import FEWEST
from treaty.owner import Owner, Query
from treaty.plans import NOBODY, Driver, Plan, PoissonClocks, peer_plans
from treaty.privacy import Grant, MemoryLedger, epsilon_spent
from treaty.terms import fingerprint
from treaty.training.assembly import Assembly
from treaty.training.table import render
from treaty.views import Shown

Tick = Callable[[int, int], None]


@dataclass(frozen=True)
class Standing:
    """A model and its relative fitness ψ over all owners' records."""

    name: str
    psi: float


@dataclass(frozen=True, eq=False, repr=False)
class Training(Shown):
    """What a training came to.

    ψ and everything compared here is computed from the records themselves, without noise: it is
    for whoever holds all of them, in an experiment, and must not be published.

    Args:
        model: the trained model.
        together: ψ of the trained model.
        alone: ψ of each owner's own model.
        public_only: ψ of the model of the public rows, tuned or not, whichever is better, if there are
            any.
        nothing: ψ of the best constant.
        best: f(θ*), without privacy.
        spent: the ε that each owner's answers come to, at the δ of its budget; infinite without noise.
        answers: how many answers each owner has given.
        parameters: the learner's step sizes, given or derived.
        assembly: what it was trained on.
        pooled: the best model of all records in one place, without privacy.
    """

    model: Model
    together: float
    alone: dict[str, float]
    public_only: float | None
    nothing: float
    best: float
    spent: dict[str, float]
    answers: dict[str, int]
    parameters: dict[str, float]
    assembly: Assembly
    pooled: FloatArray

    @cached_property
    def owners(self) -> dict[str, OwnGain]:
        """What training together does to each owner's predictions of its own records, in its own unit.

        Each record is judged by own models that never saw it; the shared model has seen it, through
        noise. Owners with fewer than 20 records are left out.
        """
        return own_gains_with(self.model, self.assembly, self.pooled)

    def rendered(self) -> Group:
        """Return it as something Rich prints."""
        return render(self)

    def __repr__(self) -> str:
        return f"Training({self.model.target.column}, ψ together {self.together:.3g})"

    def standings(self) -> list[Standing]:
        """Return every model compared, best first."""
        rows = [Standing("together, private", self.together), Standing("nothing", self.nothing)]
        rows += [Standing(f"{name} alone", psi) for name, psi in self.alone.items()]
        if self.public_only is not None:
            rows.append(Standing("public only", self.public_only))
        return sorted(rows, key=lambda row: row.psi)


def own_gains_with(model: Model, assembly: Assembly, pooled: FloatArray) -> dict[str, OwnGain]:
    """Return what a shared model does to each owner's predictions of its own records, by name.

    Args:
        model: the shared model.
        assembly: the owners' records, and public rows.
        pooled: the best model of all records in one place, without privacy.
    """
    public = assembly.public_source
    theta = None if public is None else model.reader.public_model(public)
    return {
        party.name: adapt_model(
            model,
            assembly.sources[party.name],
            public,
            name=party.name,
            ceiling=pooled,
            public_theta=theta,
        ).gain
        for party in assembly.plan.parties
        if party.records >= FEWEST
    }


def train(assembly: Assembly, *, progress: Tick | None = None) -> Training:
    """Train once under a treaty, with every owner in this process, and compare.

    Example:
        assembly = treaty.assemble(treaty.load("treaty.toml"), sources, public)
        report = treaty.train(assembly)
        report.model.to_sklearn().predict(frame)
    """
    stick = yardstick(assembly.plan.problem, assembly.risks)
    return _trained(assembly, assembly.plan, fingerprint(assembly.treaty), stick, progress)


def train_peers(assembly: Assembly, *, progress: Tick | None = None) -> dict[str, Training]:
    """Train one model for every owner, each the learner of its own (W §V).

    Every owner splits its budget over all the trainings; see `treaty.learners.peer_plans`.

    Args:
        assembly: the treaty and its records.
        progress: called with (round, rounds) now and then.
    """
    stick = yardstick(assembly.plan.problem, assembly.risks)
    own = fingerprint(assembly.treaty)
    return {
        learner: _trained(assembly, plan, f"{own}/{learner}", stick, progress)
        for learner, plan in peer_plans(assembly.plan).items()
    }


def _trained(
    assembly: Assembly, plan: Plan, treaty: str, stick: Yardstick, progress: Tick | None
) -> Training:
    run = _run(assembly, plan, treaty, progress)
    theta, ledgers = run.theta, run.ledgers
    problem = plan.problem

    def psi(theta: FloatArray) -> float:
        return float(stick.relative(theta))

    spent = {name: epsilon_spent(ledger, treaty) for name, ledger in ledgers.items()}
    answers = {name: ledger.answers_given(treaty) for name, ledger in ledgers.items()}
    return Training(
        model=assembly.model(theta, spent, answers),
        together=psi(theta),
        alone={name: psi(model_alone(problem, r)) for name, r in assembly.risks.items()},
        public_only=assembly.psi_public_only(stick),
        nothing=psi(best_constant(problem, stick.union)),
        best=stick.best.value,
        spent=spent,
        answers=answers,
        parameters=run.step_sizes,
        assembly=assembly,
        pooled=stick.best.theta,
    )


def rivals_of(assembly: Assembly, stick: Yardstick) -> dict[str, float]:
    """Return ψ of what there is without training together, by what it is called."""
    problem = assembly.plan.problem
    public = assembly.psi_public_only(stick)
    found = {} if public is None else {"the public rows only": public}
    found["a constant guess"] = float(stick.relative(best_constant(problem, stick.union)))
    alone = [float(stick.relative(model_alone(problem, r))) for r in assembly.risks.values()]
    return {**found, "one owner's own model, median": float(np.median(alone))}


@dataclass(frozen=True, eq=False)
class _Run:
    """One training, before anything is compared: the model, every owner's ledger, the step sizes."""

    theta: FloatArray
    ledgers: dict[str, MemoryLedger]
    step_sizes: dict[str, float]


def _run(assembly: Assembly, plan: Plan, treaty: str, progress: Tick | None = None) -> _Run:
    """Ask every owner, each with a ledger of its own, until the learner is finished."""
    ledgers = {
        party.name: MemoryLedger(Grant(treaty, plan.budget(party), plan.answers(party)))
        for party in plan.parties
    }
    owners = [
        Owner(
            party.name,
            treaty=treaty,
            plan=plan,
            risk=assembly.risks[party.name],
            ledger=ledgers[party.name],
        )
        for party in plan.parties
    ]
    driver = Driver(plan)
    theta = drive(driver, owners, treaty, progress)
    return _Run(theta, ledgers, driver.learner.step_sizes)


def train_only(assembly: Assembly) -> tuple[Model, dict[str, float]]:
    """Train once and compare with nothing: return the model, and the ε that each owner has spent."""
    treaty = fingerprint(assembly.treaty)
    run = _run(assembly, assembly.plan, treaty)
    spent = {name: epsilon_spent(each, treaty) for name, each in run.ledgers.items()}
    answers = {name: each.answers_given(treaty) for name, each in run.ledgers.items()}
    return assembly.model(run.theta, spent, answers), spent


def drive(
    driver: Driver, owners: Sequence[Owner], treaty: str, progress: Tick | None = None
) -> FloatArray:
    """Let a learner ask owners in this process until it is finished; return its model.

    Args:
        driver: of the plan, without a run axis.
        owners: one for each of the plan's parties, in order.
        treaty: the fingerprint under which it asks.
        progress: called with (round, rounds) after every round.
    """
    run = secrets.token_hex(8)
    plan = driver.plan
    clocks = PoissonClocks(plan.timetables, np.random.default_rng(), 1)
    for number in driver.rounds():
        bloc = 0 if plan.synchronous else int(clocks.next()[0])
        if bloc == NOBODY:
            break
        query = Query.of(treaty, run, number, driver.ask(bloc))
        driver.tell(bloc, {i: owners[i].answer(query) for i in driver.blocs[bloc].members})
        if progress is not None:
            progress(number, driver.learner.rounds)
    return driver.model
