"""A few questions, blended with public evidence: against Bayes' rule, by hand, and at their ends."""

import math
from dataclasses import replace

import numpy as np
import pytest

from problems import plan, problem, rows
from treaty.errors import TreatyError
from treaty.fitness import RowRisk, risk_of
from treaty.learners import Brief, PublicView, survey, view_of
from treaty.learners.blended_step import BlendedStep
from treaty.learners.geometry import declared_geometry
from treaty.losses import Clipped, Logistic, Squared
from treaty.plans import Driver, Party, Plan
from treaty.privacy import Budget
from treaty.simulation import simulate


def _learner(
    view: PublicView, noise: float, records: int, start: np.ndarray, horizon: int = 1
) -> BlendedStep:
    p = len(start)
    shape = problem(Squared(), p, theta_max=100.0)
    return BlendedStep(
        Brief(
            problem=shape,
            horizon=horizon,
            parameters={},
            geometry=declared_geometry(shape, start),
            weights=np.ones(1),
            noises=np.array([noise]),
            frequencies=np.ones(1),
            frequency_scaling="off",
            start=start,
            records=records,
            public=view,
        )
    )


def test_one_parameter_by_hand():
    """Σ = 0.5, H = 2, scatter 3 over 8 records, noise 1, doubt 4/8, (½·½)·(½ + ½)/2 of bending: V = 2.

    The step is ΣH/(H²Σ + V)·(3 − 1) = 1/(2 + 2)·2 = 0.5.
    """
    one = np.ones((1, 1))
    view = PublicView(
        0.5 * one, 2 * one, 2 * one, 3 * one, np.ones(1), 0.5 * one, 0.5 * one, 0.5 * one, 2
    )
    assert view.bending(0.5 * one) == pytest.approx(0.125 * one)
    learner = _learner(view, 1.0, 8, np.array([10.0]))
    learner.tell(0, np.array([3.0]))
    np.testing.assert_allclose(learner.model, [9.5])
    assert learner.finished
    # B = 1/4, so that BHΣ = 1/4 is learnt of Σ = 1/2; with H₁ = 2 that is worth ½·2/4.
    assert learner.expected_gain(2 * one) == pytest.approx(0.25)


def test_two_questions_by_hand():
    """As above with noise 1 in each of two answers, and no bending: V = 1 + 2·(3/8 + 5/8) = 3.

    First B = 1/(2 + 3) = 1/5 and Σ = ½ − ⅕ = 3/10; then B = 0.6/(1.2 + 3) = 1/7 and Σ = 0.3 − 0.6/7.
    """
    one = np.ones((1, 1))
    view = PublicView(
        0.5 * one, 2 * one, 2 * one, 3 * one, np.ones(1), 0.625 * one, 0 * one, 0 * one, 1
    )
    learner = _learner(view, 1.0, 8, np.array([10.0]), horizon=2)
    learner.tell(0, np.array([3.0]))
    np.testing.assert_allclose(learner.model, [9.6])
    assert not learner.finished
    learner.tell(0, np.array([2.4]))
    np.testing.assert_allclose(learner.model, [9.4])
    assert learner.finished
    assert learner.expected_gain(2 * one) == pytest.approx(0.5 - 0.3 + 0.6 / 7)


def test_what_is_left_after_several_questions_is_as_computed():
    """Chance in the owners' records is the same in every answer, the noise is not: drawn many times."""
    random = np.random.default_rng(3)
    p, n, noise, rounds, times = 2, 50, 0.3, 4, 4_000
    covariance, curvature, scatter = (
        r @ r.T + 0.1 * np.eye(p) for r in random.standard_normal((3, p, p))
    )
    nothing = np.zeros((p, p))
    view = PublicView(
        covariance, curvature, curvature, scatter, np.zeros(p), nothing, nothing, nothing, 1
    )
    off = []
    for best, chance in zip(
        random.multivariate_normal(np.zeros(p), covariance, times),
        random.multivariate_normal(np.zeros(p), scatter / n, times),
        strict=True,
    ):
        learner = _learner(view, noise, n, np.zeros(p), rounds)
        while not learner.finished:
            blur = chance + np.sqrt(noise / p) * random.standard_normal(p)
            learner.tell(0, curvature @ (learner.model - best) + blur)
        off.append(learner.model - best)
    left = np.mean([np.outer(d, d) for d in off], axis=0)
    gain = learner.expected_gain(curvature)
    assert 0.5 * np.sum(curvature * (covariance - left)) == pytest.approx(gain, rel=0.05)
    assert 0.5 * np.sum(curvature * left) < 0.5 * np.sum(curvature * covariance) - 0.9 * gain


@pytest.mark.parametrize(
    ("loss", "share"),
    [(Squared(), 0.1), (Clipped(Squared(), 2.0), 0.4), (Logistic(), 0.9)],
    ids=["squared", "clipped", "logistic"],
)
def test_with_little_noise_more_questions_come_nearer(loss, share):
    """One step is as wrong as the curvature of 60 public rows is; the next ones mend it."""
    reached = {}
    for horizon in (1, 3):
        one = plan(
            loss, "blended-step", n=4000, horizon=horizon, epsilon=1e4, ridge=1e-6, begin="tuned"
        )
        owners = [_population(4000, seed, labels=loss.labels) for seed in range(3)]
        data = {f"owner {i}": risk_of(one.problem.loss, *each) for i, each in enumerate(owners)}
        costs = []
        for seed in range(20):
            rows = RowRisk(
                one.problem.fitness_loss, *_population(60, 70 + seed, labels=loss.labels)
            )
            costs.append(simulate(one.informed_by(survey(one.problem, rows)), data, runs=2).mean)
        reached[horizon] = np.mean(costs)
    assert reached[3] < share * reached[1]


def test_it_is_the_mean_of_what_bayes_rule_believes():
    """θ* ~ N(θ₀, Σ), answer = H(θ₀ − θ*) + blur: the joint normal, conditioned by brute force."""
    random = np.random.default_rng(0)
    p, n, noise = 3, 400, 0.7
    roots = [random.standard_normal((p, p)) for _ in range(4)]
    covariance, curvature, scatter, doubt = (r @ r.T + 0.1 * np.eye(p) for r in roots)
    nothing = np.zeros((p, p))
    center = random.standard_normal(p)
    view = PublicView(covariance, curvature, curvature, scatter, center, doubt, nothing, nothing, 1)
    learner = _learner(view, noise, n, np.zeros(p))
    answer = random.standard_normal(p)
    learner.tell(0, answer)
    blur = noise / p * np.eye(p) + scatter / n + doubt
    joint = np.block(
        [
            [covariance, -covariance @ curvature],
            [-curvature @ covariance, curvature @ covariance @ curvature + blur],
        ]
    )
    draws = random.multivariate_normal(np.zeros(2 * p), joint, size=2_000_000, method="cholesky")
    slope = np.linalg.lstsq(draws[:, p:], draws[:, :p], rcond=None)[0]
    np.testing.assert_allclose(learner.model, (answer - view.answer) @ slope, atol=0.03)


def _population(n: int, seed: int, *, labels: bool):
    """Rows with a good deal of chance in them."""
    random = np.random.default_rng(seed)
    x = np.column_stack([random.uniform(-0.5, 0.5, (n, 3)), np.ones(n)])
    score = x @ np.array([1.0, -1.0, 0.5, 0.2])
    if labels:
        return x, np.where(score + random.logistic(size=n) > 0, 1.0, -1.0)
    return x, np.clip(score + 0.3 * random.standard_normal(n), -1.0, 1.0)


@pytest.mark.parametrize(
    "loss", [Squared(), Clipped(Squared(), 2.0), Logistic()], ids=lambda loss: loss.name
)
@pytest.mark.parametrize("begin", ["public", "tuned"])
def test_between_the_public_model_and_the_best_one(loss, begin):
    """With hardly any budget it stays where it is; with all of it, it comes near to the best model."""
    labels = loss.labels
    poor = plan(loss, "blended-step", n=4000, horizon=1, epsilon=1e-3, ridge=1e-6, begin=begin)
    owners = [_population(4000, seed, labels=labels) for seed in range(3)]
    data = {f"owner {i}": risk_of(poor.problem.loss, *each) for i, each in enumerate(owners)}
    stays, gains = [], []
    for seed in range(20):
        rows = RowRisk(poor.problem.fitness_loss, *_population(150, 50 + seed, labels=labels))
        informed = poor.informed_by(survey(poor.problem, rows))
        poorly = simulate(informed, data, runs=20)
        stays.append(np.abs(poorly.models - informed.start).max())
        richly = simulate(informed.silent(), data, runs=2, measured_with=poorly.yardstick)
        gains.append([richly.final[0], float(poorly.yardstick.relative(informed.start))])
    assert max(stays) < 0.2 * np.linalg.norm(informed.start)
    reached, before = np.mean(gains, axis=0)
    assert reached < 0.2 * before


@pytest.mark.parametrize("clip", [math.inf, 0.5])
def test_a_column_that_no_public_row_has_does_not_run_away(clip):
    """Nobody knows the curvature there: without any noise it stays near the public model there."""
    loss = Squared() if math.isinf(clip) else Clipped(Squared(), clip)
    random = np.random.default_rng(4)

    def rows(n: int, rare: int) -> tuple[np.ndarray, np.ndarray]:
        x = np.column_stack([random.uniform(-1, 1, n), np.zeros(n), np.zeros(n), np.ones(n)])
        x[:rare, 1] = 8.0  # a rare category, scaled by how rare it is
        x[: 4 * rare, 2] = 4.0
        return x, np.clip(
            x @ np.array([0.5, 0.02, -0.03, 0.1]) + 0.2 * random.standard_normal(n), -1, 1
        )

    treaty = plan(
        loss, "blended-step", n=4000, horizon=1, epsilon=math.inf, ridge=1e-6, begin="tuned"
    )
    data = {f"owner {i}": risk_of(treaty.problem.loss, *rows(4000, 40)) for i in range(3)}
    starts, ends = [], []
    for seed in range(20):
        x, y = rows(100, seed % 2)  # none, or one of them
        public = RowRisk(treaty.problem.fitness_loss, x, y)
        informed = treaty.informed_by(survey(treaty.problem, public))
        reached = simulate(informed, data, runs=2)
        starts.append(float(reached.yardstick.relative(informed.start)))
        ends.append(reached.final[0])
    assert np.mean(ends) < 0.5 * np.mean(starts)
    assert max(ends) < max(starts)


def test_how_uneven_rows_are_by_hand():
    """One column, two rows, h = 2x²: 2 and 8, so H = 5; with half a row more (H + K)⁻¹ = 1/7.5."""
    shape = problem(Squared(), 1, ridge=0.0, theta_max=100.0)
    x, y = np.array([[1.0], [2.0]]), np.array([1.0, 2.5])
    view = view_of(shape, RowRisk(Squared(), x, y), np.array([1.0]), np.zeros((1, 1)))
    shares = [2**2 * 1 / (1 - 2 / 7.5 / 2) ** 2, 2**2 * 16 / (1 - 8 / 7.5 / 2) ** 2]
    assert view.uneven[0, 0] == pytest.approx(np.mean(shares) / 5)
    assert view.bending(np.eye(1))[0, 0] == pytest.approx(5 / 2 * (view.uneven[0, 0] + 5))


def _long(n: int, seed: int, scale: float | None = None):
    """Rows with one column that most have next to nothing in, scaled as few of them tell."""
    random = np.random.default_rng(seed)
    x = np.column_stack([random.standard_normal((n, 3)), random.standard_t(2, n), np.ones(n)])
    x[:, 3] = np.clip(x[:, 3], -60, 60)
    scale = float(x[:, 3].std()) if scale is None else scale
    y = x @ np.array([0.5, -0.5, 0.3, 0.3 / scale, 0.1]) + random.standard_normal(n)
    return x / np.array([1, 1, 1, scale, 1]), y, scale


def test_a_column_that_few_rows_decide_about_is_not_stepped_too_far_in():
    """Others vary more in it than those that it was scaled by, and a whole step goes too far."""
    shape = problem(Squared(), 5, ridge=1e-6, theta_max=100.0)
    parties = tuple(Party(f"owner {i}", 4000, Budget(math.inf)) for i in range(3))
    treaty = Plan(shape, parties, "blended-step", 1, begin="public")
    starts, ends = [], []
    for seed in range(40):
        x, y, scale = _long(60, seed)
        informed = treaty.informed_by(survey(treaty.problem, RowRisk(Squared(), x, y)))
        data = {f"owner {i}": risk_of(Squared(), *_long(4000, 99 + i, scale)[:2]) for i in range(3)}
        reached = simulate(informed, data, runs=2)
        starts.append(float(reached.yardstick.relative(informed.start)))
        ends.append(reached.final[0])
    assert np.mean(ends) < 0.6 * np.mean(starts)


def test_where_the_owners_are_the_public_rows_it_stays():
    """Clipped gradients at the public model are not 0, but the public rows' own are the same."""
    loss = Clipped(Squared(), 0.3)
    x, y = rows(300, 4, 1)
    shared = plan(
        loss, "blended-step", owners=1, n=300, horizon=1, epsilon=math.inf, begin="public"
    )
    surveyed = survey(shared.problem, risk_of(loss, x, y).with_loss(Squared()))
    informed = shared.informed_by(surveyed)
    driver = Driver(informed)
    exact = driver.ask(0).exact(
        risk_of(loss, x, y).with_loss(informed.problem.loss), informed.problem
    )
    assert np.abs(exact).max() > 1e-4
    driver.tell(0, {0: exact})
    np.testing.assert_allclose(driver.model, informed.start, atol=1e-12)


def test_how_far_a_public_model_is_off_is_as_computed():
    """The covariance of the tuned public model about the truth, over many sets of public rows."""
    shape = problem(Squared(), ridge=0.0, theta_max=100.0)
    truth = np.linspace(-1.0, 1.0, 4)
    squares, stated = [], []
    for seed in range(400):
        random = np.random.default_rng(seed)
        x = np.column_stack([random.standard_normal((60, 3)), np.ones(60)])
        y = x @ truth + 0.3 * random.standard_normal(60)
        public = survey(shape, RowRisk(Squared(), x, y))
        view = view_of(shape, public.risk, public.theta, np.zeros((4, 4)))
        off = public.theta - truth
        squares.append(np.outer(off, off))
        stated.append(view.covariance)
    measured, expected = np.mean(squares, axis=0), np.mean(stated, axis=0)
    np.testing.assert_allclose(np.diag(measured), np.diag(expected), rtol=0.25)


def test_a_model_with_less_of_a_ridge_than_the_problem_is_off_by_chance_alone():
    """By hand for one column: c/m·H/(H + K)² where K is less than λ, and not H + K − λ, below 0 here."""
    shape = problem(Squared(), 1, ridge=8.0, theta_max=100.0)
    random = np.random.default_rng(0)
    x = np.ones((200, 1))
    rows = RowRisk(Squared(), x, 0.5 + 0.1 * random.standard_normal(200))
    theta = np.array([0.5])
    view = view_of(shape, rows, theta, np.array([[0.5]]))
    gradient = 2 * (0.5 - rows.y)  # H = 2, K = 0.5; one row more of curvature 2
    inverse = 1 / (2 + 0.5 + 2 / 200)
    ratio = gradient.var() / 2 / (1 - 2 * inverse / 200) ** 2
    assert view.covariance[0, 0] == pytest.approx(ratio / 200 * inverse**2 * (2 + 2 / 200))


def test_it_needs_public_rows_and_few_rounds():
    with pytest.raises(TreatyError, match="begins at a model of public rows"):
        plan(Squared(), "blended-step", begin="zero").learner()
    with pytest.raises(TreatyError, match="its horizon is at most 100, not 101"):
        replace(plan(Squared(), "blended-step", begin="zero"), horizon=101).learner()


def test_what_clipping_does_is_as_uncertain_as_computed():
    """Over many sets of public rows: the mean answer there, less what the view makes of it."""
    limit, sets, m = 0.4, 400, 400
    shape = problem(Clipped(Squared(), limit, "l2"), ridge=0.0, theta_max=100.0)
    wide = RowRisk(Squared(), *_heavy(200_000, 0))
    best = np.linalg.solve(wide.moments.xx, wide.moments.xy)
    errors, told, offs = [], [], []
    for seed in range(1, sets):
        rows = RowRisk(Squared(), *_heavy(m, seed))
        theta = np.linalg.solve(rows.moments.xx, rows.moments.xy)
        view = view_of(shape, rows, theta, np.zeros((4, 4)))
        answered = wide.with_loss(shape.loss).gradient(theta)
        errors.append(answered - view.answer - view.curvature @ (theta - best))
        told.append(view.doubt + view.bending(view.covariance))
        offs.append((theta - best) @ view.whole)
    spread = np.cov(np.array(errors).T)
    assert np.trace(spread) == pytest.approx(np.trace(np.mean(told, axis=0)), rel=0.35)
    # Nor does it go with how far θ₀ is off: chance in long gradients shows in them clipped as well.
    assert abs(np.sum(np.multiply(errors, offs)) / np.sum(np.square(offs))) < 0.1


def _heavy(n: int, seed: int):
    """Rows whose residuals have long tails, so that much is clipped."""
    random = np.random.default_rng(seed)
    x = np.column_stack([random.uniform(-0.5, 0.5, (n, 3)), np.ones(n)])
    return x, x @ np.array([1.0, -1.0, 0.5, 0.2]) + 0.1 * random.standard_t(3, n)


@pytest.mark.parametrize("epsilon", [1.0, 100.0])
def test_what_few_public_rows_cannot_tell_from_nothing_may_still_be_learnt(epsilon):
    """Cross-validation on 30 of them often finds no ridge strong enough; owners' records know better."""
    loss, held = Logistic(), 0
    treaty = plan(
        loss, "blended-step", n=4000, horizon=1, epsilon=epsilon, ridge=1e-6, begin="tuned"
    )
    owners = [_population(4000, seed, labels=True) for seed in range(3)]
    data = {f"owner {i}": risk_of(treaty.problem.loss, *each) for i, each in enumerate(owners)}
    before, after = [], []
    for seed in range(40):
        rows = RowRisk(treaty.problem.fitness_loss, *_population(30, 700 + seed, labels=True))
        surveyed = survey(treaty.problem, rows)
        theta = surveyed.tuned.theta
        if np.abs(theta[:3]).max() > 1e-6:
            continue
        held += 1
        # A constant, and as unsure of all else as of a model with a ridge as strong as the rows.
        view = surveyed.view("tuned")
        chance = np.diag(view.covariance)[:3] * np.diag(view.whole)[:3] * 30
        assert np.all(chance > 0.2)
        informed = treaty.informed_by(surveyed)
        reached = simulate(informed, data, runs=3)
        before.append(float(reached.yardstick.relative(informed.start)))
        after.append(reached.mean)
    assert held >= 5
    assert np.mean(after) < 0.7 * np.mean(before)
