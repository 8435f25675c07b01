"""From a treaty and files to a model, with live noise."""

import json
import math
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import Pipeline

import treaty as t
from treaty.errors import TreatyError
from treaty.losses import permit
from treaty.terms import loads
from treaty.training.table import sentence

HEAD = """
version = 1
[features.a]
kind = "number"
bounds = [-2, 2]
[features.b]
kind = "number"
bounds = [-2, 2]
[features.c]
kind = "one-hot"
categories = ["u", "v"]
"""
NUMBER = '[target]\ncolumn = "y"\nbounds = [0, 20]\n'
LABEL = '[target]\ncolumn = "sick"\nlabels = ["no", "yes"]\n'


def _treaty(
    loss="squared", method="averaged-subgradient", epsilon=50.0, extra="", **training
) -> str:
    lines = "".join(f"{k} = {v}\n" for k, v in ({"horizon": 30} | training).items())
    text = HEAD + (LABEL if loss in ("hinge", "logistic") else NUMBER)
    text += f'[loss]\nname = "{loss}"\ntheta_max = 3.0\nridge = 0.001\n{extra}'
    text += f'[training]\nmethod = "{method}"\n{lines}'
    for name, n in (("east", 400), ("west", 600)):
        text += f'[[parties]]\nname = "{name}"\nrecords = {n}\nepsilon = {epsilon}\n'
    return text


def _rows(n: int, seed: int) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    a, b = random.uniform(-2, 2, (2, n))
    c = random.choice(["u", "v"], n)
    y = np.clip(10 + 2 * a - b + (c == "v") + 0.5 * random.standard_normal(n), 0, 20)
    sick = np.where(y > 10.5, "yes", "no")
    return pl.DataFrame({"a": a, "b": b, "c": c, "y": y, "sick": sick})


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    parts = {"east": _rows(400, 1), "west": _rows(600, 2)}
    both = pl.concat([f.with_columns(who=pl.lit(name)) for name, f in parts.items()])
    both.write_parquet(folder / "both.parquet")
    for name, frame in parts.items():
        frame.write_csv(folder / f"{name}.csv")
    _rows(200, 3).write_csv(folder / "public.csv")
    return folder


def _assembly(files, text: str, public: bool = True) -> t.Assembly:
    document = loads(text)
    records = t.sources(document, data=files / "both.parquet", by="who")
    return t.assemble(document, records, t.open_source(files / "public.csv") if public else None)


@pytest.mark.parametrize("loss", ["squared", "huber", "hinge", "logistic"])
@pytest.mark.parametrize("method", ["averaged-subgradient", "one-at-a-time", "shrinking-steps"])
def test_every_loss_with_every_method(files, loss, method):
    if (loss, method) == ("hinge", "shrinking-steps"):
        with pytest.raises(TreatyError, match="has kinks"):
            _assembly(files, _treaty(loss, method))
        return
    report = t.train(_assembly(files, _treaty(loss, method, epsilon=1e4, horizon=60)))
    assert report.together < 0.5 * report.nothing
    assert report.public_only is not None
    known = report.assembly.public
    assert known is not None
    stick = t.yardstick(report.assembly.plan.problem, report.assembly.risks)
    tried = [float(stick.relative(known.model(b).theta)) for b in ("public", "tuned")]
    assert report.public_only == pytest.approx(min(tried))
    assert set(report.alone) == {"east", "west"}
    asked = sum(report.answers.values())
    assert asked == (60 if method == "one-at-a-time" else 2 * 59)
    for name, spent in report.spent.items():
        assert spent == pytest.approx(1e4 * report.answers[name] / 60)
    names = [row.name for row in report.standings()]
    assert sorted(names) == sorted(
        ["together, private", "east alone", "west alone", "public only", "nothing"]
    )


def test_more_budget_is_better(files):
    def mean_psi(epsilon: float) -> float:
        assembly = _assembly(files, _treaty(epsilon=epsilon))
        return float(np.mean([t.train(assembly).together for _ in range(5)]))

    assert mean_psi(0.1) > mean_psi(1000.0)


def test_gaussian_training(files):
    text = _treaty(mechanism='"gaussian"').replace("epsilon = 50.0", "epsilon = 1.0\ndelta = 1e-6")
    report = t.train(_assembly(files, text))
    assert math.isfinite(report.together)


def test_starting_from_the_public_model(files):
    text = _treaty(start='"public"', epsilon="inf")
    assembly = _assembly(files, text)
    assert assembly.plan.start is not None
    assert t.train(assembly).together < t.train(assembly).public_only
    with pytest.raises(TreatyError, match="to start from the public model"):
        _assembly(files, text, public=False)


def test_peers_spend_over_all_trainings_what_they_grant(files):
    reports = t.train_peers(_assembly(files, _treaty(epsilon=2.0)))
    assert set(reports) == {"east", "west"}
    for name in reports:
        spent = sum(report.spent[name] for report in reports.values())
        assert spent == pytest.approx(2.0 * 29 / 30)


def test_one_file_each_equals_one_file_of_all(files):
    document = loads(_treaty())
    each = t.sources(document, owners={n: files / f"{n}.csv" for n in ("east", "west")})
    alone = t.assemble(document, each)
    shared = _assembly(files, _treaty(), public=False)
    for name in ("east", "west"):
        theta = np.ones(5)
        np.testing.assert_allclose(
            alone.risks[name].gradient(theta), shared.risks[name].gradient(theta), rtol=1e-9
        )


@pytest.mark.parametrize("loss", ["squared", "huber", "hinge", "logistic"])
def test_the_model_is_a_scikit_learn_estimator_in_the_users_columns(files, tmp_path, loss):
    report = t.train(_assembly(files, _treaty(loss, epsilon=1e5, horizon=400)))
    fresh = _rows(300, 9)
    pipeline = report.model.to_sklearn()
    assert isinstance(pipeline, Pipeline)
    predicted = pipeline.predict(fresh)
    if loss in ("hinge", "logistic"):
        assert set(predicted) <= {"yes", "no"}
        assert np.mean(predicted == fresh["sick"].to_numpy()) > 0.8
    else:
        assert np.corrcoef(predicted, fresh["y"].to_numpy())[0, 1] > 0.8
        assert np.abs(predicted - fresh["y"].to_numpy()).mean() < 2.0
    if loss == "logistic":
        assert pipeline.predict_proba(fresh).shape == (300, 2)
    path = tmp_path / "model.json"
    report.model.save(path)
    json.loads(path.read_text())
    loaded = t.Model.load(path)
    assert loaded == report.model
    np.testing.assert_array_equal(loaded.to_sklearn().predict(fresh), predicted)
    np.testing.assert_array_equal(pipeline.predict(fresh.to_dict(as_series=False)), predicted)
    np.testing.assert_array_equal(pipeline.predict(fresh.select("c", "a", "b")), predicted)
    clone(pipeline)


def test_pandas_frames_work_too(files):
    import pandas

    model = t.train(_assembly(files, _treaty())).model.to_sklearn()
    fresh = _rows(50, 9)
    frame = pandas.DataFrame(fresh.to_dict(as_series=False))
    np.testing.assert_allclose(model.predict(frame), model.predict(fresh))


def test_the_non_private_model_is_ordinary_least_squares(files):
    """θ* through dictionary, rescaled target and back equals scikit-learn on plain columns."""
    assembly = _assembly(files, _treaty(epsilon="inf").replace("ridge = 0.001", "ridge = 0.0"))
    best = t.yardstick(assembly.plan.problem, assembly.risks).best
    model = assembly.model(best.theta).to_sklearn()
    both = pl.read_parquet(files / "both.parquet")
    dummies = np.column_stack([both["a"], both["b"], (both["c"] == "v").cast(pl.Float64)])
    peer = LinearRegression().fit(dummies, both["y"].to_numpy())
    np.testing.assert_allclose(model.predict(both), peer.predict(dummies), atol=1e-6)


def test_missing_columns_at_prediction(files):
    model = t.train(_assembly(files, _treaty())).model.to_sklearn()
    with pytest.raises(TreatyError, match='no column "c"'):
        model.predict(_rows(5, 1).drop("c"))
    with pytest.raises(TreatyError, match="no column 'c'"):
        model.predict({"a": [1.0], "b": [1.0]})


def test_what_is_not_a_model(tmp_path):
    with pytest.raises(TreatyError, match="cannot be read"):
        t.Model.load(tmp_path / "none.json")
    (tmp_path / "bad.json").write_text('{"theta": [1]}')
    with pytest.raises(TreatyError, match="not a saved model"):
        t.Model.load(tmp_path / "bad.json")


def test_records_must_be_what_the_treaty_says(files):
    with pytest.raises(TreatyError, match="400 records, and the treaty says that east holds 401"):
        _assembly(files, _treaty().replace("records = 400", "records = 401"))
    with pytest.raises(TreatyError, match="there are no records for west"):
        t.assemble(loads(_treaty()), {"east": t.open_source(files / "east.csv")})
    with pytest.raises(TreatyError, match="north is not a party"):
        t.assemble(loads(_treaty()), {"north": t.open_source(files / "east.csv")})


def test_a_users_own_loss_from_treaty_to_estimator(files, monkeypatch, tmp_path):
    (tmp_path / "my_losses.py").write_text(
        '''
import numpy as np
from treaty.losses import Loss

class Pinball(Loss):
    """φ(z, y) = max(τ(y − z), (τ − 1)(y − z)): the τ-quantile."""
    name = "pinball"
    def __init__(self, tau):
        self.tau = tau
    def value(self, score, target):
        return np.maximum(self.tau * (target - score), (self.tau - 1) * (target - score))
    def slope(self, score, target):
        return np.where(target > score, -self.tau, 1 - self.tau)
    def slope_bound(self, score_bound, target):
        return max(self.tau, 1 - self.tau)
'''
    )
    monkeypatch.syspath_prepend(tmp_path)
    text = _treaty(
        "my_losses:Pinball", epsilon=1e4, horizon=300, extra="parameters = {tau = 0.9}\n"
    )
    with pytest.raises(t.TreatyError, match="permit it by its name if you trust it"):
        _assembly(files, text)
    permit(["my_losses:Pinball"])
    report = t.train(_assembly(files, text))
    fresh = _rows(500, 8)
    share_below = np.mean(fresh["y"].to_numpy() <= report.model.to_sklearn().predict(fresh))
    assert share_below == pytest.approx(0.9, abs=0.08)


def test_own_models_that_are_no_models_flatter_nobody():
    """Better than own models that a constant guess beats as well is said as what it is."""
    report = SimpleNamespace(
        together=0.2, alone={"a": 30.0, "b": 0.1}, nothing=0.24, public_only=None
    )
    assert sentence(report) == (
        "Over everybody's records the shared model is better than 1 of 2 owners' own models (1 of which "
        "a constant guess beats as well), better than a constant guess."
    )
    report.alone["a"] = 0.22
    assert "beats as well" not in sentence(report)
