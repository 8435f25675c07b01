import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from problems import plan, problem, risks
from treaty.errors import TreatyError
from treaty.losses import Squared
from treaty.plans import Party, Plan, peer_plans
from treaty.privacy import Budget, Gaussian


def _plan(*parties: Party, method="one-at-a-time", **more) -> Plan:
    return Plan(problem(Squared()), parties, method, 12, **more)


def test_noise_scale_with_cap_and_overlap_by_hand():
    """b = 2ΞT_iκ/(n_iε_i): Ξ, n = 50, ε = 2, T_i = 4, κ = 3."""
    bound = problem(Squared()).gradient_bound("l1")
    capped = Party("a", 50, Budget(2.0), answers=4)
    other = Party("b", 50, Budget(2.0))
    third = Party("c", 50, Budget(2.0), answers=99)
    shared = _plan(capped, other, third, overlap=3)
    expected = np.array([4, 12, 12]) * 2 * bound * 3 / (50 * 2.0)
    np.testing.assert_allclose(shared.scales, expected, rtol=1e-6)


def test_weights_by_records():
    shared = _plan(Party("a", 100, Budget(1.0)), Party("b", 300, Budget(0.1)))
    np.testing.assert_allclose(shared.shares, [0.25, 0.75])


@given(
    sizes=st.lists(st.integers(2, 10**6), min_size=1, max_size=6),
    data=st.data(),
)
def test_precision_weights_are_n2_epsilon2_and_no_others_have_less_noise(sizes, data):
    epsilons = data.draw(st.lists(st.floats(0.01, 10), min_size=len(sizes), max_size=len(sizes)))
    parties = [
        Party(f"p{i}", n, Budget(e)) for i, (n, e) in enumerate(zip(sizes, epsilons, strict=True))
    ]
    shared = _plan(*parties, weights="precision")
    square = np.array([(n * e) ** 2 for n, e in zip(sizes, epsilons, strict=True)])
    np.testing.assert_allclose(shared.shares, square / square.sum(), rtol=1e-4)

    def noise(w):
        return float(np.sum(w**2 * shared.scales**2))

    least = noise(shared.shares)
    for _ in range(5):
        other = np.random.default_rng(len(sizes)).dirichlet(np.ones(len(sizes)))
        assert noise(other) >= least * (1 - 1e-9)
    assert least == pytest.approx(1 / np.sum(shared.scales**-2.0), rel=1e-9)


def test_precision_weights_with_a_noiseless_owner():
    shared = _plan(
        Party("a", 100, Budget(math.inf)), Party("b", 300, Budget(1.0)), weights="precision"
    )
    np.testing.assert_array_equal(shared.shares, [1.0, 0.0])


def test_blocs_are_fictitious_owners():
    """F Remark 2: sizes add up, and members are averaged by their records."""
    parties = [Party(name, n, Budget(1.0)) for name, n in (("a", 10), ("b", 30), ("c", 60))]
    one, two = _plan(*parties, blocs=(("c", "a"),)).blocs_met
    assert one.members == (0, 2)
    np.testing.assert_allclose(one.shares, [10 / 70, 60 / 70])
    assert (one.weight, two.weight) == pytest.approx((0.7, 0.3))
    (everybody,) = _plan(*parties, method="shrinking-steps").blocs_met
    np.testing.assert_allclose(everybody.shares, [0.1, 0.3, 0.6])


def test_peers_split_their_budget_over_all_trainings():
    shared = plan(Squared(), "averaged-subgradient", epsilon=1.0, owners=5)
    of_two = peer_plans(shared)["owner 2"]
    assert [p.budget.epsilon for p in of_two.parties] == pytest.approx([0.2] * 5)


def test_peers_as_published_ask_themselves_freely():
    shared = plan(Squared(), "averaged-subgradient", epsilon=1.0, owners=5)
    paper = peer_plans(shared, as_published=True)["owner 2"]
    assert [p.budget.epsilon for p in paper.parties] == [1.0, 1.0, math.inf, 1.0, 1.0]
    assert paper.scales[2] == 0.0
    with pytest.raises(TreatyError, match="weights by records"):
        peer_plans(replace(shared, weights="precision"), as_published=True)


def test_the_papers_peers_leak_their_own_gradient():
    """Why ε = ∞ towards oneself is not kept: two queries and one's own answer give it away."""
    shared = plan(Squared(), "shrinking-steps", owners=2, horizon=5, parameters={"rho": 5.0})
    data = risks(Squared(), owners=2)
    paper = peer_plans(shared, as_published=True)["owner 0"]
    learner = paper.learner()
    first = learner.ask(0).theta
    own_answer = data["owner 1"].gradient(first) + np.random.default_rng(0).laplace(size=4)
    learner.tell(0, 0.5 * (data["owner 0"].gradient(first) + own_answer))
    second = learner.ask(0).theta
    step = learner.step_sizes["rho"] / 25
    stolen = 2 * ((first - second) / step - 0.01 * first) - own_answer
    np.testing.assert_allclose(stolen, data["owner 0"].gradient(first), rtol=1e-9)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: _plan(), "at least one party"),
        (
            lambda: _plan(Party("a", 5, Budget(1)), Party("a", 6, Budget(1))),
            "two parties are called a",
        ),
        (lambda: Party("a", 0, Budget(1)), "a has no records"),
        (lambda: Party("a", 5, Budget(1), answers=0), "at least 1 answer"),
        (lambda: Party("a", 5, Budget(1), rate=0), "rate must be a positive number"),
        (lambda: Party("a", 5, Budget(1), away=((3, 2),)), "cannot be away from 3 to 2"),
        (lambda: plan(Squared(), "one-at-a-time", horizon=0), "horizon must be at least 1, not 0"),
        (lambda: _plan(Party("a", 5, Budget(1)), overlap=2), "cannot sit in 2 of 1 datasets"),
        (lambda: _plan(Party("a", 5, Budget(1)), blocs=(("z",),)), "names z, who is not a party"),
        (lambda: _plan(Party("a", 5, Budget(1)), blocs=(("a",), ("a",))), "a sits in two blocs"),
        (lambda: _plan(Party("a", 5, Budget(1)), mechanism=Gaussian()), "needs a delta"),
    ],
)
def test_senseless_plans_are_refused(make, says):
    with pytest.raises(TreatyError, match=says):
        make()
