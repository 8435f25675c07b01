"""A trained model as people use it: predictions, coefficients, scikit-learn, notebooks."""

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import cross_val_score

import treaty as t
from treaty.errors import TreatyError
from treaty.fitness import optimum
from treaty.records import FrameSource
from treaty.terms import encoder_of, fit, loads, model_of, problem_of

TEXT = """
version = 1
[features.age]
kind = "number"
bounds = [0, 100]
[features.grade]
kind = "ordinal"
categories = ["A", "B", "C"]
[features.sex]
kind = "one-hot"
categories = ["f"]
[features.day]
kind = "date"
parts = ["year"]
years = [2010, 2030]
[target]
column = "stay"
TARGET
[dictionary]
DICTIONARY
[loss]
name = "LOSS"
ridge = 1e-12
theta_max = 1000
clip = 1000
[training]
method = "averaged-subgradient"
horizon = 5
[[parties]]
name = "us"
records = 400
epsilon = 1.0
"""
DICTIONARIES = {
    "bounds": 'standardise = "bounds"',
    "frequency": 'standardise = "frequency"',
    "turned": 'standardise = "public"\ncomponents = 4\nwhiten = true',
    "numbers turned": 'standardise = "frequency"\nwhiten = true',
}


def _rows(n: int = 400, seed: int = 0) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "age": random.uniform(0, 100, n),
            "grade": random.choice(["A", "B", "C"], n),
            "sex": random.choice(["f", "m"], n),
            "day": [f"{year}-05-05" for year in random.integers(2012, 2028, n)],
        }
    )
    place = frame["grade"].replace_strict({"A": 0, "B": 1, "C": 2}, return_dtype=pl.Float64)
    year = frame["day"].str.slice(0, 4).cast(pl.Float64) - 2020
    stay = 3 + 0.2 * frame["age"] - 1.5 * place + 4.0 * (frame["sex"] == "f") + 0.3 * year
    return frame.with_columns(
        stay=stay, long=(stay > 13).replace_strict({True: "yes", False: "no"})
    )


def _model(dictionary: str = "bounds", *, labels: bool = False, rows: pl.DataFrame | None = None):
    target = 'labels = ["no", "yes"]' if labels else "bounds = [-100, 100]"
    text = TEXT.replace("DICTIONARY", DICTIONARIES[dictionary]).replace("TARGET", target)
    text = text.replace("LOSS", "logistic" if labels else "squared")
    text = text.replace('"stay"', '"long"') if labels else text
    rows = _rows() if rows is None else rows
    document = fit(loads(text), rows)
    problem = problem_of(document)
    risk, _ = encoder_of(document).rows(problem.fitness_loss, FrameSource(rows))
    return model_of(document, optimum(problem, risk).theta)


@pytest.mark.parametrize("dictionary", DICTIONARIES)
def test_coefficients_are_in_the_users_own_units_whatever_the_basis(dictionary):
    """The truth is known, and linear: 0.2 days for a year of age, 4 for f, −1.5 for a grade."""
    found = _model(dictionary).coefficients
    assert found.pop("constant") + 2020 * found["day year"] == pytest.approx(3.0, abs=0.02)
    assert found == pytest.approx(
        {"age": 0.2, "day year": 0.3, "grade, by one place": -1.5, "sex=f": 4.0}, abs=1e-3
    )


@pytest.mark.parametrize("dictionary", DICTIONARIES)
def test_coefficients_make_the_predictions(dictionary):
    model, rows = _model(dictionary), _rows(50, 1)
    by_hand = np.full(50, model.coefficients["constant"])
    by_hand += model.coefficients["age"] * rows["age"].to_numpy()
    by_hand += model.coefficients["sex=f"] * (rows["sex"] == "f").to_numpy()
    place = rows["grade"].replace_strict({"A": 0, "B": 1, "C": 2}).to_numpy()
    by_hand += model.coefficients["grade, by one place"] * place
    by_hand += model.coefficients["day year"] * rows["day"].str.slice(0, 4).cast(float).to_numpy()
    np.testing.assert_allclose(model.predict(rows), by_hand, atol=1e-8)


def test_predictions_from_files_and_frames_of_all_kinds_are_those_of_scikit_learn(tmp_path):
    model, rows = _model("frequency"), _rows(60, 2)
    rows.write_csv(tmp_path / "rows.csv", separator=";")
    expected = model.to_sklearn().predict(rows)
    for given in (rows, rows.to_pandas(), rows.lazy(), tmp_path / "rows.csv", rows.to_dict()):
        np.testing.assert_allclose(model.predict(given), expected, atol=1e-10)
    assert model.score(rows) == pytest.approx(r2_score(rows["stay"], expected))
    assert model.score(rows.drop("stay"), rows["stay"]) == pytest.approx(model.score(rows))
    with pytest.raises(TreatyError, match='there is no column "stay"'):
        model.score(rows.drop("stay"))
    with pytest.raises(TreatyError, match="squared loss has no probabilities"):
        model.predict_proba(rows)


def test_labels():
    model, rows = _model(labels=True), _rows(60, 3)
    pipeline = model.to_sklearn()
    assert model.predict(rows).tolist() == pipeline.predict(rows).tolist()
    np.testing.assert_allclose(model.predict_proba(rows), pipeline.predict_proba(rows), atol=1e-10)
    assert model.score(rows) == accuracy_score(rows["long"], model.predict(rows))
    weighed = model.model_copy(update={"class_weights": (1.0, 9.0)})
    assert weighed.predict_proba(rows)[:, 1] == pytest.approx(
        weighed.to_sklearn().predict_proba(rows)[:, 1]
    )
    assert (weighed.predict_proba(rows)[:, 1] <= model.predict_proba(rows)[:, 1]).all()


def test_a_trained_pipeline_is_never_fitted_again():
    rows = _rows(60, 4)
    pipeline = _model().to_sklearn()
    with pytest.raises(TreatyError, match="fitting it again would be without privacy"):
        pipeline.fit(rows, rows["stay"])
    with pytest.raises(TreatyError, match="fitting it again would be without privacy"):
        cross_val_score(pipeline, rows.to_pandas(), rows["stay"].to_numpy(), error_score="raise")
    with pytest.raises(TreatyError, match="fitting it again"):
        clone(pipeline).fit(rows, rows["stay"])
    assert list(pipeline[0].get_feature_names_out()) == ["age", "day year", "grade", "sex=f"]
    assert _model("turned").to_sklearn()[0].get_feature_names_out()[0] == "component 1"


def test_a_model_as_text_and_in_a_notebook():
    model = _model()
    assert repr(model).startswith(
        "Model(stay from 4 columns, squared loss, its privacy is not known, "
    )
    assert "age" in str(model)
    shown = model._repr_html_()
    assert "<td" in shown
    assert "age" in shown


def test_names_are_never_markup():
    rows = _rows().rename({"age": "<script>alert(1)</script>"})
    text = TEXT.replace("[features.age]", '[features."<script>alert(1)</script>"]')
    text = text.replace("DICTIONARY", "").replace("TARGET", "bounds = [-100, 100]")
    document = fit(loads(text.replace("LOSS", "squared")), None)
    risk, _ = encoder_of(document).rows(problem_of(document).fitness_loss, FrameSource(rows))
    model = model_of(document, np.zeros(risk.x.shape[1]))
    assert "<script>" not in model._repr_html_()
    assert "&lt;script&gt;" in model._repr_html_()


def test_results_of_a_training_show_as_tables():
    document = fit(loads(_whole()), None)
    assembly = t.assemble(document, {"us": _rows()})
    report = t.train(assembly)
    assert repr(report).startswith("Training(stay, ψ together ")
    assert "<table>" in report._repr_html_()
    assert "better than" in str(report)
    told = t.forecast(document, _rows(300, 5), precision=0.5)
    assert "<table>" in told._repr_html_()
    assert repr(told).startswith("Forecast(")


def _whole() -> str:
    return (
        TEXT.replace("DICTIONARY", "")
        .replace("TARGET", "bounds = [-100, 100]")
        .replace("LOSS", "squared")
        .replace("clip = 1000", "clip = 1.0")
    )


def test_strange_rows_are_told_and_none_are_fine():
    model, rows = _model(), _rows(60, 3)
    assert len(model.predict(rows.head(0))) == 0
    with pytest.raises(TreatyError, match="no rows to score"):
        model.score(rows.head(0))
    with pytest.warns(UserWarning, match="age: 60 of 60 values lie outside the bounds"):
        model.predict(rows.with_columns(age=pl.lit(36_500.0)))
    with pytest.warns(UserWarning, match="sex: 60 of 60 values are in no listed category"):
        model.predict(rows.with_columns(sex=pl.lit("FEMALE")))
    with pytest.raises(TreatyError, match=r'no column "stay".*\bshoes\b'):
        model.score(rows.drop("stay").with_columns(shoes=pl.lit(1.0)))
