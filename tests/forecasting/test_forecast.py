"""Forecasts against measurements, and what they say."""

import math

import numpy as np
import polars as pl
import pytest

import treaty as t
from treaty.errors import TreatyError
from treaty.evidence.folds import cross_fitted, dictionary_of
from treaty.evidence.stand_in import generated_stand_in, read_stand_in
from treaty.forecasting import outlook_on
from treaty.forecasting.picture import scaled
from treaty.forecasting.ratio import ratio
from treaty.forecasting.verdict import verdict
from treaty.measures import Estimate
from treaty.records import Counts, Encoder
from treaty.terms import fit, loads, plan_of

HEAD = """
version = 1
title = "three owners"
[features.a]
kind = "number"
bounds = [-4, 4]
[features.b]
kind = "number"
bounds = [-4, 4]
[features.c]
kind = "one-hot"
categories = ["u", "v"]
[target]
column = "y"
bounds = [-8, 8]
[dictionary]
standardise = "public"
components = 3
whiten = true
radius_quantile = 0.95
norm = "l1"
"""


def _treaty(
    loss="squared", method="shrinking-steps", horizon=10, epsilon=10.0, extra="", start="zero"
):
    text = HEAD
    if loss == "logistic":
        text = text.replace(
            'column = "y"\nbounds = [-8, 8]', 'column = "label"\nlabels = ["no", "yes"]'
        )
    text += f'[loss]\nname = "{loss}"\ntheta_max = 1.0\nridge = 1e-3\n{extra}'
    text += f'[training]\nmethod = "{method}"\nhorizon = {horizon}\nstart = "{start}"\n'
    for i in range(3):
        text += f'[[parties]]\nname = "o{i}"\nrecords = 4000\nepsilon = {epsilon}\n'
    return loads(text)


def _rows(n: int, seed: int) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    a = random.standard_normal(n)
    b = 0.5 * a + random.standard_normal(n)
    c = random.choice(["u", "v"], n)
    y = a - 0.5 * b + 0.7 * (c == "v") + random.standard_normal(n)
    label = np.where(y > 0, "yes", "no")
    owner = random.choice(["o0", "o1", "o2"], n)
    return pl.DataFrame({"a": a, "b": b, "c": c, "y": y, "label": label, "owner": owner})


@pytest.fixture(scope="module")
def public(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "public.parquet"
    _rows(2000, 1).write_parquet(path)
    return t.open_source(path)


def _measured(document, public, seed=5, runs=300, loss_rows=4000):
    fitted = fit(document, public)
    plan = plan_of(fitted)
    encoder = Encoder(fitted.features, fitted.target, fitted.fitted)
    risks = {}
    for i, party in enumerate(plan.parties):
        frame = _rows(loss_rows, 100 + i)
        y = fitted.target.encode(frame[fitted.target.column], Counts())
        risks[party.name] = t.risk_of(plan.problem.loss, np.ascontiguousarray(encoder.x(frame)), y)
    rows, _ = encoder.risk(plan.problem.fitness_loss, public)
    return (
        plan,
        risks,
        t.simulate(plan.informed_by(t.survey(plan.problem, rows)), risks, runs=runs, seed=seed),
    )


def test_forecasts_are_close_to_what_is_measured_and_intervals_hold_it(public):
    """Of nine cases every forecast is near, and of nine 90% intervals at most one misses."""
    inside = 0
    for method in ("shrinking-steps", "averaged-subgradient", "one-at-a-time"):
        for loss, epsilon in (("squared", 1.0), ("squared", 30.0), ("logistic", 3.0)):
            document = _treaty(loss, method, epsilon=epsilon, horizon=20)
            told = t.forecast(document, public)
            _, _, result = _measured(document, public)
            near = 0.2 if loss == "squared" else 0.5
            assert told.together.value == pytest.approx(result.mean, rel=near), (method, loss)
            assert told.optimisation + told.noise == pytest.approx(told.together.value, rel=0.1)
            inside += told.together.low <= result.mean <= told.together.high
    assert inside >= 8


def test_one_shot_is_forecast_like_any_other_method(public):
    inside = 0
    for epsilon in (3.0, 10.0, 100.0):
        document = _treaty(method="one-shot", horizon=1, epsilon=epsilon)
        told = t.forecast(document, public)
        _, _, result = _measured(document, public)
        assert told.together.value == pytest.approx(result.mean, rel=0.3), epsilon
        assert told.bound is None
        assert "bound" not in str(told)
        assert told.plain()["bound"] is None
        inside += told.together.low <= result.mean <= told.together.high
    assert inside >= 2


def test_alone_public_only_and_nothing_are_forecast_too(public):
    document = _treaty()
    told = t.forecast(document, public)
    plan, risks, result = _measured(document, public)
    stick = result.yardstick
    from treaty.fitness import best_constant, model_alone

    alone = [float(stick.relative(model_alone(plan.problem, risk))) for risk in risks.values()]
    assert np.mean([e.value for e in told.alone.values()]) == pytest.approx(np.mean(alone), rel=0.7)
    nothing = float(stick.relative(best_constant(plan.problem, stick.union)))
    assert told.nothing.value == pytest.approx(nothing, rel=0.2)
    assert told.public_only is not None
    assert told.public_only.low < told.public_only.value < told.public_only.high


def test_starting_from_the_public_model_is_never_forecast_worse_without_noise(public):
    told = t.forecast(_treaty(start="public", epsilon="inf"), public)
    assert told.public_only is not None
    assert told.together.value < told.public_only.value


def test_a_flattering_dictionary_is_not_believed(public):
    """Judged on the very rows it was fitted on, whitening looks perfect; cross-fitted it does not."""
    document = _treaty()
    rows = read_stand_in(document.features, document.target, public)
    few = type(rows)(rows.encoded[:120], rows.target[:120], "public")
    fitted = dictionary_of(document.dictionary, document.features, few)
    honest = cross_fitted(document.dictionary, document.features, fitted, few, 4)
    spread = [
        np.linalg.eigvalsh(np.cov(fold.judged.everybody.x[:, :3], rowvar=False)) for fold in honest
    ]
    assert max(values[-1] - values[0] for values in spread) > 0.1
    elsewhere = fitted.model_copy(update={"fitted_on": "other rows"})
    kept = cross_fitted(document.dictionary, document.features, elsewhere, few, 4)
    x, _ = elsewhere.apply(few.encoded)
    assert {tuple(r) for f in kept[:2] for r in f.judged.everybody.x.round(9).tolist()} == {
        tuple(r) for r in x.round(9).tolist()
    }


def test_owners_that_differ_are_told_apart(tmp_path):
    frame = _rows(3000, 1)
    odd = pl.when(pl.col("owner") == "o2").then(-pl.col("y")).otherwise(pl.col("y"))
    path = tmp_path / "odd.parquet"
    frame.with_columns(y=odd).write_parquet(path)
    alike = t.forecast(_treaty(), t.open_source(path))
    apart = t.forecast(_treaty(), t.open_source(path), by="owner")
    assert alike.alike
    assert not apart.alike
    assert apart.alone["o2"].value > 20 * alike.alone["o2"].value
    assert "owners told apart" in str(apart)
    assert "owners assumed alike" in str(alike)


@pytest.mark.parametrize("seed", [4, 5, 6])
def test_owners_that_are_alike_are_not_told_apart_by_chance(tmp_path, seed):
    """Names given at random: intervals hold what a sample of such a size is alone, whoever's it is."""
    frame = _rows(3000, seed)
    frame.write_parquet(tmp_path / "names.parquet")
    source = t.open_source(tmp_path / "names.parquet")
    alike, apart = t.forecast(_treaty(), source), t.forecast(_treaty(), source, by="owner")
    for name in ("o0", "o1", "o2"):
        assert apart.alone[name].low < alike.alone[name].value


def test_owners_the_stand_in_does_not_know_are_not_told(tmp_path):
    frame = _rows(3000, 1).with_columns(owner=pl.col("owner").replace({"o2": "o1"}))
    frame.write_parquet(tmp_path / "two.parquet")
    told = t.forecast(_treaty(), t.open_source(tmp_path / "two.parquet"), by="owner")
    assert told.unknown == ("o2",)
    assert "1 of 3 owners not told: the stand-in has too few rows of them: o2." in told.verdict
    assert "(1 owners: too few rows to tell)" in str(told)
    assert "o2 alone" not in str(told)
    with pytest.raises(TreatyError, match="no row of the stand-in is of a party"):
        t.forecast(_treaty(), t.open_source(tmp_path / "two.parquet"), by="c")


def test_the_records_of_a_party_need_no_stand_in(public, tmp_path):
    """Its own model is the very one, and the forecast of the others is as without it."""
    mine = _rows(4000, 9)
    mine.write_parquet(tmp_path / "mine.parquet")
    own = t.open_source(tmp_path / "mine.parquet")
    told = t.forecast(_treaty(), public, own={"o1": own})
    plain = t.forecast(_treaty(), public)
    assert told.evidence == "private"
    assert told.together.value == pytest.approx(plain.together.value, rel=0.15)
    assert told.alone["o0"].value == pytest.approx(plain.alone["o0"].value, rel=0.15)
    flipped = tmp_path / "flipped.parquet"
    mine.with_columns(y=-pl.col("y")).write_parquet(flipped)
    odd = t.forecast(_treaty(), public, own={"o1": t.open_source(flipped)})
    assert odd.alone["o1"].value > 100 * plain.alone["o1"].value
    # What is told of one model for all takes records to be like the public rows: these are not.
    assert "The records of o1 are not like the public rows" in str(odd)
    assert "not like the public rows" not in str(told)
    assert "better off together than alone" not in str(odd)


def test_private_and_generated_evidence_say_so(public):
    private = t.forecast(_treaty(), public, private=True, public_rows=500)
    assert "must not leave" in str(private)
    assert private.plain()["private"] is True
    generated = t.forecast(_treaty(), generate=True)
    assert "weakest evidence" in str(generated)
    assert generated.nothing.low >= 0
    assert generated.evidence == "generated"


def test_generated_rows_respect_the_bounds():
    document = _treaty()
    made = generated_stand_in(document.features, document.target)
    assert np.all(np.abs(made.encoded[:, :2]) <= 4)
    assert np.all(np.abs(made.target) <= 1)


def test_common_random_numbers_make_plans_comparable(public):
    outlook = outlook_on(_treaty(), t.Evidence(public))
    once, again = (outlook.rehearse(outlook.plan, seed=3).psi.value for _ in range(2))
    assert once == again
    better = outlook.rehearse(scaled(outlook.plan, 1.02, 1.0), seed=3).psi.value
    assert better < once


def test_precision_is_reached(public):
    outlook = outlook_on(_treaty(epsilon=1.0), t.Evidence(public))
    rough, fine = (outlook.rehearse(outlook.plan, precision=p) for p in (0.2, 0.01))
    assert fine.runs > rough.runs


def test_an_infinite_epsilon_is_allowed(public):
    told = t.forecast(_treaty(epsilon="inf"), public)
    assert told.noise == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("by", [None, "owner"])
def test_the_curator_is_a_floor(public, by):
    told = t.forecast(_treaty(epsilon=1.0), public, by=by)
    assert told.curator.value < told.together.value


def test_a_curator_of_owners_that_differ_weighs_them_by_their_records(tmp_path):
    """One owner has most stand-in rows and few records: it must not drown the others."""
    frame = _rows(3000, 1).with_columns(
        owner=pl.when(pl.int_range(pl.len()) < 2700).then(pl.lit("o2")).otherwise(pl.col("owner"))
    )
    odd = pl.when(pl.col("owner") == "o2").then(-pl.col("y")).otherwise(pl.col("y"))
    frame.with_columns(y=odd).write_parquet(tmp_path / "odd.parquet")
    text = _treaty(epsilon="inf", horizon=40)
    told = t.forecast(text, t.open_source(tmp_path / "odd.parquet"), by="owner")
    assert told.curator.value == pytest.approx(told.together.value, rel=0.05)


@pytest.mark.parametrize(
    ("together", "alone", "public_only", "says"),
    [
        ((0.1, 0.05, 0.2), (0.5, 0.4, 0.6), (0.9, 0.8, 1.0), "1 of 1 owners better off together"),
        ((0.5, 0.4, 0.6), (0.1, 0.05, 0.2), (0.9, 0.8, 1.0), "1 of 1 owners better off alone"),
        ((0.5, 0.3, 0.7), (0.5, 0.4, 0.6), (0.9, 0.8, 1.0), "the evidence does not tell"),
        ((0.5, 0.4, 0.6), (0.9, 0.8, 1.0), (0.1, 0.05, 0.2), "nobody should spend budget"),
        (
            (0.5, 0.4, 0.6),
            (0.9, 0.8, 1.0),
            (0.5, 0.4, 0.6),
            "does not tell whether together beats the public",
        ),
        ((9.0, 8.0, 10.0), (19.0, 18.0, 20.0), None, "Do not train"),
    ],
)
def test_verdicts_are_honest(together, alone, public_only, says):
    lines = verdict(
        Estimate(*together),
        {"a": Estimate(*alone)},
        None if public_only is None else Estimate(*public_only),
        Estimate(5.0, 4.5, 5.5),
        "public",
    )
    assert says in " ".join(lines)


def test_ratio_of_halves():
    same = ratio([2.0, 2.0, 2.0, 2.0], [1.0, 1.0, 1.0, 1.0])
    assert (same.value, same.low, same.high) == (2.0, 2.0, 2.0)
    wide = ratio([1.0, 3.0], [1.0, 1.0])
    assert wide.low < 1.0 < 3.0 < wide.high
    assert ratio([1.0, 1.0], [1.0, 1.0], extra_variance=0.04).high == pytest.approx(1 + 1.645 * 0.2)


def test_the_interval_covers_a_mean_it_should_cover():
    """Half-sample estimates of a mean: the 90% interval holds the truth about nine times in ten."""
    random = np.random.default_rng(0)
    inside = 0
    for _ in range(300):
        sample = random.exponential(size=400)
        halves = []
        for _ in range(5):
            order = random.permutation(400)
            halves += [sample[order[:200]].mean(), sample[order[200:]].mean()]
        found = ratio(halves, [1.0] * 10)
        inside += found.low <= 1.0 <= found.high
    assert 0.84 <= inside / 300 <= 0.99


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda p: t.forecast(_treaty(), None), "give some with `stand_in`"),
        (lambda p: t.forecast(_treaty(start="public"), p, private=True), "`public_rows`"),
        (lambda p: t.forecast(_treaty(), p, generate=True), "exclude each other"),
        (lambda p: t.forecast(_treaty(), p, public_rows=0), "`public_rows` must be at least 1"),
        (lambda p: t.forecast(_treaty(), p, precision=0.0), "`precision` must be between 0 and 1"),
    ],
)
def test_what_is_missing_is_asked_for(public, make, says):
    with pytest.raises(TreatyError, match=says):
        make(public)


@pytest.mark.parametrize(
    "dictionary",
    ['standardise = "frequency"', HEAD.split("[dictionary]\n")[1].replace("= 3", "= 4")],
    ids=["numbers", "whitened"],
)
def test_a_column_that_is_constant_in_half_of_the_rows_stops_no_forecast(dictionary):
    """One row of 2,000 has another number, and one a third category: one half has no such row."""
    rows = _rows(2000, 1).with_columns(
        b=pl.Series([1.0] + [0.0] * 1999),
        c=pl.Series(["u", "w"] + ["u", "v"] * 999),
    )
    text = HEAD.split("[dictionary]")[0].replace('["u", "v"]', '["u", "v", "w"]')
    text += f'[dictionary]\n{dictionary}\n[loss]\nname = "squared"\ntheta_max = 100.0\nclip = 1.0\n'
    text += '[training]\nmethod = "blended-step"\nhorizon = 1\nstart = "public"\n'
    text += '[[parties]]\nname = "o"\nrecords = 4000\nepsilon = 1.0\n'
    made = t.forecast(loads(text), rows)
    assert 0 < made.together.value < made.nothing.value


def test_owners_that_nothing_is_told_of_are_named():
    rows = _rows(2000, 1).with_columns(owner=pl.Series(["o2"] * 2 + ["o0", "o1"] * 999))
    document = _treaty(method="blended-step", horizon=1, start="public", extra="clip = 1.0\n")
    made = t.forecast(document, rows, by="owner")
    said = " ".join(str(made).split())
    assert set(made.owners) == {"o0", "o1"}
    assert "Too few of the rows are of o2 to tell what joining would do for them." in said


def test_a_stand_in_with_other_columns_or_too_few_rows(tmp_path):
    _rows(50, 1).drop("c").write_parquet(tmp_path / "other.parquet")
    with pytest.raises(TreatyError, match='there is no column "c"'):
        t.forecast(_treaty(), t.open_source(tmp_path / "other.parquet"))
    _rows(10, 1).write_parquet(tmp_path / "few.parquet")
    with pytest.raises(TreatyError, match="10 stand-in rows are too few"):
        t.forecast(_treaty(), t.open_source(tmp_path / "few.parquet"))


def test_plain_data_is_json(public):
    import json

    told = t.forecast(_treaty(), public).plain()
    assert json.loads(json.dumps(told))["method"] == "shrinking-steps"
    assert math.isfinite(told["together"]["value"])
