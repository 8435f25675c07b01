"""A learner that falls back to the public model: coalitions against rehearsals, targets by search."""

import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treaty as t
from treaty.advice.targets import beats_alone, reach
from treaty.advice.worth import Worth, worth_of
from treaty.forecasting import outlook_on
from treaty.terms import loads

COLUMNS = [f"x{i}" for i in range(6)]
OWNERS = 12
TEXT = (
    'version = 1\ntitle = "twelve"\n'
    + "".join(f'[features.{c}]\nkind = "number"\nbounds = [-2, 2]\n' for c in COLUMNS)
    + '[target]\ncolumn = "y"\nbounds = [-10, 10]\n[dictionary]\nstandardise = "public"\nnorm = "l1"\n'
    '[loss]\nname = "squared"\nclip = 20.0\nridge = 1e-6\ntheta_max = 5.0\n'
    '[training]\nmethod = "blended-step"\nhorizon = 1\nstart = "tuned"\n'
    + "".join(
        f'[[parties]]\nname = "o{i}"\nrecords = {500 + 100 * i}\nepsilon = 1.0\n'
        for i in range(OWNERS)
    )
)


def _public() -> pl.DataFrame:
    random = np.random.default_rng(0)
    x = random.uniform(-2, 2, (400, len(COLUMNS)))
    y = x @ np.linspace(-1, 1, len(COLUMNS)) + 2 * random.standard_normal(len(x))
    return pl.DataFrame({**dict(zip(COLUMNS, x.T, strict=True)), "y": y})


def test_coalitions_are_worth_what_rehearsals_of_them_say():
    """With few owners there is much noise, and the blend falls back to the public model."""
    outlook = outlook_on(loads(TEXT), t.Evidence(_public()))
    worth = worth_of(outlook)
    random = np.random.default_rng(1)
    for size in (12, 8, 4, 2, 1):
        chosen = random.permutation(OWNERS)[:size]
        members = np.zeros((1, OWNERS))
        members[0, chosen] = 1.0
        told = float(worth.psi(members)[0])
        rehearsed = outlook.rehearse_coalition([worth.names[i] for i in chosen], precision=0.05)
        assert told == pytest.approx(rehearsed.psi.value, rel=0.15)
    # As if it did not fall back, one owner would be said to do much worse than the public rows.
    plain = replace(worth, fallback=math.inf)
    assert float(plain.psi(members)[0]) > 3 * told


def _worth(noise: float, chance: float, fallback: float, optimisation: float = 0.01) -> Worth:
    return Worth(
        names=("a", "b"),
        records=np.array([100.0, 100.0]),
        noise=np.full(2, noise),
        sampling=chance,
        optimisation=optimisation,
        nothing=optimisation + fallback,
        luck=0.9,
        pulls=np.zeros((2, 0)),
        difference_costs=np.zeros(2),
        fallback=fallback,
    )


def test_by_hand():
    """A cost as large as the public model's is halved; ten times that comes to 10/11 of it."""
    worth = _worth(1.0, 1.0, 0.2, 0.0)
    assert worth.at_cost(np.array([0.0, 0.2, 2.0])) == pytest.approx([0.0, 0.1, 0.2 * 10 / 11])
    assert worth.cost_at(0.1) == pytest.approx(0.2)
    assert worth.cost_at(0.2) == math.inf
    assert replace(worth, fallback=math.inf).cost_at(0.1) == pytest.approx(0.1)


@given(st.floats(1e-4, 1e4), st.floats(1e-3, 1e3), st.floats(0.01, 10))
@settings(max_examples=100)
def test_budgets_and_records_against_a_search(noise, chance, fallback):
    worth = _worth(noise, chance, fallback)
    now = float(worth.psi(np.ones((1, 2)))[0])
    target = 0.01 + 0.5 * (now - 0.01)
    factor = reach(worth, np.ones(2), target).epsilon_factor
    assert factor is not None
    richer = replace(worth, noise=worth.noise / factor**2)
    assert float(richer.psi(np.ones((1, 2)))[0]) == pytest.approx(target, rel=1e-6)
    # Everybody's records times r: noise falls as 1/r², what an own model lacks as 1/r.
    r = np.logspace(-4, 4, 20_001)
    cost = float(worth.noise.sum()) / worth.total**2 / r**2
    ahead = worth.at_cost(cost) <= float(worth.alone()[0]) / r
    found = beats_alone(worth, np.ones(2), "a").records_factor
    one = len(r) // 2
    if float(worth.alone()[0]) <= 0.01:
        assert found is None
    elif ahead[one]:
        gaps = np.flatnonzero(~ahead[:one])
        assert found == pytest.approx(r[gaps[-1]] if len(gaps) else 0.0, rel=2e-3, abs=1e-4)
    elif ahead[one:].any():
        assert found == pytest.approx(r[one + int(np.argmax(ahead[one:]))], rel=2e-3)
    else:
        assert found is None or found > 1e4 * 0.99
