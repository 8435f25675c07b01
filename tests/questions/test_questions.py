"""Questions: what they compute, and how far one record can move it, in both norms."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from problems import plan, problem, risks, rows
from treaty.errors import Refusal, TreatyError
from treaty.fitness import MomentRisk, Moments, Problem, RowRisk, risk_of
from treaty.losses import Clipped, Domain, Hinge, Squared
from treaty.owner import Owner, Query
from treaty.plans import Party, Plan
from treaty.privacy import Budget, Gaussian, Grant, Laplace, MemoryLedger
from treaty.questions import QUESTIONS, MeanGradient, Release, SecondMoments, question_named
from treaty.questions.second_moments import target_weight, unpacked

ORDERS = {"l1": 1, "l2": 2}


def ball(p: int, radius: float, norm: str, target: float) -> Problem:
    """A problem whose records are a whole ball, in which bounds are attained."""
    l1 = radius if norm == "l1" else radius * math.sqrt(p)
    return Problem(Squared(), Domain(p, l1, radius, (-target, target)), 0.0, 1.0)


def vector(chosen: Problem, x: np.ndarray, y: float) -> np.ndarray:
    """One record's vector: its moments."""
    one = MomentRisk(Moments.of([(x[None], np.array([y]))]))
    return SecondMoments().exact(one, chosen)


def test_moments_by_hand():
    """x = (1, 2), y = 3, B₂ = 4, Y = 6: c = 2/3; (1, 2√2, 4) and (2/3)·(3, 6)."""
    chosen = Problem(Squared(), Domain(2, 5.0, 4.0, (-6.0, 2.0)), 0.0, 1.0)
    assert SecondMoments.length(chosen) == 5
    assert SecondMoments.arguments(chosen) == 0
    np.testing.assert_allclose(
        vector(chosen, np.array([1.0, 2.0]), 3.0), [1.0, 2 * math.sqrt(2), 4.0, 2.0, 4.0]
    )
    assert SecondMoments.distance(chosen, "l2") == pytest.approx(3 / math.sqrt(2) * 16)
    squares = (1 - 1 / math.sqrt(2)) * 16 + 25 / math.sqrt(2)
    assert SecondMoments.largest(chosen, "l1") == pytest.approx(squares + 2 / 3 * 6 * 5)
    assert SecondMoments.largest(chosen, "l2") == pytest.approx(math.hypot(16, 2 / 3 * 6 * 4))


@given(seed=st.integers(0, 10**6), p=st.integers(1, 5), n=st.integers(1, 4))
def test_what_is_packed_is_unpacked(seed, p, n):
    random = np.random.default_rng(seed)
    x, y = random.standard_normal((n, p)), random.standard_normal(n)
    chosen = Problem(Squared(), Domain(p, 9.0, 7.0, (-3.0, 3.0)), 0.0, 1.0)
    xx, xy = unpacked(SecondMoments().exact(risk_of(Squared(), x, y), chosen), chosen)
    np.testing.assert_allclose(xx, x.T @ x / n, atol=1e-12)
    np.testing.assert_allclose(xy, x.T @ y / n, atol=1e-12)


@pytest.mark.parametrize("norm", ["l1", "l2"])
@given(seed=st.integers(0, 10**6), p=st.integers(1, 4), radius=st.floats(0.1, 9.0))
@settings(max_examples=150)
def test_no_two_records_lie_further_apart_than_stated(norm, seed, p, radius):
    """Random records on the surface, where the supremum is, and the worst kind among them."""
    random = np.random.default_rng(seed)
    target = float(10 ** random.uniform(-1, 1))
    chosen = ball(p, radius, norm, target)
    x = random.standard_normal((2, p)) * (random.random((2, p)) < 0.7)
    x += (np.abs(x).sum(axis=1, keepdims=True) == 0) * np.eye(p)[0]
    x *= radius / np.linalg.norm(x, ORDERS[norm], axis=1, keepdims=True)
    for signs in ((1.0, 1.0), (1.0, -1.0)):
        one, other = (vector(chosen, x[i], signs[i] * target) for i in range(2))
        apart = np.linalg.norm(one - other, ORDERS[norm])
        assert apart <= SecondMoments.distance(chosen, norm) * (1 + 1e-12)
        largest = SecondMoments.largest(chosen, norm) * (1 + 1e-12)
        assert np.linalg.norm(one, ORDERS[norm]) <= largest


def test_the_stated_distances_are_attained():
    """ℓ₂: xᵀx′ = B²/2 and opposite targets. ℓ₁: two different vertices of the ball."""
    for p, radius, target in ((2, 1.0, 1.0), (3, 2.5, 0.3)):
        chosen = ball(p, radius, "l2", target)
        one = radius * np.eye(p)[0]
        other = radius * (0.5 * np.eye(p)[0] + math.sqrt(0.75) * np.eye(p)[1])
        apart = vector(chosen, one, target) - vector(chosen, other, -target)
        stated = SecondMoments.distance(chosen, "l2")
        assert np.linalg.norm(apart) == pytest.approx(stated, rel=1e-12)
        chosen = ball(p, radius, "l1", target)
        apart = vector(chosen, one, target) - vector(chosen, radius * np.eye(p)[1], target)
        stated = SecondMoments.distance(chosen, "l1")
        assert np.abs(apart).sum() == pytest.approx(stated, rel=1e-12)


@pytest.mark.parametrize("name", QUESTIONS)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 30))
@settings(max_examples=60)
def test_replacing_one_record_moves_an_answer_by_at_most_the_sensitivity(name, seed, n):
    kind = question_named(name)
    chosen = problem(Squared(), 4, 0.01, 2.0)
    random = np.random.default_rng(seed)
    x, y = rows(n, 4, seed)
    other_x, other_y = x.copy(), y.copy()
    x[0], y[0] = [1 / math.sqrt(3)] * 3 + [1.0], 1.0
    other_x[0], other_y[0] = [-1 / math.sqrt(3), 0.0, 0.0, 1.0], -1.0
    asked = kind(2.0 * random.choice([-1.0, 1.0], kind.arguments(chosen)))
    for norm, order in ORDERS.items():
        one, other = (
            asked.exact(kind.guarded(risk_of(Squared(), *each), chosen, norm), chosen)
            for each in ((x, y), (other_x, other_y))
        )
        assert len(one) == kind.length(chosen)
        assert np.linalg.norm(one - other, order) <= kind.sensitivity(chosen, n, norm)


def test_the_rounding_of_moments_stays_inside_the_sensitivity():
    n = 40_000
    x, y = rows(n, 4, seed=9)
    chosen = problem(Squared(), 4, 0.0, 2.0)
    wide, c = x.astype(np.longdouble), target_weight(chosen)
    row, column = np.triu_indices(4)
    root = np.where(row == column, np.longdouble(1.0), np.sqrt(np.longdouble(2.0)))
    exact = np.concatenate([(wide.T @ wide / n)[row, column] * root, c * (wide.T @ y) / n])
    for risk in (MomentRisk(Moments.of([(x, y)])), RowRisk(Squared(), x, y)):
        error = float(np.abs(SecondMoments().exact(risk, chosen) - exact).sum())
        moved = SecondMoments.distance(chosen, "l1") / n
        assert error <= (SecondMoments.sensitivity(chosen, n, "l1") - moved) / 2


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_run_axis_changes_no_answer(name):
    kind = question_named(name)
    chosen, risk = problem(Squared()), risk_of(Squared(), *rows(30, 4, seed=1))
    thetas = np.random.default_rng(0).standard_normal((5, kind.arguments(chosen)))
    many = np.broadcast_to(kind(thetas).exact(risk, chosen), (5, kind.length(chosen)))
    for theta, answer in zip(thetas, many, strict=True):
        np.testing.assert_allclose(kind(theta).exact(risk, chosen), answer, atol=1e-14)


@pytest.mark.parametrize("mechanism", [Laplace(), Gaussian()], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("method", ["averaged-subgradient", "one-shot"])
def test_a_plan_and_an_owner_come_to_the_same_release(method, mechanism):
    delta = 1e-6 if mechanism.name == "gaussian" else 0.0
    shared = Plan(
        problem(Squared()),
        (Party("a", 100, Budget(0.7, delta)), Party("b", 300, Budget(2.0, delta))),
        method,
        1,
        mechanism=mechanism,
    )
    for party, release in zip(shared.parties, shared.releases, strict=True):
        ledger = MemoryLedger(Grant("t", shared.budget(party), shared.answers(party)))
        records = risk_of(Squared(), *rows(party.records, 4, seed=1))
        owner = Owner(party.name, treaty="t", plan=shared, risk=records, ledger=ledger)
        assert owner.release == release
        assert owner.scale == release.scale
        assert release.variance == mechanism.variance(release.scale, release.length)


def test_a_release_by_hand():
    """Ξ = 0.5 and n = 100, ε = 2 over 4 answers: Δ = 0.01, b = Δ/(2/4) = 0.02, E‖w‖² = 4·2b²."""
    chosen = problem(Clipped(Squared(), 0.5, "l1"), 4)
    release = Release(MeanGradient, chosen, 100, Budget(2.0), 4, Laplace())
    assert release.sensitivity == pytest.approx(0.01, rel=1e-9)
    assert release.scale == pytest.approx(0.02, rel=1e-9)
    assert release.variance == pytest.approx(4 * 2 * 0.02**2, rel=1e-9)
    assert release.event.noise_multiplier == pytest.approx(2.0, rel=1e-9)
    assert release.largest == 0.5


def test_an_attack_on_moments_succeeds_no_more_often_than_epsilon_allows():
    """Two neighbouring datasets, two vertices of the ball: the best test for Laplace noise.

    P(right) ≤ e^ε/(1 + e^ε); with less noise than stated the test would be right more often.
    """
    epsilon, n, trials = 1.0, 4, 3000
    chosen = ball(2, 1.0, "l1", 1.0)
    shared = Plan(chosen, (Party("victim", n, Budget(epsilon)),), "one-shot", 1)
    datasets = [np.tile([0.0, 0.0], (n, 1)), np.tile([0.0, 0.0], (n, 1))]
    datasets[0][0], datasets[1][0] = [1.0, 0.0], [0.0, 1.0]
    y = np.ones(n)
    exact = [SecondMoments().exact(risk_of(Squared(), x, y), chosen) for x in datasets]
    right = 0
    for trial in range(trials):
        secret = trial % 2
        owner = Owner(
            "victim",
            treaty="t",
            plan=shared,
            risk=risk_of(Squared(), datasets[secret], y),
            ledger=MemoryLedger(Grant("t", Budget(epsilon), 1)),
        )
        answer = np.array(owner.answer(Query("t", "r", 1, (), "moments")))
        further = np.abs(answer - exact[0]).sum() - np.abs(answer - exact[1]).sum()
        right += 0.5 if abs(further) < 1e-9 else (further > 0) == secret
    # How often the same test is right with Laplace noise of the textbook's scale Δ/ε.
    moved = np.abs(exact[0] - exact[1]).sum()
    drawn = np.random.default_rng(0).laplace(scale=moved / epsilon, size=(200_000, 5))
    further = np.abs(drawn + exact[0] - exact[1]).sum(axis=1) - np.abs(drawn).sum(axis=1)
    expected = np.where(np.abs(further) < 1e-9, 0.5, further > 0).mean()
    most = math.exp(epsilon) / (1 + math.exp(epsilon))
    assert right / trials <= most + 3 * 0.5 / math.sqrt(trials)
    assert right / trials == pytest.approx(expected, abs=4 * 0.5 / math.sqrt(trials))


def test_an_owner_answers_no_other_question_than_its_treatys():
    shared, data = plan(Squared(), "one-shot"), risks(Squared())
    party = shared.parties[0]
    ledger = MemoryLedger(Grant("t", shared.budget(party), 1))
    owner = Owner(party.name, treaty="t", plan=shared, risk=data[party.name], ledger=ledger)
    for query in (
        Query("t", "r", 1, (0.0,) * 4),
        Query("t", "r", 1, (0.0,) * 4, "moments"),
        Query("t", "r", 1, (), "gradient"),
        Query("t", "r", 2, (), "moments"),
    ):
        with pytest.raises(Refusal):
            owner.answer(query)
    assert ledger.answers_given("t") == 0
    first = owner.answer(Query("t", "r", 1, (), "moments"))
    assert len(first) == SecondMoments.length(shared.problem)
    assert owner.answer(Query("t", "r", 1, (), "moments")) == first
    with pytest.raises(Refusal, match="spent"):
        owner.answer(Query("t", "another run", 1, (), "moments"))


def test_rows_that_are_not_at_hand_have_no_moments():
    from treaty.fitness.tilt import TiltedRisk

    tilted = TiltedRisk(RowRisk(Hinge(), *rows(9, 3, seed=1)), np.ones(3), np.zeros(3))
    with pytest.raises(TreatyError, match="not at hand"):
        _ = tilted.moments
    with pytest.raises(TreatyError, match='no question is called "why"'):
        question_named("why")


def _along(seed: int, p: int, k: int, limit: float, norm: str) -> Problem:
    """A problem in which owners are asked along k axes, some of them tiny, some huge."""
    random = np.random.default_rng(seed)
    axes = random.standard_normal((p, k)) * 10.0 ** random.uniform(-3, 3, k)
    return problem(Clipped(Squared(), limit, norm, axes), p)


def test_a_gradient_along_axes_by_hand():
    """x = (1, 2), y = 0 and θ = (1, 1): slope 2·3 = 6. A = (1, −1)ᵀ: Aᵀx = −1, and −6 is clipped to −4.

    x = (2, 1), y = 1: slope 4, Aᵀx = 1, 4 along the axis. The mean is 0; replacing a record may move it
    by 2·4/2.
    """
    axes = np.array([[1.0], [-1.0]])
    chosen = Problem(
        Clipped(Squared(), 4.0, "l1", axes), Domain(2, 3.0, 3.0, (-1.0, 1.0)), 0.0, 1.0
    )
    x, y = np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([0.0, 1.0])
    risk = risk_of(chosen.loss, x, y)
    np.testing.assert_allclose(MeanGradient(np.ones(2)).exact(risk, chosen), [0.0])
    first = risk_of(chosen.loss, x[:1], y[:1])
    np.testing.assert_allclose(MeanGradient(np.ones(2)).exact(first, chosen), [-4.0])
    assert MeanGradient.length(chosen) == 1
    assert MeanGradient.arguments(chosen) == 2
    assert MeanGradient.sensitivity(chosen, 2, "l1") == pytest.approx(4.0)
    assert "along 1 axes, of its 2 numbers" in MeanGradient.words(chosen)


@pytest.mark.parametrize("norm", ORDERS)
@given(seed=st.integers(0, 10**6), p=st.integers(2, 6), n=st.integers(1, 20))
@settings(max_examples=150)
def test_along_any_axes_one_record_moves_an_answer_by_at_most_the_sensitivity(norm, seed, p, n):
    """Whatever axes the author of a treaty writes: those that nearly cancel a record, too."""
    random = np.random.default_rng(seed)
    chosen = _along(seed, p, int(random.integers(1, p)), float(10 ** random.uniform(-2, 2)), norm)
    assert chosen.axes is not None
    x, y = rows(n, p, seed)
    other_x, other_y = x.copy(), y.copy()
    other_x[0] = rows(1, p, seed + 1)[0] * random.choice([-1.0, 1.0])
    other_y[0] = -y[0]
    if random.random() < 0.5:  # the worst record: hardly anything of it along any axis
        away = np.linalg.qr(np.column_stack([chosen.axes, random.standard_normal((p, p))]))[0]
        other_x[0] = away[:, -1] + 1e-13 * random.standard_normal(p)
    asked = MeanGradient(3.0 * random.choice([-1.0, 1.0], p))
    one, other = (
        asked.exact(risk_of(chosen.loss, *each), chosen) for each in ((x, y), (other_x, other_y))
    )
    assert len(one) == MeanGradient.length(chosen)
    for against, order in ORDERS.items():
        moved = np.linalg.norm(one - other, order)
        assert moved <= MeanGradient.sensitivity(chosen, n, against)


def test_two_records_are_as_far_apart_along_axes_as_stated():
    axes = np.array([[2.0, 0.0], [0.0, 0.5], [0.0, 0.0]])
    chosen = problem(Clipped(Squared(), 0.3, "l1", axes), 3)
    x = np.array([[0.9, 0.1, 1.0]])
    one, other = (
        MeanGradient(np.zeros(3)).exact(risk_of(chosen.loss, x, np.array([y])), chosen)
        for y in (1.0, -1.0)
    )
    apart = np.abs(one - other).sum()
    assert apart == pytest.approx(0.6, rel=1e-12)
    assert apart <= MeanGradient.sensitivity(chosen, 1, "l1")


def test_the_rounding_of_a_mean_along_axes_stays_inside_the_sensitivity():
    """Axes along which records nearly vanish: what is clipped is added up, not whole gradients."""
    n, p = 40_000, 5
    x, y = rows(n, p, seed=9)
    axes = np.linalg.qr(np.random.default_rng(0).standard_normal((p, 2)))[0]
    x = x - (x @ axes) @ axes.T * (1 - 1e-9)
    chosen = problem(Clipped(Squared(), 1e-9, "l1", axes), p)
    theta = np.full(p, 2.0)
    answer = MeanGradient(theta).exact(risk_of(chosen.loss, x, y), chosen)
    z = x @ axes
    slope = 2.0 * (x @ theta - y)
    slope = np.clip(slope, -1e-9 / np.abs(z).sum(axis=1), 1e-9 / np.abs(z).sum(axis=1))
    exact = (slope.astype(np.longdouble)[:, None] * z).sum(axis=0) / n
    moved = MeanGradient.distance(chosen, "l1") / n
    room = (MeanGradient.sensitivity(chosen, n, "l1") - moved) / 2
    assert float(np.abs(answer - exact).sum()) <= room


def test_a_loss_of_ones_own_is_held_to_the_clip_along_axes():
    """A loss that declares too little: its slope is 100 times what it says."""

    class Steep(Squared):
        name = "steep"

        def slope(self, score, target):
            return 100.0 * super().slope(score, target)

    axes = np.array([[1.0], [1.0], [0.0]])
    chosen = problem(Clipped(Steep(), 0.5, "l1", axes), 3)
    x, y = rows(50, 3, seed=2)
    guarded = MeanGradient.guarded(RowRisk(Steep(), x, y), chosen, "l1")
    answer = MeanGradient(np.full(3, 3.0)).exact(guarded, chosen)
    assert answer.shape == (1,)
    assert abs(answer[0]) <= 0.5


def test_an_owner_gives_as_many_numbers_as_there_are_axes():
    axes = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 2.0], [0.0, 0.0]])
    shared = Plan(
        problem(Clipped(Squared(), 1.0, axes=axes)),
        (Party("a", 200, Budget(1.0)),),
        "blended-step",
        2,
        begin="public",
    )
    release = shared.releases[0]
    assert release.length == 2
    # Δ = 2/200, b = Δ·2/1, E‖w‖² = 2·2b²
    assert release.scale == pytest.approx(0.02)
    assert release.variance == pytest.approx(4 * 0.02**2)
    ledger = MemoryLedger(Grant("t", Budget(1.0), 2))
    owner = Owner(
        "a",
        treaty="t",
        plan=shared,
        risk=risk_of(shared.problem.loss, *rows(200, 4, 1)),
        ledger=ledger,
    )
    assert len(owner.answer(Query("t", "r", 1, (0.0,) * 4))) == 2
    with pytest.raises(Refusal, match="theta has 2 coordinates, the treaty says 4"):
        owner.answer(Query("t", "r", 2, (0.0,) * 2))
