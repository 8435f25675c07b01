"""treaty adapt as a person types it."""

import json
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import treaty as t
from treaty.cli.main import main
from treaty.records import Dictionary, Number, Target


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a shared model, own records and public rows."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)

    def rows(n: int) -> pl.DataFrame:
        a, b = random.uniform(-1, 1, (2, n))
        return pl.DataFrame({"a": a, "b": b, "y": 5 * a - 2 * b + random.standard_normal(n)})

    rows(300).write_parquet("ours.parquet")
    rows(60).write_parquet("public.parquet")
    t.Model(
        treaty="0" * 64,
        features={"a": Number(bounds=(-1, 1)), "b": Number(bounds=(-1, 1))},
        target=Target(column="y", bounds=(-10, 10), unit="minutes", label="delay"),
        dictionary=Dictionary(columns=("a", "b"), centre=(0, 0), scale=(1, 1)),
        loss="squared",
        theta=(0.5, -0.2, 0.0),
    ).save("model.json")
    return tmp_path


def _typed(words: str, monkeypatch, capsys) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["treaty", *words.split()])
    with pytest.raises(SystemExit) as ended:
        main()
    out = capsys.readouterr()
    return int(ended.value.code or 0), out.out, " ".join(out.err.split())


def test_a_table_a_picture_and_a_model(folder, monkeypatch, capsys):
    words = "adapt model.json --data ours.parquet --public public.parquet --out ours.json"
    code, out, _ = _typed(f"{words} --picture a.png", monkeypatch, capsys)
    assert code == 0
    said = " ".join(out.split())
    assert "errors of delay on 300 own records, out of sample, in minutes" in said
    assert "an adapted model that leaves is a release" in said
    assert Path("a.png").stat().st_size > 10_000
    model = t.Model.load("ours.json")
    assert model.adapted is not None
    assert model.adapted.times == 1
    code, out, _ = _typed(
        "adapt ours.json --data ours.parquet --out twice.json", monkeypatch, capsys
    )
    assert "It has been adapted 2 times." in " ".join(out.split())
    pl.read_parquet("ours.parquet").with_columns(wind=pl.col("y") / 2).write_parquet("wind.parquet")
    words = "adapt model.json --data wind.parquet --out wind.json --extra wind --extra wind"
    code, out, _ = _typed(words, monkeypatch, capsys)
    assert code == 0
    assert "Columns of your own that it may use: wind." in " ".join(out.split())
    code, out, _ = _typed("adapt model.json --data ours.parquet --json", monkeypatch, capsys)
    plain = json.loads(out)
    assert 0.8 < plain["models"]["together, adapted"]["rmse"]["value"] < 1.2
    assert plain["decision"] in ("join", "small", "too close", "no difference")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--data few.parquet", "few.parquet: 12 records are too few to adapt a model to"),
        ("--data other.parquet", 'there is no column "b"'),
        ("--data ours.parquet --worthwhile 150%", "--worthwhile takes a share between 0% and 100%"),
        ("--data ours.parquet --worthwhile much", "--worthwhile takes a share between 0% and 100%"),
        ("--data ours.parquet --worthwhile -1%", "--worthwhile takes a share between 0% and 100%"),
        ("--data ours.parquet --picture a.txt", "a picture must end in"),
        ("--data ours.parquet --extra wind", 'there is no column "wind"'),
        ("--data ours.parquet --extra y", '"y" is what is predicted'),
        ("--data none.parquet", "none.parquet: there is no such file"),
        ("--data ours.parquet --public few.parquet", "12 public rows are too few"),
    ],
)
def test_what_does_not_fit_is_told_in_one_sentence(folder, monkeypatch, capsys, words, says):
    pl.read_parquet("ours.parquet").head(12).write_parquet("few.parquet")
    pl.read_parquet("ours.parquet").drop("b").write_parquet("other.parquet")
    code, _, err = _typed(f"adapt model.json {words}", monkeypatch, capsys)
    assert code == 2
    assert says in err
    assert not Path("adapted.json").exists()


def test_one_class_only_is_told(folder, monkeypatch, capsys):
    model = json.loads(Path("model.json").read_text())
    model |= {"loss": "logistic", "target": {"column": "y", "labels": ["no", "yes"]}}
    Path("labels.json").write_text(json.dumps(model))
    frame = pl.read_parquet("ours.parquet").with_columns(y=pl.lit("yes"))
    frame.write_parquet("one.parquet")
    code, out, err = _typed("adapt labels.json --data one.parquet", monkeypatch, capsys)
    assert code == 0, err
    assert "every record has the same label" in " ".join(out.split())
    kept, own = (
        json.loads(Path("labels.json").read_text()),
        json.loads(Path("adapted.json").read_text()),
    )
    assert own["theta"] == kept["theta"]
    assert own["private"] is True


def test_public_rows_are_adapted_without_any_training(folder, monkeypatch, capsys):
    """What is told to be as good as joining can be had by one command."""
    words = "adapt --target y --public public.parquet --data ours.parquet --out own.json"
    code, out, err = _typed(words, monkeypatch, capsys)
    assert code == 0, err
    assert "Best on records that it has not seen:" in " ".join(out.split())
    assert "together" not in out
    own = json.loads(Path("own.json").read_text())
    assert own["private"] is True
    assert own["provenance"]["owners"] == {}
    code, _, err = _typed("adapt --data ours.parquet", monkeypatch, capsys)
    assert code == 2
    assert "--public rows with a treaty or --target COLUMN" in " ".join(err.split())
    code, _, err = _typed("adapt model.json --target y --data ours.parquet", monkeypatch, capsys)
    assert code == 2
    assert "leave one out" in err
