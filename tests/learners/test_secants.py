"""Answers against the public curvature: by hand, against the joint normal law, and in the worst case."""

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest

from problems import problem
from treaty.fitness import RowRisk, risk_of
from treaty.learners import Brief, PublicView, survey
from treaty.learners.blended_step import BlendedStep
from treaty.learners.geometry import declared_geometry
from treaty.learners.guard import Guard
from treaty.learners.secants import LIKELIER, TIMES, Secants
from treaty.losses import Squared
from treaty.plans import Party, Plan
from treaty.privacy import Budget
from treaty.simulation import simulate


def _view(bends: np.ndarray, rows: float = 10.0) -> PublicView:
    """Rows that are all alike: W = H₁ + tr(H₁)/p·1."""
    nothing = np.zeros_like(bends)
    size = len(bends)
    return PublicView(
        np.eye(size), bends, bends, nothing, np.zeros(size), nothing, bends, bends, rows
    )


def test_one_number_by_hand():
    """H = 2 of 10 rows, W = 4; a step of 3 should change the answer by 6, and changes it by 60.

    Es = 54 has variance 9·(2/10)·4 = 7.2 by public rows, and noise adds 2·0.05: found after division by
    √2 as 54²/2 = 1458 beside 3.6τ + 0.05. The likeliest τ makes these equal, and E is nearly 54/3 = 18.
    """
    one = np.ones((1, 1))
    secants = Secants(_view(2 * one), one, 0.05, None)
    error = secants.contradiction([np.zeros(1), 3 * np.ones(1)], [np.ones(1), 61 * np.ones(1)])
    times = TIMES[np.argmin(np.abs(np.log(3.6 * TIMES + 0.05) - np.log(1458)))]
    assert error is not None
    assert error[0, 0] == pytest.approx(18 * 3.6 * times / (3.6 * times + 0.05))
    # A change of 9 is one that public rows explain.
    assert (
        secants.contradiction([np.zeros(1), 3 * np.ones(1)], [np.ones(1), 10 * np.ones(1)]) is None
    )
    # And with rows of one owner only, so is the other: Es would have variance 72·4.
    few = Secants(_view(2 * one), one, 0.05, 0.1)
    assert few.contradiction([np.zeros(1), 3 * np.ones(1)], [np.ones(1), 61 * np.ones(1)]) is None


@pytest.mark.parametrize("along", [4, 2], ids=["all numbers", "two axes"])
@pytest.mark.parametrize("seed", range(5))
def test_the_error_is_what_the_joint_normal_law_makes_of_it(along, seed):
    """Every entry of E and every difference of answers in one covariance matrix, conditioned."""
    random = np.random.default_rng(seed)
    p, rounds, noise = 4, 3, 0.2
    root = random.standard_normal((p, p))
    view = _view(root @ root.T + 0.2 * np.eye(p))
    axes = random.standard_normal((p, along))
    asked = random.standard_normal((rounds, p))
    wrong = axes.T @ (20 * random.standard_normal((p, p)))
    told = asked @ (axes.T @ view.bends + wrong).T + np.sqrt(noise) * random.standard_normal(
        (rounds, along)
    )
    error = Secants(view, axes, noise, None).contradiction(list(asked), list(told))
    assert error is not None
    steps = np.diff(asked, axis=0)
    left = (np.diff(told, axis=0) - steps @ view.bends @ axes).ravel()
    # Cov(E) = (AᵀWA) ⊗ H₁/m for E row by row; a difference is E s, shape (steps, along).
    differences = np.diff(np.eye(rounds), axis=0)
    maps = np.vstack([np.kron(np.eye(along), s) for s in steps])
    told_of = maps @ np.kron(axes.T @ view.wide @ axes, view.whole / view.rows)
    by_noise = noise * np.kron(differences @ differences.T, np.eye(along))
    likely = []
    for times in TIMES:
        spread = times * told_of @ maps.T + by_noise
        likely.append(-np.linalg.slogdet(spread)[1] - left @ np.linalg.solve(spread, left))
    best = int(np.argmax(likely))
    assert likely[best] - likely[0] > 2 * np.log(LIKELIER)
    spread = TIMES[best] * told_of @ maps.T + by_noise
    expected = TIMES[best] * told_of.T @ np.linalg.solve(spread, left)
    np.testing.assert_allclose(error.ravel(), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("size", [1.0, 0.1, 0.0])
def test_public_rows_are_believed_where_they_are_right(size):
    """E as public rows say, or smaller: a contradiction is found in at most one of 500 trainings."""
    random = np.random.default_rng(8)
    p, noise = 3, 0.3
    root = random.standard_normal((p, p))
    view = _view(root @ root.T + 0.2 * np.eye(p))
    secants = Secants(view, np.eye(p), noise, None)
    left, right = np.linalg.cholesky(view.wide), np.linalg.cholesky(view.whole / view.rows)
    found = 0
    for _ in range(2_000):
        error = size * left @ random.standard_normal((p, p)) @ right.T
        asked = random.standard_normal((3, p))
        told = asked @ (view.bends + error).T + np.sqrt(noise) * random.standard_normal((3, p))
        found += secants.contradiction(list(asked), list(told)) is not None
    assert found <= 4


def test_nothing_is_made_of_steps_that_were_not_taken():
    one = np.eye(2)
    secants = Secants(_view(one), one, 0.0, None)
    assert secants.contradiction([np.ones(2)] * 3, [np.ones(2), np.ones(2), np.zeros(2)]) is None


def _rows(n: int, seed: int, size: float):
    """Rows with a column that is `size` as large as the public rows have it."""
    random = np.random.default_rng(seed)
    x = np.column_stack([random.standard_normal((n, 3)), np.ones(n)])
    x[:, 2] *= size
    return x, x @ np.array([0.5, -0.5, 0.3 / size, 0.1]) + random.standard_normal(n)


@pytest.mark.parametrize("size", [4.0, 8.0])
def test_a_step_that_went_too_far_is_taken_back(size):
    """A column is larger for owners than public rows say: each step overshoots, without a look back."""
    shape = problem(Squared(), 4, ridge=1e-6, theta_max=100.0)
    parties = tuple(Party(f"owner {i}", 4000, Budget(1e4)) for i in range(3))
    treaty = Plan(shape, parties, "blended-step", 4, begin="public")
    data = {p.name: risk_of(Squared(), *_rows(4000, 90 + i, size)) for i, p in enumerate(parties)}
    starts, ends, blind = [], [], []
    for seed in range(10):
        informed = treaty.informed_by(
            survey(treaty.problem, RowRisk(Squared(), *_rows(60, seed, 1)))
        )
        reached = simulate(informed, data, runs=3)
        starts.append(float(reached.yardstick.relative(informed.start)))
        ends.append(reached.final.max())
        with (
            patch.object(Secants, "contradiction", return_value=None),
            patch.object(Guard, "next", lambda self, asked, off, step, last: asked - step),
        ):
            blind.append(simulate(informed, data, runs=3).final.max())
    assert np.mean(blind) > np.mean(starts)
    assert np.mean(ends) < 0.1 * np.mean(starts)
    assert np.all(np.less(ends, starts))


def test_every_run_is_learnt_as_if_it_were_alone():
    """Some runs are contradicted and some are not, at different rounds."""
    p, runs, rounds, random = 3, 6, 5, np.random.default_rng(2)
    shape = problem(Squared(), p, theta_max=100.0)
    view = replace(_view(2 * np.eye(p)), covariance=0.5 * np.eye(p))
    brief = Brief(
        problem=shape,
        horizon=rounds,
        parameters={},
        geometry=declared_geometry(shape, np.zeros(p)),
        weights=np.ones(1),
        noises=np.array([0.01]),
        frequencies=np.ones(1),
        frequency_scaling="off",
        start=np.zeros(p),
        records=1_000,
        public=view,
    )
    together = BlendedStep(replace(brief, runs=runs))
    single = [BlendedStep(brief) for _ in range(runs)]
    curvatures = 2.0 * np.array([1, 1.1, 4, 8, 1, 20])
    while not together.finished:
        answers = curvatures[:, None] * (together.model - random.standard_normal((runs, p)))
        together.tell(0, answers)
        for one, answer in zip(single, answers, strict=True):
            one.tell(0, answer)
        np.testing.assert_allclose(together.model, [one.model for one in single], rtol=1e-9)
