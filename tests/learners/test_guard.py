"""Steps that answers say made a model worse: by hand, on squares, with public rows of other times."""

from unittest.mock import patch

import numpy as np
import pytest

from problems import problem
from treaty.fitness import RowRisk, pooled, risk_of
from treaty.learners import survey
from treaty.learners.guard import Guard
from treaty.losses import Clipped, Squared
from treaty.plans import Party, Plan
from treaty.privacy import Budget
from treaty.simulation import simulate


def _one(value: float) -> np.ndarray:
    return np.array([value])


@pytest.mark.parametrize("last", [False, True])
def test_one_number_by_hand(last):
    """At 0 an answer is 2 too low and the step 10 long; at 10 it is 8 too high.

    The loss has risen by 10·(8 − 2)/2 = 30. Off by nothing is 2/(2 + 8) of the way: 2. After the last
    answer it is 0, the best so far. Then no step is longer than 2, and after the last answer 1.
    """
    guard = Guard(1.0, np.eye(1))
    assert guard.next(_one(0), _one(-2), _one(-10), last=False) == 10
    assert not guard.has_turned
    assert guard.next(_one(10), _one(8), _one(3), last=last) == (0 if last else 2)
    assert guard.has_turned
    if not last:
        assert guard.next(_one(2), _one(-0.4), _one(-1.5), last=False) == 3.5
        assert guard.next(_one(3.5), _one(-0.4), _one(-7), last=False) == 5.5
        assert guard.next(_one(5.5), _one(-0.4), _one(-7), last=True) == 6.5


def test_what_the_noise_may_have_done_is_no_rise():
    """Risen by 30 is known within √(v/2)·10: clearly so for v = 1, and not for v = 2, 4·10 > 30."""
    for noise, model in ((1.0, 2), (2.0, 7)):
        guard = Guard(noise, np.eye(1))
        guard.next(_one(0), _one(-2), _one(-10), last=False)
        assert guard.next(_one(10), _one(8), _one(3), last=False) == model


@pytest.mark.parametrize("seed", range(5))
def test_a_square_is_followed_wherever_it_falls_and_left_where_it_rises(seed):
    """Against the loss itself, which nobody but this test knows."""
    random = np.random.default_rng(seed)
    root = random.standard_normal((4, 4))
    curvature, best = root @ root.T + 0.1 * np.eye(4), random.standard_normal(4)
    guard, model = Guard(0.0, np.eye(4)), np.zeros(4)
    lowest = np.inf
    for _ in range(12):
        loss = 0.5 * (model - best) @ curvature @ (model - best)
        step = random.choice([0.02, 0.3, 3.0]) * (curvature @ (model - best))
        moved = guard.next(model, curvature @ (model - best), step, last=False)
        assert guard.has_turned or loss <= lowest + 1e-12
        if loss <= lowest:
            lowest, kept = loss, model
        else:  # back between the best one and this one, where the line is lowest, or half way
            way = model - kept
            share = way @ curvature @ (best - kept) / (way @ curvature @ way)
            np.testing.assert_allclose(moved, kept + min(share, 0.5) * way, rtol=1e-9)
        model = moved


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 100.0])
def test_with_public_rows_like_the_owners_no_step_is_taken_back(epsilon):
    """50 trainings of five rounds, with hardly any noise and with far too much of it."""
    shape = problem(Squared(), 4, ridge=1e-6, theta_max=100.0)
    parties = tuple(Party(f"owner {i}", 4000, Budget(epsilon)) for i in range(3))
    treaty = Plan(problem(Clipped(Squared(), 4.0), 4), parties, "blended-step", 5, begin="public")
    data = {
        p.name: risk_of(treaty.problem.loss, *_rows(4000, i, 1.0)) for i, p in enumerate(parties)
    }
    informed = treaty.informed_by(survey(shape, RowRisk(Squared(), *_rows(300, 9, 1.0))))
    guards: set[Guard] = set()
    passed = Guard.next

    def noted(self, *args, **kwargs):
        guards.add(self)
        return passed(self, *args, **kwargs)

    with patch.object(Guard, "next", noted):
        simulate(informed, data, runs=50)
    assert len(guards) == 50
    assert not any(guard.has_turned for guard in guards)


def _rows(n: int, seed: int, later: float):
    """Rows with a column that is `later` times as large as it was, and counts for less."""
    random = np.random.default_rng(seed)
    x = np.column_stack([random.standard_normal((n, 3)), np.ones(n)])
    x[:, 2] = 0.1 * later * (x[:, 2] + (later > 1) * 3.0)
    return x, x @ np.array([0.5, -0.5, 0.1, 0.1]) + 0.5 * random.standard_normal(n)


@pytest.mark.parametrize("rounds", [2, 3, 5])
def test_public_rows_of_other_times_do_no_harm_if_there_is_a_second_question(rounds):
    """The mean of a column has moved, and clipped gradients far away do not tell how far it is back."""
    shape = problem(Clipped(Squared(), 4.0), 4, ridge=1e-6, theta_max=100.0)
    parties = tuple(Party(f"owner {i}", 4000, Budget(100.0)) for i in range(3))
    treaty = Plan(shape, parties, "blended-step", rounds, begin="public")
    shape = treaty.problem
    data = {p.name: risk_of(shape.loss, *_rows(4000, i, 20.0)) for i, p in enumerate(parties)}
    whole = [risk_of(Squared(), *_rows(4000, i, 20.0)) for i in range(3)]
    guarded, blind, before = [], [], []
    for seed in range(8):
        informed = treaty.informed_by(
            survey(shape, RowRisk(Squared(), *_rows(100, 50 + seed, 1.0)))
        )
        before.append(pooled(whole).value(informed.start))
        guarded.append(pooled(whole).value(simulate(informed, data, runs=3).models).max())
        with patch.object(Guard, "next", lambda self, asked, off, step, last: asked - step):
            blind.append(pooled(whole).value(simulate(informed, data, runs=3).models).max())
    assert max(blind) > 2 * max(before)
    assert np.all(np.less(guarded, 1.001 * np.array(before)))
