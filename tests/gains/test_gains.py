"""The owner's own question on made-up owners, where the truth is known."""

import json

import numpy as np
import polars as pl
import pytest

import treaty as t
from treaty.advice.stability import stability_of
from treaty.errors import TreatyError
from treaty.forecasting.own_view import own_gains
from treaty.gains import ADAPTED, ALONE, PUBLIC, TOGETHER, Audience, adapted
from treaty.gains.own_gain import sentence
from treaty.gains.table import overview, render
from treaty.losses import Squared
from treaty.measures import Errors, Estimate
from treaty.records import FrameSource, Target, open_source
from treaty.terms import encoder_of, fit, loads
from treaty.views import as_text

COLUMNS = [f"x{i}" for i in range(12)]
HEAD = (
    'version = 1\ntitle = "alike"\n'
    + "".join(f'[features.{c}]\nkind = "number"\nbounds = [-3, 3]\n' for c in COLUMNS)
    + """
[target]
column = "y"
bounds = [-10, 10]
unit = "points"
label = "score"
[dictionary]
standardise = "public"
norm = "l1"
[loss]
name = "squared"
clip = 20.0
ridge = 1e-6
theta_max = 5.0
[training]
method = "blended-step"
horizon = 1
start = "tuned"
"""
)
OWNERS = 12
EACH = 120


def _rows(n: int, seed: int, off: float = 0.0, noise: float = 1.0) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    x = random.uniform(-2, 2, (n, len(COLUMNS)))
    theta = np.linspace(-1, 1, len(COLUMNS)) + off * np.random.default_rng(seed).standard_normal(12)
    y = x @ theta + noise * random.standard_normal(n)
    return pl.DataFrame({**dict(zip(COLUMNS, x.T, strict=True)), "y": y})


def _treaty(epsilon: float = 50.0, each: int = EACH) -> t.Treaty:
    parties = "".join(
        f'[[parties]]\nname = "o{i}"\nrecords = {each}\nepsilon = {epsilon}\n'
        for i in range(OWNERS)
    )
    return loads(HEAD + parties)


@pytest.mark.parametrize(
    ("off", "epsilon", "each", "decision"),
    [
        (0.0, 100.0, 60, {"join", "too close"}),  # alike, few records, hardly any noise
        (
            0.0,
            0.01,
            60,
            {"too close", "no difference"},
        ),  # as much noise as there can be: nothing to win, little to lose
        (
            0.6,
            100.0,
            1500,
            {"too close", "small", "no difference"},
        ),  # each its own: many records of its own
    ],
)
def test_a_forecast_inside_the_walls_comes_true(off, epsilon, each, decision):
    """Forecast for an owner, then train, adapt and look at records that nobody has seen."""
    document = _treaty(epsilon, each)
    public, own = _rows(40, 999), {f"o{i}": _rows(each, i, off) for i in range(OWNERS)}
    foreseen = next(own_gains(document, open_source(public), {"o3": open_source(own["o3"])}))
    assert foreseen.decision in decision
    assert not foreseen.known
    report = t.train(t.assemble(document, own, public))
    mine = t.adapt_model(report.model, own["o3"], public, name="o3")
    later = _rows(20_000, 3, off).tail(10_000)

    def error(model: t.Model) -> float:
        said = model.margin(later) * 10.0
        return float(np.sqrt(np.mean((said - later["y"].to_numpy()) ** 2)))

    said = foreseen.adapted.rmse
    assert said.low * 0.95 <= error(mine.model) <= said.high * 1.05
    assert error(mine.model) <= 1.05 * min(error(report.model), foreseen.alone.rmse.value)
    if "join" in decision:
        assert foreseen.leans_to_join
        assert foreseen.gain.value > 0.01
        assert error(mine.model) < foreseen.models[foreseen.rival].rmse.value


def test_an_adapted_model_is_saved_reads_again_and_is_used_in_scikit_learn(tmp_path):
    document, own = _treaty(), {f"o{i}": _rows(EACH, i) for i in range(OWNERS)}
    public = _rows(80, 999)
    shared = t.train(t.assemble(document, own, public)).model
    mine = shared.adapt(own["o1"], public)
    assert mine.adapted is not None
    assert (mine.adapted.records, mine.adapted.times) == (EACH, 1)
    assert shared.adapted is None
    mine.save(tmp_path / "mine.json")
    again = t.Model.load(tmp_path / "mine.json")
    assert again == mine
    predicted = again.to_sklearn().predict(own["o1"])
    np.testing.assert_allclose(predicted, mine.margin(own["o1"]) * 10.0)
    twice = mine.adapt(own["o1"], public)
    assert twice.adapted is not None
    assert twice.adapted.times == 2


def test_a_report_says_all_in_the_targets_own_unit():
    document, own = _treaty(), {f"o{i}": _rows(EACH, i) for i in range(OWNERS)}
    public = _rows(80, 999)
    shared = t.train(t.assemble(document, own, public)).model
    report = t.adapt_model(shared, own["o1"], public, name="o1")
    gain = report.gain
    assert set(gain.models) == {ALONE, PUBLIC, adapted(PUBLIC), TOGETHER, ADAPTED}
    assert 0.7 < gain.adapted.rmse.value < 1.5  # the noise has 1 point
    assert gain.adapted.mae.value < gain.adapted.rmse.value
    assert 0 < gain.adapted.r2.value < 1
    shown = as_text(render(gain))
    assert "in points" in shown
    assert "release" in shown
    plain = json.loads(json.dumps(report.plain()))
    assert plain["models"]["alone"]["rmse"]["value"] == gain.alone.rmse.value
    assert plain["adapted"]["times"] == 1


def _gain(value: float, low: float, high: float, **more: object) -> t.OwnGain:
    errors = {name: Errors({"rmse": Estimate(13.6, 13.0, 14.2)}) for name in (ALONE, ADAPTED)}
    target = Target(column="delay", bounds=(0, 100), unit="minutes", label="arrival delay")
    settings = {"rival": ALONE, "measure": "rmse", "worthwhile": 0.01, **more}
    gain = Estimate(value, low, high)
    return t.OwnGain("UA", 500, target, errors, gain=gain, long_run=gain, **settings)


@pytest.mark.parametrize(
    ("gain", "decision", "says"),
    [
        (
            _gain(0.015, 0.004, 0.024),
            "join",
            "Joining would lower your error on your own records' arrival delay from 13.6 to 13.4 "
            "minutes (1.5%, between 0.4% and 2.4%); your best alternative without joining is your own "
            "model.",
        ),
        (_gain(0.005, 0.001, 0.008), "small", "A small gain: joining would lower"),
        (_gain(0.005, 0.001, 0.008, worthwhile=0.002), "join", "Joining would lower"),
        (_gain(-0.02, -0.03, -0.01), "stay away", "Stay away: joining would raise your error"),
        (
            _gain(0.001, -0.006, 0.008),
            "too close",
            "Too close to tell, and at most 0.8% either way: your own model does as well.",
        ),
        (_gain(0.0, -0.0001, 0.0001), "no difference", "It makes no difference: your own model"),
        (_gain(0.015, 0.004, 0.024, known=True), "join", "Joining has lowered"),
    ],
)
def test_what_an_executive_reads(gain, decision, says):
    assert gain.decision == decision
    assert sentence(gain).startswith(says)


def test_what_cannot_be_answered_is_told(tmp_path):
    document, own = _treaty(), {f"o{i}": _rows(EACH, i) for i in range(OWNERS)}
    public = _rows(80, 999)
    shared = t.train(t.assemble(document, own, public)).model
    with pytest.raises(
        TreatyError, match="19 records are too few to adapt a model to: at least 20"
    ):
        t.adapt_model(shared, own["o1"].head(19), public)
    with pytest.raises(TreatyError, match='there is no column "x3"'):
        t.adapt_model(shared, own["o1"].drop("x3"), public)
    with pytest.raises(TreatyError, match="must lie between 0% and 100%, not 150%"):
        Audience("us", document.target, 10, worthwhile=1.5)
    with pytest.raises(TreatyError, match="`own` names nobody, who is not a party"):
        next(own_gains(document, open_source(public), {"nobody": open_source(own["o1"])}))
    with pytest.raises(TreatyError, match="12 public rows are too few"):
        t.adapt_model(shared, own["o1"], public.head(12))


def test_targets_outside_the_bounds_count_as_the_bound_and_that_is_said():
    document, own = _treaty(), {f"o{i}": _rows(EACH, i) for i in range(OWNERS)}
    public = _rows(80, 999)
    shared = t.train(t.assemble(document, own, public)).model
    wild = own["o1"].with_columns(
        y=pl.when(pl.int_range(pl.len()) < 6).then(pl.lit(50.0)).otherwise(pl.col("y"))
    )
    report = t.adapt_model(shared, wild, public)
    assert report.gain.clamped == pytest.approx(6 / EACH)
    assert report.gain.alone.rmse.value < np.sqrt(6 / EACH) * 20
    assert report.gain.unclamped > np.sqrt(6 / EACH) * 35
    said = " ".join(as_text(render(report.gain)).split())
    assert "5% of the records lie outside the treaty's bounds, -10 to 10, and count as the" in said
    for names in (
        ["Bergen", "St Olav's Hospital", "c"],
        ["St Mary's General Hospital of the North"],
    ):
        said = as_text(overview(dict.fromkeys([*names, "a", "b", "d"], report.gain)))
        assert "…" not in said
        lines = said.splitlines()
        assert all(any(name in line for line in lines) for name in names) or len(names[0]) > 24


def test_every_owner_from_public_rows_and_after_training(capsys):
    """One table for all: forecast from public rows with a column of owners, then as measured."""
    document, own = _treaty(100.0), {f"o{i}": _rows(EACH, i) for i in range(OWNERS)}
    public = pl.concat(
        [_rows(30, 900 + i).with_columns(who=pl.lit(f"o{i}")) for i in range(4)]
        + [_rows(5, 950).with_columns(who=pl.lit("o7"))]
    )
    found = t.forecast(document, public, by="who", precision=0.2)
    assert list(found.owners) == ["o0", "o1", "o2", "o3"]  # of o7 too few rows are known
    assert found.owners["o2"].rows_known == 30
    assert 0.7 < found.owners["o2"].adapted.rmse.value < 1.6
    report = t.train(t.assemble(document, own, public))
    assert set(report.owners) == set(own)
    measured = report.owners["o2"]
    assert measured.known
    assert measured.ceiling is not None
    assert measured.ceiling.rmse.value < measured.alone.rmse.value
    forecast = found.owners["o2"].adapted.rmse
    assert forecast.low < measured.adapted.rmse.value < forecast.high
    shown = str(found)
    assert shown.index("Errors of score on every owner's own records, points") < shown.index("ψ")
    assert "owners would gain at least 1% on their own records" in " ".join(shown.split())


def test_a_coalition_is_stable_when_nobody_would_rather_be_elsewhere():
    content = _gain(0.02, 0.01, 0.03)
    loses, indifferent = _gain(-0.02, -0.03, -0.01), _gain(0.0, -0.01, 0.01)
    calm = stability_of(["a", "b"], {"a": content, "b": indifferent, "c": indifferent}, 5)
    assert calm is not None
    assert calm.stable
    assert "the coalition is stable" in calm.sentence()
    assert "of 3 of 5 owners" in calm.sentence()
    moved = stability_of(["a", "b"], {"a": content, "b": loses, "c": content}, 3)
    assert moved is not None
    assert not moved.stable
    assert "b would rather stay away and c would rather be in" in moved.sentence()
    assert moved.plain()["would_leave"] == ["b"]
    assert stability_of(["a"], {}, 2) is None


def test_advice_knows_what_its_coalition_does_to_owners_own_errors():
    document = _treaty(100.0)
    public = pl.concat(
        [_rows(30, 900 + i).with_columns(who=pl.lit(f"o{i}")) for i in range(OWNERS)]
    )
    found = t.advise(document, public, by="who")
    assert set(found.gains) == {f"o{i}" for i in range(OWNERS)}
    assert found.stability is not None
    assert found.stability.known == tuple(found.gains)
    shown = " ".join(str(found).split())
    assert shown.index("on every owner's own records") < shown.index("everybody together: ψ")
    assert found.plain()["stability"]["stable"] == found.stability.stable
    assert set(found.plain()["adds_to_others"]) == {f"o{i}" for i in range(OWNERS)}
    assert shown.index("the others") < shown.index("everybody together: ψ")


def test_truth_and_rows_are_read_in_one_pass():
    """A source that gives its rows in another order every time, as a database may."""
    random = np.random.default_rng(0)

    class Restless(FrameSource):
        def blocks(self, columns):
            mixed = self._frame.sample(
                fraction=1.0, shuffle=True, seed=int(random.integers(1 << 30))
            )
            yield mixed.select(columns)

    document = fit(_treaty(), _rows(80, 999))
    encoder = encoder_of(document)
    judged = encoder.judged(Squared(), Restless(_rows(200, 1)))
    np.testing.assert_allclose(judged.rows.y * 10.0, np.clip(judged.truth, -10, 10))
