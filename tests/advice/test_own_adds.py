"""What an owner adds to the others' own predictions, against trainings with and without it."""

import numpy as np
import polars as pl
import pytest

import treaty as t
from treaty.adaptation import OwnRecords, adapt, in_predictions
from treaty.fitness.threads import on_one_thread
from treaty.gains.prospect import felt
from treaty.learners import survey
from treaty.losses import Squared
from treaty.records import FrameSource
from treaty.simulation import simulated_models
from treaty.terms import encoder_of, fit, loads, plan_of, problem_of

P, SMALL, LARGE, OTHERS = 10, 60, 3000, 5
COLUMNS = [f"x{i}" for i in range(P)]
TEXT = (
    'version = 1\ntitle = "one large owner"\n'
    + "".join(f'[features.{c}]\nkind = "number"\nbounds = [-2, 2]\n' for c in COLUMNS)
    + '[target]\ncolumn = "y"\nbounds = [-10, 10]\n[dictionary]\nstandardise = "public"\nnorm = "l1"\n'
    '[loss]\nname = "squared"\nclip = 20.0\nridge = 1e-6\ntheta_max = 5.0\n'
    '[training]\nmethod = "blended-step"\nhorizon = 1\nstart = "tuned"\n'
    f'[[parties]]\nname = "large"\nrecords = {LARGE}\nepsilon = 20.0\n'
    + "".join(
        f'[[parties]]\nname = "o{i}"\nrecords = {SMALL}\nepsilon = 20.0\n' for i in range(OTHERS)
    )
)
TRUTH = np.linspace(-1, 1, P)


def _rows(n, seed):
    random = np.random.default_rng(seed)
    x = random.uniform(-2, 2, (n, P))
    y = x @ TRUTH + random.standard_normal(n)
    return pl.DataFrame({**dict(zip(COLUMNS, x.T, strict=True)), "y": y})


def _public(seed):
    return pl.concat(
        [
            _rows(20, 1000 * seed + i).with_columns(who=pl.lit(name))
            for i, name in enumerate(["large", *(f"o{i}" for i in range(OTHERS))])
        ]
    )


def _measured(runs):
    """By which share the small owners' errors on fresh records fall because the large one is in."""
    falls = []
    for seed in range(runs):
        public = _public(seed)
        document = fit(loads(TEXT), public.drop("who"))
        encoder, problem = encoder_of(document), problem_of(document)
        known = survey(problem, encoder.rows(Squared(), FrameSource(public))[0])
        plan = plan_of(document).informed_by(known)
        sizes = {party.name: party.records for party in plan.parties}
        held = {n: _rows(k, 7000 + 10 * seed + i) for i, (n, k) in enumerate(sizes.items())}
        risks = {n: encoder.risk(problem.loss, FrameSource(frame))[0] for n, frame in held.items()}
        later = encoder.rows(Squared(), FrameSource(_rows(4000, 99 + seed)))[0]
        metrics = in_predictions(problem, known.risk, known.tuned.theta)
        errors = []
        for there in (plan, plan.with_parties(p for p in plan.parties if p.name != "large")):
            held_by = {party.name: risks[party.name] for party in there.parties}
            shared = simulated_models(there, held_by, runs=2, seed=seed)
            for name in ("o0", "o1"):
                rows = encoder.rows(Squared(), FrameSource(held[name]))[0]
                own = OwnRecords(problem, rows.x, rows.y)
                near = adapt(own, shared, metrics, public=known.tuned.theta)
                errors.append(np.sqrt(np.mean([later.value(model.theta) for model in near])))
        falls.append(1 - sum(errors[:2]) / sum(errors[2:]))
    return float(np.mean(falls)), float(np.std(falls) / np.sqrt(runs))


def test_what_a_large_owner_adds_to_the_small_ones_is_about_what_is_measured():
    told = [t.advise(loads(TEXT), _public(seed), by="who").adds_to_others for seed in (50, 51, 52)]
    large = float(np.mean([each["large"] for each in told]))
    with on_one_thread():
        measured, error = _measured(14)
    assert measured > 2 * error
    assert 0.4 * (measured - 2 * error) < large < 2.5 * (measured + 2 * error)
    for each in told:
        assert max(each, key=lambda name: each[name]) == "large"
        assert each["o0"] < 0.3 * each["large"]


def test_what_is_felt_by_hand():
    """Two worlds, three models: adapted costs rise by a quarter of what shared ones do."""
    shared = np.array([[1.0, 2.0, 4.0], [0.0, 2.0, 2.0]])
    adapted = np.array([[5.0], [7.0]]) + shared / 4
    assert felt(shared, adapted) == pytest.approx(0.25)
    assert felt(shared, -adapted) == 0.0
    assert felt(shared, 9 * adapted) == 1.0
    assert felt(np.ones((2, 3)), adapted) == 0.0
