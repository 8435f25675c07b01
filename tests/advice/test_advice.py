"""Coalitions against exhaustive search, values against their definitions, budgets against a solver."""

import itertools
import math
import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import treaty as t
from treaty.advice.coalition import (
    best_coalition,
    candidates,
    first_in_order,
    leave_one_out,
    shapley,
)
from treaty.advice.targets import beats_alone, priced_budgets, reach
from treaty.advice.worth import Worth, worth_of
from treaty.errors import TreatyError
from treaty.forecasting import outlook_on
from treaty.terms import loads


def _worth(records, epsilons, kappa=1.0, sampling=5.0, optimisation=0.01, **more) -> Worth:
    records, epsilons = np.asarray(records, float), np.asarray(epsilons, float)
    return Worth(
        names=tuple(f"o{i}" for i in range(len(records))),
        records=records,
        noise=kappa / epsilons**2,
        sampling=sampling,
        optimisation=optimisation,
        nothing=1.0,
        luck=0.9,
        **{
            "pulls": np.zeros((len(records), 0)),
            "difference_costs": np.zeros(len(records)),
            **more,
        },
    )


owners = st.lists(st.tuples(st.integers(10, 10**5), st.floats(0.01, 10)), min_size=1, max_size=8)


@given(owners, st.floats(1e-3, 1e7), st.floats(0, 100))
@settings(max_examples=150)
def test_the_best_coalition_is_that_of_exhaustive_search(chosen, kappa, sampling):
    worth = _worth(*zip(*chosen, strict=True), kappa=kappa, sampling=sampling)
    every = np.array(list(itertools.product([0.0, 1.0], repeat=len(chosen)))[1:])
    lowest = float(worth.psi(every).min())
    for search in (best_coalition, first_in_order):
        assert float(worth.psi(search(worth)[None])[0]) == pytest.approx(lowest, rel=1e-9)


@given(owners, st.integers(0, 3), st.booleans(), st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_the_worth_of_a_coalition_by_definition(chosen, columns, precision, seed):
    """ψ from running sums is the formula written out, for any weights and any differences."""
    random = np.random.default_rng(seed)
    count = len(chosen)
    pulls = random.standard_normal((count, columns))
    worth = _worth(*zip(*chosen, strict=True), kappa=10.0, pulls=pulls, precision_weights=precision)
    for members in random.integers(0, 2, (5, count)).astype(float):
        if not members.any():
            assert float(worth.psi(members[None])[0]) == worth.nothing
            continue
        weight = members * (worth.records**2 / worth.noise if precision else worth.records)
        w, s = weight / weight.sum(), worth.records / worth.total
        written = 0.01 + np.sum(w**2 * worth.noise / worth.records**2)
        written += np.sum((w - s) ** 2 * worth.sampling / worth.records)
        written += np.sum(((w - s) @ pulls) ** 2)
        assert float(worth.psi(members[None])[0]) == pytest.approx(written, rel=1e-8)


def test_fewer_records_of_owners_that_are_alike_cost_what_samples_cost():
    worth = _worth([100, 300, 600], [1.0, 1.0, 1.0], kappa=0.0, optimisation=0.0)
    two = np.array([[1.0, 1.0, 0.0]])
    assert float(worth.psi(two)[0]) == pytest.approx(5.0 * (1 / 400 - 1 / 1000))
    assert worth.alone()[0] == pytest.approx(5.0 * (1 / 100 - 1 / 1000))


def test_candidates_hold_whoever_asks_and_are_never_one_owner():
    worth = _worth([1000, 10, 10], [10.0, 0.01, 0.01], kappa=1e3)
    assert best_coalition(worth).tolist() == [1, 0, 0]
    assert all(members.sum() > 1 for members in candidates(worth))
    asks = _worth([1000, 10, 10], [10.0, 0.01, 0.01], kappa=1e3, own={"o2": 0.5})
    assert all(members[2] == 1 for members in candidates(asks))


@given(owners)
def test_adding_an_owner_helps_the_noise_iff_the_formula_says_so(chosen):
    """Theory §6: owner j helps iff 1/ε_j² < S((1 + n_j/n)² − 1)."""
    if len(chosen) < 2:
        return
    worth = _worth(*zip(*chosen, strict=True), sampling=0.0, optimisation=0.0)
    before = np.ones(len(chosen))
    before[-1] = 0.0
    S, n = worth.noise[:-1].sum(), worth.records[:-1].sum()
    helps = worth.noise[-1] < S * ((1 + worth.records[-1] / n) ** 2 - 1)
    with_it, without = worth.psi(np.stack([np.ones(len(chosen)), before]))
    assert (with_it < without) == helps


@given(owners.filter(lambda o: len(o) > 1))
def test_with_precision_weights_nobody_ever_adds_noise(chosen):
    worth = _worth(*zip(*chosen, strict=True), sampling=0.0).with_precision_weights()
    assert np.all(leave_one_out(worth, np.ones(len(chosen))) >= -1e-12)
    everybody = float(worth.psi(np.ones((1, len(chosen))))[0])
    assert float(worth.psi(best_coalition(worth)[None])[0]) == pytest.approx(everybody)


def test_a_thousand_owners():
    random = np.random.default_rng(0)
    worth = _worth(random.integers(10, 10**5, 1000), random.uniform(0.01, 10, 1000), kappa=1e4)
    chosen = best_coalition(worth)
    assert 0 < chosen.sum() < 1000
    adds = leave_one_out(worth, chosen)
    assert np.all(adds[chosen > 0] >= 0)
    assert np.all(adds[chosen == 0] <= 0)
    everybody = min(float(worth.psi(np.ones((1, 1000)))[0]), worth.nothing)
    assert shapley(worth).sum() == pytest.approx(worth.nothing - everybody)


@given(owners.filter(lambda o: len(o) <= 6))
@settings(max_examples=25)
def test_shapley_values_by_definition_and_they_add_up(chosen):
    worth = _worth(*zip(*chosen, strict=True), kappa=100.0)
    count = len(chosen)
    values = np.zeros(count)
    for order in itertools.permutations(range(count)):
        members, before = np.zeros(count), worth.nothing
        for i in order:
            members[i] = 1.0
            after = min(float(worth.psi(members[None])[0]), worth.nothing)
            values[i] += before - after
            before = after
    values /= math.factorial(count)
    np.testing.assert_allclose(shapley(worth), values, atol=1e-9)
    everybody = min(float(worth.psi(np.ones((1, count)))[0]), worth.nothing)
    assert values.sum() == pytest.approx(worth.nothing - everybody)


def test_sampled_shapley_values_agree_with_exact_ones():
    random = np.random.default_rng(1)
    worth = _worth(random.integers(100, 10**4, 10), random.uniform(0.1, 5, 10), kappa=1e3)
    from treaty.advice.coalition import _shapley_exact, _shapley_sampled

    exact, sampled = _shapley_exact(worth), _shapley_sampled(worth, 0)
    np.testing.assert_allclose(sampled, exact, atol=0.15 * np.abs(exact).max())


def test_targets_are_reached_exactly():
    worth = _worth([1000, 2000, 4000], [1.0, 0.5, 2.0], kappa=1e5)
    epsilons = np.array([1.0, 0.5, 2.0])
    now = float(worth.psi(np.ones((1, 3)))[0])
    found = reach(worth, epsilons, 0.5 * (now + 0.01), owner="o1")

    def at(noise, records=worth.records):
        return 0.01 + noise.sum() / records.sum() ** 2

    assert at(worth.noise / found.epsilon_factor**2) == pytest.approx(found.target)
    assert at(worth.noise, worth.records * found.records_factor) == pytest.approx(found.target)
    changed = worth.noise.copy()
    changed[1] *= (0.5 / found.owner_epsilon) ** 2
    assert at(changed) == pytest.approx(found.target)


@pytest.mark.parametrize("apart", [0.0, 0.05])
def test_what_beats_being_alone_does_so_exactly(apart):
    """With more records for everybody the owner's own model gets better too."""
    epsilons = np.array([1.0, 0.5, 2.0])
    differ = {"difference_costs": np.array([apart, 0.0, 0.0])}
    worth = _worth([100, 2000, 4000], epsilons, kappa=3e6, optimisation=1e-4, **differ)
    found = beats_alone(worth, epsilons, "o0")
    more = worth.records * found.records_factor
    larger = _worth(more, epsilons, kappa=3e6, optimisation=1e-4, **differ)
    together = float(larger.psi(np.ones((1, 3)))[0])
    assert together == pytest.approx(float(larger.alone()[0]), rel=1e-9)
    noise = (worth.noise / found.epsilon_factor**2).sum() / worth.total**2
    assert 1e-4 + noise == pytest.approx(float(worth.alone()[0]))


def test_where_no_epsilon_beats_being_alone():
    worth = _worth([10_000, 10], [1.0, 1.0])
    found = beats_alone(worth, np.ones(2), "o0")
    assert found.epsilon_factor is None
    assert found.records_factor is None


def test_a_target_that_is_reached_already_says_so(public):
    told = str(t.advise(loads(TREATY), public, target=1e6))
    assert "ψ = 1e+06 is reached as it is: everybody together ends at" in told
    assert "and so do the public rows alone" in told
    assert "times 0" not in told


def test_targets_out_of_reach_say_what_is_reachable():
    worth = _worth([1000, 2000], [1.0, 1.0])
    found = reach(worth, np.ones(2), 0.005)
    assert found.epsilon_factor is None
    assert found.best == pytest.approx(0.01)
    assert found.best < float(worth.psi(np.ones((1, 2)))[0])
    for target in (0.5, 0.005):
        with pytest.raises(TreatyError, match="nobody is not a party"):
            reach(worth, np.ones(2), target, owner="nobody")
    for target in (math.nan, math.inf, -1.0):
        with pytest.raises(TreatyError, match="a target ψ must be a number above 0"):
            reach(worth, np.ones(2), target)


@given(
    st.lists(st.tuples(st.floats(0.1, 10), st.floats(0.1, 10)), min_size=2, max_size=5),
    st.floats(0.5, 50),
)
@settings(max_examples=25)
def test_priced_budgets_are_optimal(pairs, spend):
    """Against a solver, and in the plain case ε_i ∝ c_i^(−1/3)."""
    epsilons = np.array([e for e, _ in pairs])
    price = np.array([c for _, c in pairs])
    worth = _worth([1000] * len(pairs), epsilons)
    granted = priced_budgets(worth, epsilons, dict(zip(worth.names, price, strict=True)), spend)
    found = np.array(list(granted.values()))
    assert float(price @ found) == pytest.approx(spend)
    np.testing.assert_allclose(found / found[0], (price / price[0]) ** (-1 / 3), rtol=1e-6)
    share = np.full(len(pairs), 1 / len(pairs))
    peer = minimize(
        lambda z: np.sum((spend * np.exp(z) / np.exp(z).sum() / price) ** -2.0),
        np.log(share),
        method="Nelder-Mead",
        options={"maxiter": 4000, "xatol": 1e-9, "fatol": 1e-12},
    )
    assert np.sum(found**-2.0) <= peer.fun * (1 + 1e-6)


def test_money_under_precision_weights_goes_to_one_owner():
    epsilons, prices = np.array([1.0, 2.0, 0.5]), {"o0": 1.0, "o1": 2.0, "o2": 1.0}
    worth = _worth([1000, 3000, 500], epsilons, sampling=0.0, precision_weights=True)
    granted = priced_budgets(worth, epsilons, prices, 6.0)
    assert granted == {"o0": 0.0, "o1": 3.0, "o2": 0.0}
    unit = worth.noise * epsilons**2

    def noise(budgets):
        return 1 / np.sum(worth.records**2 * budgets**2 / unit)

    best = noise(np.array(list(granted.values())))
    random = np.random.default_rng(0)
    for share in random.dirichlet([0.5, 0.5, 0.5], 200):
        assert noise(6.0 * share / np.array(list(prices.values()))) >= best * (1 - 1e-12)


@pytest.mark.parametrize("precision", [False, True])
def test_prices_where_noise_costs_nothing_that_shows(precision):
    """By records ε ∝ price^(−1/3), as where all add the same; by precision one owner gets all."""
    worth = _worth([20, 10], [1.0, 2.0], kappa=0.0, precision_weights=precision)
    granted = priced_budgets(worth, np.array([1.0, 2.0]), {"o0": 1.0, "o1": 8.0}, 10.0)
    assert granted == pytest.approx(
        {"o0": 10.0, "o1": 0.0} if precision else {"o0": 2.0, "o1": 1.0}
    )


def test_what_a_plan_ends_at_without_noise_is_in_reach_as_it_is(public):
    advice = t.advise(loads(TREATY), public, target=1e-9)
    found = replace(advice.reach, best=2 * advice.everybody.value)
    said = " ".join(str(replace(advice, reach=found)).split())
    assert f"is hardly noise. In reach: {advice.everybody.value:.3g}, as it is; for less" in said
    assert "twice" not in said


def test_weights_that_a_treaty_has_already_are_not_advised(public):
    plain = t.advise(loads(TREATY), public)
    assert "weighed by (records × ε)²" in " ".join(str(plain).split())
    weighed = TREATY.replace("horizon = 6", 'horizon = 6\nweights = "precision"')
    advice = t.advise(loads(weighed), public)
    assert advice.with_precision_weights is None
    assert "weighed by" not in " ".join(str(advice).split())


def test_prices_that_do_not_fit():
    worth, epsilons = _worth([10, 10], [1.0, 1.0]), np.ones(2)
    with pytest.raises(TreatyError, match="names nobody, who is not a party"):
        priced_budgets(worth, epsilons, {"o0": 1, "o1": 1, "nobody": 1}, 5)
    with pytest.raises(TreatyError, match="no price for o1"):
        priced_budgets(worth, epsilons, {"o0": 1}, 5)
    with pytest.raises(TreatyError, match="must be above 0"):
        priced_budgets(worth, epsilons, {"o0": 1, "o1": 0}, 5)
    with pytest.raises(TreatyError, match="o1 asks for no noise"):
        priced_budgets(worth, np.array([1.0, math.inf]), {"o0": 1, "o1": 1}, 5)


TREATY = """
version = 1
title = "banks"
[features.a]
kind = "number"
bounds = [-4, 4]
[target]
column = "y"
bounds = [-6, 6]
[loss]
name = "squared"
theta_max = 2.0
[training]
method = "shrinking-steps"
horizon = 6
[[parties]]
name = "large"
records = 20000
epsilon = 5.0
[[parties]]
name = "fine"
records = 15000
epsilon = 5.0
[[parties]]
name = "shy"
records = 50
epsilon = 0.001
"""


@pytest.fixture
def public(tmp_path):
    random = np.random.default_rng(0)
    a = random.standard_normal(1500)
    frame = pl.DataFrame({"a": a, "y": a + random.standard_normal(1500)})
    frame.write_csv(tmp_path / "p.csv")
    return t.open_source(tmp_path / "p.csv")


def test_small_shy_owners_are_left_out_and_the_surrogate_agrees_with_rehearsal(public):
    advice = t.advise(loads(TREATY), public)
    assert advice.coalition == ("fine", "large")
    assert advice.everybody.value > 10 * advice.recommended.value
    text = str(advice)
    assert "Invite nobody" in text
    few = t.advise(loads(TREATY), public, private=True)
    assert "Invite 2 of 3" in str(few)
    assert few.plain()["invite"] == ["fine", "large"]
    assert "owners assumed alike" in text
    without = TREATY.split("[[parties]]")
    two = t.forecast(loads("[[parties]]".join(without[:3])), public)
    assert advice.recommended.value == pytest.approx(two.together.value, rel=0.3)
    outlook = outlook_on(loads(TREATY), t.Evidence(public))
    worth = worth_of(outlook)
    surrogate = float(worth.psi(np.array([[1.0, 1.0, 0.0]]))[0])
    assert surrogate == pytest.approx(advice.recommended.value, rel=0.3)


def test_noise_is_told_from_an_optimisation_that_leaves_much(public):
    """κ is what noise does, however far from the optimum the method ends."""
    slow = loads(TREATY.replace("horizon = 6", "horizon = 6\nparameters = {rho = 1e-5}"))
    outlook = outlook_on(slow, t.Evidence(public))
    together = outlook.rehearse(outlook.plan, precision=0.01)
    assert together.optimisation > 0.5
    worth = worth_of(outlook)
    told = float(worth.psi(np.ones((1, 3)))[0])
    assert told == pytest.approx(together.psi.value, rel=0.1)


def test_an_owner_asks_inside_its_own_walls(public, tmp_path):
    """Its own model is known then, lucky or not: being alone is measured, not typical."""
    random = np.random.default_rng(5)
    a = random.standard_normal(50)
    measured = {}
    for luck, slope in (("good", 1.0), ("bad", -1.0)):
        path = tmp_path / f"{luck}.csv"
        pl.DataFrame({"a": a, "y": slope * a + 0.01 * random.standard_normal(50)}).write_csv(path)
        advice = t.advise(loads(TREATY), public, own={"shy": t.open_source(path)})
        measured[luck] = next(side for side in advice.owners if side.name == "shy")
        assert "must not leave" in str(advice)
        assert advice.plain()["private"] is True
    assert measured["good"].alone < 0.05
    assert measured["bad"].alone > 1.0
    with pytest.raises(TreatyError, match="`own` names nobody, who is not a party"):
        t.advise(loads(TREATY), public, own={"nobody": public})


def test_nobody_is_invited_where_the_public_rows_are_better(public):
    poor = TREATY.replace("epsilon = 5.0", "epsilon = 0.001")
    advice = t.advise(loads(poor), public)
    assert advice.recommended.value > advice.without
    assert "Invite nobody" in str(advice)


def test_what_it_takes_to_beat_being_alone(public):
    advice = t.advise(
        loads(TREATY.replace("horizon = 6", 'horizon = 6\nstart = "public"')), public, owner="shy"
    )
    assert advice.reach is not None
    alone = next(side.alone for side in advice.owners if side.name == "shy")
    assert 0.5 * alone < advice.reach.target <= (1 + 1e-9) * alone


def test_advice_under_prices_and_targets(public):
    prices = {"large": 1.0, "fine": 8.0, "shy": 1.0}
    advice = t.advise(loads(TREATY), public, target=2.0, owner="shy", prices=prices, spend=20.0)
    assert advice.budgets is not None
    assert advice.reach is not None
    assert advice.budgets["large"] == pytest.approx(2 * advice.budgets["fine"])
    assert sum(prices[n] * e for n, e in advice.budgets.items()) == pytest.approx(20.0)
    assert advice.reach.owner_epsilon is not None
    with pytest.raises(TreatyError, match="belong together"):
        t.advise(loads(TREATY), public, spend=3.0)


@pytest.mark.parametrize("budget", ["epsilon = 5.0", "epsilon = 0.001", "epsilon = 100.0"])
@pytest.mark.parametrize("target", [None, 1e-12, 0.5])
def test_sentences_say_what_the_numbers_say(public, budget, target):
    text = TREATY.replace("epsilon = 5.0", budget)
    advice = t.advise(loads(text), public, target=target)
    said = " ".join(str(advice).split())
    apart = advice.recommended.low > advice.without or advice.recommended.high < advice.without
    assert advice.pays == (advice.recommended.value < advice.without)
    assert ("Invite nobody" in said) == (apart and not advice.pays)
    if apart and advice.pays:
        assert f"Invite {len(advice.coalition)} of {len(advice.owners)}" in said
    assert ("The evidence does not tell whether to invite anybody" in said) == (not apart)
    invited = sum(owner.invited and advice.pays for owner in advice.owners)
    assert invited == (len(advice.coalition) if advice.pays else 0)
    if target is None:
        return
    found = advice.reach
    assert found is not None
    assert ("is out of reach at any ε" in said) == (found.best >= target)
    assert ("In reach:" in said) == (found.epsilon_factor is None)
    if found.epsilon_factor is None and advice.everybody.value <= found.best:
        assert f"In reach: {advice.everybody.value:.3g}, as it is" in said
    elif found.epsilon_factor is None:
        assert f"{found.best:.3g}" in said
        doubled = float(re.search(r"In reach: about (\S+) with twice", said)[1])
        assert min(found.best, doubled) <= doubled <= max(found.best, advice.everybody.value) * 1.01
    else:
        assert f"every ε times {found.epsilon_factor:.3g}" in said
