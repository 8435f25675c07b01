import math
from dataclasses import replace

import joblib
import numpy as np
import pytest

from problems import LOSSES, plan, problem, risks
from treaty.errors import TreatyError
from treaty.fitness import RowRisk, yardstick
from treaty.learners import METHODS, survey
from treaty.losses import Clipped, Hinge, Squared
from treaty.owner import Owner
from treaty.plans import Driver, Party, Plan
from treaty.privacy import Budget, Gaussian, Grant, Laplace, MemoryLedger
from treaty.questions import MeanGradient
from treaty.simulation import simulate, sweep
from treaty.simulation.answers import SimulatedNoise, SimulatedRecords
from treaty.training import drive


@pytest.mark.parametrize("method", METHODS)
def test_seeds_are_reproducible_and_matter(method):
    shared, data = plan(Squared(), method), risks(Squared())
    first, again, other = (simulate(shared, data, runs=5, seed=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(first.models, again.models)
    assert np.all(first.models != other.models)
    assert len(set(first.final)) == 5


@pytest.mark.parametrize("method", METHODS)
def test_simulation_agrees_with_live_training(method):
    """The same plan with OpenDP's noise, owner by owner: means within their error, same spread."""
    shared = plan(Squared(), method, horizon=6, epsilon=8.0)
    data = risks(Squared())
    simulated = simulate(shared, data, runs=4000, seed=3)
    stick = simulated.yardstick
    live = []
    for _ in range(150):
        owners = [
            Owner(
                party.name,
                treaty="t",
                plan=shared,
                risk=data[party.name],
                ledger=MemoryLedger(Grant("t", shared.budget(party), shared.answers(party))),
            )
            for party in shared.parties
        ]
        model = drive(Driver(shared), owners, "t")
        live.append(float(stick.relative(model)))
    error = simulated.final.std() / math.sqrt(len(live))
    assert np.mean(live) == pytest.approx(simulated.mean, abs=5 * error)
    assert np.median(live) == pytest.approx(np.median(simulated.final), rel=0.35)


@pytest.mark.parametrize("method", METHODS)
def test_moments_and_rows_give_the_same_runs(method):
    shared, data = plan(Squared(), method, horizon=8), risks(Squared())

    class Held(Squared):
        sufficient_statistics = False

    from problems import rows

    held = {f"owner {i}": RowRisk(Held(), *rows(200, 4, seed=i)) for i in range(3)}
    by_moments = simulate(shared, data, runs=4, seed=1)
    by_rows = simulate(shared, held, runs=4, seed=1)
    np.testing.assert_allclose(by_moments.models, by_rows.models, atol=1e-10)


@pytest.mark.parametrize("owners", [2, 40])
def test_many_owners_through_either_product(owners):
    """Stacked and gathered matrices give what each owner's own gradient gives."""
    shared = plan(Squared(), "one-at-a-time", owners=owners, n=20)
    data = risks(Squared(), owners=owners, n=20)
    records = SimulatedRecords(shared, data)
    random = np.random.default_rng(0)
    bloc, theta = random.integers(owners, size=9), random.standard_normal((9, 4))
    expected = [data[f"owner {b}"].gradient(t) for b, t in zip(bloc, theta, strict=True)]
    np.testing.assert_allclose(records.exact(bloc, MeanGradient(theta)), expected, atol=1e-12)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_rows_are_asked_bloc_by_bloc(loss):
    chosen = LOSSES[loss]
    shared = plan(chosen, "one-at-a-time", blocs=(("owner 0", "owner 2"),))
    data = risks(chosen)
    theta = np.random.default_rng(0).standard_normal((6, 4))
    answer = SimulatedRecords(shared, data).exact(np.array([0, 1, 1, 0, 1, 0]), MeanGradient(theta))
    both = 0.5 * (data["owner 0"].gradient(theta) + data["owner 2"].gradient(theta))
    np.testing.assert_allclose(answer[[0, 3, 5]], both[[0, 3, 5]], atol=1e-12)
    np.testing.assert_allclose(answer[[1, 2, 4]], data["owner 1"].gradient(theta)[[1, 2, 4]])


@pytest.mark.parametrize("mechanism", [Laplace(), Gaussian()], ids=["laplace", "gaussian"])
def test_noise_of_a_bloc_has_the_variance_of_its_members(mechanism):
    """Var = Σ share_i² · variance(scale_i), for blocs of one and of two, of unequal owners."""
    parties = (
        Party("a", 100, Budget(1.0, 1e-6)),
        Party("b", 300, Budget(0.5, 1e-6)),
        Party("c", 50, Budget(2.0, 1e-6)),
    )
    shared = Plan(
        problem(Squared()),
        parties,
        "one-at-a-time",
        10,
        mechanism=mechanism,
        blocs=(("a", "b"),),
    )
    blocs = shared.blocs_met
    noise = SimulatedNoise(shared, np.random.default_rng(0), 5000)
    for index, bloc in enumerate(blocs):
        drawn = noise.next(np.full(5000, index))
        variance = sum(
            share**2 * mechanism.variance(shared.scales[i], 1)
            for share, i in zip(bloc.shares, bloc.members, strict=True)
        )
        assert drawn.shape == (5000, 4)
        assert drawn.var() == pytest.approx(variance, rel=0.1)
        assert abs(drawn.mean()) < 5 * math.sqrt(variance / drawn.size)


def test_common_random_numbers():
    """Under one seed twice the budget is exactly half the noise."""
    shared = plan(Squared(), "shrinking-steps", horizon=2)
    data = risks(Squared())
    free = simulate(replace(shared, parties=_at(shared, math.inf)), data, runs=3).models
    one = simulate(replace(shared, parties=_at(shared, 100.0)), data, runs=3).models
    two = simulate(replace(shared, parties=_at(shared, 200.0)), data, runs=3).models
    np.testing.assert_allclose(one - free, 2 * (two - free), rtol=1e-6, atol=1e-12)


def _at(shared: Plan, epsilon: float) -> tuple[Party, ...]:
    return tuple(replace(party, budget=Budget(epsilon)) for party in shared.parties)


def test_recorded_rounds():
    shared, data = plan(Squared(), "averaged-subgradient", horizon=9), risks(Squared())
    every = simulate(shared, data, runs=6, record="every")
    assert every.rounds.tolist() == list(range(1, 9))
    assert every.psi.shape == (8, 6)
    some = simulate(shared, data, runs=6, record=[0, 3])
    assert some.rounds.tolist() == [0, 3, 8]
    np.testing.assert_allclose(some.psi[1:], every.psi[[2, 7]])
    np.testing.assert_allclose(simulate(shared, data, runs=6).final, every.final)
    low, middle, high = every.percentiles(25, 50, 75)
    assert np.all(low <= middle)
    assert np.all(middle <= high)
    with pytest.raises(TreatyError, match="between 0 and 8"):
        simulate(shared, data, runs=6, record=[9])


def test_a_horizon_of_one_asks_nothing_of_synchronous_owners():
    """W's loops run to T − 1, so the model stays where it began."""
    shared, data = plan(Squared(), "shrinking-steps", horizon=1), risks(Squared())
    result = simulate(shared, data, runs=2, record="every")
    np.testing.assert_array_equal(result.models, 0.0)
    assert result.rounds.tolist() == [0]


def test_caps_end_a_run_early_and_keep_its_model():
    parties = tuple(Party(f"owner {i}", 200, Budget(5.0), answers=2) for i in range(3))
    shared = replace(plan(Squared(), "one-at-a-time", horizon=50), parties=parties)
    result = simulate(shared, risks(Squared()), runs=7, record="every")
    np.testing.assert_array_equal(result.psi[5:], np.tile(result.psi[5], (45, 1)))
    assert len(set(result.final)) == 7


def test_caps_mean_less_noise_and_better_models():
    """Theory §5.4: owners that give T/N answers need N times less noise."""
    free = plan(Squared(), "one-at-a-time", horizon=60, owners=6, epsilon=2.0, n=500)
    capped = replace(free, parties=tuple(replace(p, answers=15) for p in free.parties))
    np.testing.assert_allclose(free.scales / capped.scales, 4.0)
    data = risks(Squared(), owners=6, n=500)
    public = survey(free.problem, data["owner 0"])
    assert (
        simulate(capped.informed_by(public), data).mean
        < simulate(free.informed_by(public), data).mean
    )


def test_missing_records_and_no_runs():
    shared, data = plan(Squared(), "shrinking-steps"), risks(Squared())
    with pytest.raises(TreatyError, match="no records for owner 2"):
        simulate(shared, {k: v for k, v in data.items() if k != "owner 2"})
    with pytest.raises(TreatyError, match="at least 1 run"):
        simulate(shared, data, runs=0)


def test_progress_is_told():
    told = []
    simulate(
        plan(Squared(), "one-at-a-time", horizon=120),
        risks(Squared()),
        runs=2,
        progress=lambda done, total: told.append((done, total)),
    )
    assert told == [(50, 120), (100, 120), (120, 120)]


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_a_sweep_equals_its_simulations_on_any_backend(backend):
    loss = Clipped(Hinge(), 0.5, "l1")
    data = risks(loss, n=50)
    plans = [plan(loss, "averaged-subgradient", epsilon=e, n=50) for e in (0.5, 5.0)]
    with joblib.parallel_config(backend=backend):
        swept = sweep(plans, data, runs=3, seed=4, jobs=2)
    stick = yardstick(plans[0].problem, data)
    for shared, result in zip(plans, swept, strict=True):
        alone = simulate(shared, data, runs=3, seed=4, measured_with=stick)
        np.testing.assert_allclose(result.final, alone.final, rtol=1e-9)
