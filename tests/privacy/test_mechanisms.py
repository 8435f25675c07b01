"""Everything that states an ε, a scale or a distribution is held to account."""

import math
from fractions import Fraction

import dp_accounting
import numpy as np
import pytest
from dp_accounting.pld import PLDAccountant
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from problems import sensitivity
from treaty.errors import TreatyError
from treaty.privacy import (
    Budget,
    Gaussian,
    Laplace,
    gaussian,
    laplace,
    mechanism_named,
)
from treaty.privacy.accounting import gaussian_multiplier, pure_epsilon_each
from treaty.privacy.mechanism import ROUND_UP

MECHANISMS = {"laplace": (Laplace(), stats.laplace), "gaussian": (Gaussian(), stats.norm)}


def test_laplace_scale_by_hand():
    """Ξ = 3, n = 1,000, T = 10, ε = 0.5: b = 2·3·10/(1,000·0.5) = 0.12 (W Thm 1)."""
    scale = Laplace().scale(sensitivity(3.0, 1000, 4), Budget(0.5), 10)
    assert scale == pytest.approx(0.12, rel=1e-6)
    assert scale >= 0.12


@given(
    epsilon=st.floats(1e-3, 50),
    answers=st.integers(1, 100_000),
    records=st.integers(2, 10**7),
    bound=st.floats(1e-3, 1e3),
    size=st.sampled_from([1, 5, 10_000]),
)
def test_all_laplace_answers_together_keep_the_budget_exactly(
    epsilon, answers, records, bound, size
):
    """By OpenDP's own privacy map, in fractions: T · map(2Ξ/n) ≤ ε."""
    moved = sensitivity(bound, records, size)
    scale = Laplace().scale(moved, Budget(epsilon), answers)
    mapped = laplace.measurement(scale, size).map(moved)
    assert answers * Fraction(mapped) <= Fraction(epsilon)
    assert scale <= moved * answers / epsilon * (1 + 1e-9)


@given(
    multiplier=st.floats(1e-2, 1e6), bound=st.floats(1e-6, 1e3), size=st.sampled_from([1, 10_000])
)
def test_rounding_costs_gaussian_noise_nothing(multiplier, bound, size):
    """By OpenDP's own map ρ ≤ Δ²/(2σ²), σ before scales are rounded up."""
    scale = bound * multiplier * ROUND_UP
    mapped = gaussian.measurement(scale, size).map(bound)
    assert Fraction(mapped) <= Fraction(bound) ** 2 / (
        2 * (Fraction(scale) / Fraction(ROUND_UP)) ** 2
    )


@given(
    epsilon=st.floats(0.05, 5),
    delta=st.sampled_from([1e-9, 1e-6, 1e-3]),
    answers=st.integers(1, 300),
)
def test_gaussian_multiplier_is_tight(epsilon, delta, answers):
    """The privacy loss distribution of the composition meets δ, and 1% less noise does not."""
    multiplier = gaussian_multiplier(Budget(epsilon, delta), answers)

    def spent(m: float) -> float:
        # δ of one Gaussian of multiplier m/√answers at ε (Balle and Wang 2018, Theorem 8)
        mu = math.sqrt(answers) / m
        a, b = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
        return stats.norm.cdf(a) - math.exp(epsilon) * stats.norm.cdf(b)

    assert spent(multiplier) <= delta * (1 + 1e-6)
    assert spent(0.99 * multiplier) > delta


def test_gaussian_multiplier_against_the_accountant():
    multiplier = gaussian_multiplier(Budget(1.0, 1e-6), 50)
    accountant = PLDAccountant(dp_accounting.NeighboringRelation.REPLACE_ONE)
    event = dp_accounting.SelfComposedDpEvent(Gaussian().event(multiplier), 50)
    # PLDAccountant counts a replaced record as twice the sensitivity; ours is the replace-one one.
    doubled = dp_accounting.SelfComposedDpEvent(Gaussian().event(2 * multiplier), 50)
    if accountant.supports(event):
        assert accountant.compose(doubled).get_epsilon(1e-6) == pytest.approx(1.0, rel=1e-2)
    plain = PLDAccountant().compose(event)
    assert plain.get_epsilon(1e-6) == pytest.approx(1.0, rel=1e-3)


def test_gaussian_grows_with_the_root_of_the_horizon_and_laplace_with_the_horizon():
    budget = Budget(1.0, 1e-6)
    ratio = gaussian_multiplier(budget, 400) / gaussian_multiplier(budget, 100)
    assert ratio == pytest.approx(2.0)
    assert pure_epsilon_each(Budget(1.0), 100) == 0.01


def test_optimal_composition_of_pure_answers():
    """δ > 0 buys a larger ε₀ than ε/T, and never breaks the exact binomial formula."""
    epsilon, delta, answers = 1.0, 1e-6, 200
    each = pure_epsilon_each(Budget(epsilon, delta), answers)
    assert each > 2 * epsilon / answers

    def spent(e0: float) -> float:
        # Kairouz, Oh, Viswanath 2015: a loss of (2j − T)ε₀, j ~ Binomial(T, e^ε₀/(1+e^ε₀))
        j = np.arange(answers + 1)
        p = math.exp(e0) / (1 + math.exp(e0))
        mass = stats.binom.pmf(j, answers, p)
        return float(np.sum(mass * np.maximum(0.0, 1 - np.exp(epsilon - (2 * j - answers) * e0))))

    assert spent(each) <= delta
    assert spent(1.02 * each) > delta


def test_sensitivity_by_hand_and_its_rounding():
    assert sensitivity(1.0, 1000, 10) == pytest.approx(2 / 1000, rel=1e-8)
    assert sensitivity(1.0, 10**7, 10) / (2 / 10**7) - 1 == pytest.approx(1e-5, rel=1)
    with pytest.raises(TreatyError, match="without records"):
        sensitivity(1.0, 0, 3)


@pytest.mark.parametrize("name", MECHANISMS)
def test_live_noise_follows_its_distribution(name):
    mechanism, law = MECHANISMS[name]
    scale = 0.37
    drawn = mechanism.release(np.full(6000, 2.5), scale) - 2.5
    assert stats.kstest(drawn, law(scale=scale).cdf).pvalue > 1e-4
    assert drawn.var() == pytest.approx(mechanism.variance(scale, 1), rel=0.15)


@pytest.mark.parametrize("name", MECHANISMS)
def test_simulated_noise_follows_its_distribution_and_agrees_with_live_noise(name):
    mechanism, law = MECHANISMS[name]
    drawn = mechanism.draw(np.random.default_rng(5), (20_000,))
    assert stats.kstest(drawn, law().cdf).pvalue > 1e-4
    live = mechanism.release(np.zeros(6000), 1.0)
    assert stats.ks_2samp(drawn, live).pvalue > 1e-4


@pytest.mark.parametrize("name", MECHANISMS)
def test_coordinates_of_live_noise_are_independent(name):
    mechanism, _ = MECHANISMS[name]
    drawn = np.stack([mechanism.release(np.zeros(2), 1.0) for _ in range(1500)])
    assert abs(np.corrcoef(drawn.T)[0, 1]) < 0.15


def test_live_noise_has_no_seed():
    first, second = (Laplace().release(np.zeros(8), 1.0) for _ in range(2))
    assert not np.any(first == second)


def test_gaussian_refuses_pure_epsilon():
    with pytest.raises(TreatyError, match="needs a delta above 0"):
        Gaussian().scale(1.0, Budget(1.0), 1)


def test_infinite_epsilon_means_no_noise():
    for mechanism, _ in MECHANISMS.values():
        assert mechanism.scale(1.0, Budget(math.inf), 5) == 0.0


@pytest.mark.parametrize(("epsilon", "delta"), [(0, 0), (-1, 0), (math.nan, 0), (1, 1), (1, -0.1)])
def test_senseless_budgets_are_refused(epsilon, delta):
    with pytest.raises(TreatyError):
        Budget(epsilon, delta)


def test_splitting_a_budget():
    assert Budget(1.0, 1e-6).split(4) == Budget(0.25, 2.5e-7)


def test_unknown_mechanism():
    with pytest.raises(TreatyError, match='no mechanism is called "exponential"'):
        mechanism_named("exponential")


@pytest.mark.parametrize("dimension", [1, 31, 1000])
def test_noise_reaches_further_than_it_says_only_by_a_rare_chance(dimension):
    """P(some of p coordinates beyond) ≤ p·P(one beyond), by the distributions' own tails."""
    rare = 1e-12
    for mechanism, law in ((Laplace(), stats.laplace), (Gaussian(), stats.norm)):
        far = mechanism.reach(0.5, dimension, rare)
        assert 2 * dimension * law.sf(far / 0.5) == pytest.approx(rare, rel=1e-6)
