"""Commands as a person types them, in a process of their own."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from treaty.cli.main import app

TREATY = [sys.executable, "-m", "treaty"]


def run(*words: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*TREATY, *map(str, words)], capture_output=True, text=True, cwd=cwd, check=False
    )


@pytest.fixture(scope="module")
def flights(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("flights")
    done = run("demo", "--keep", folder)
    assert done.returncode == 0, done.stderr
    return folder


def _where(folder: Path) -> list[object]:
    return [
        folder / "treaty.toml",
        "--data",
        folder / "flights.parquet",
        "--by",
        "dest",
        "--public",
        folder / "public.parquet",
    ]


@pytest.mark.parametrize(
    "command", ["init", "fit", "forecast", "advise", "train", "simulate", "demo"]
)
def test_help_has_an_example(command):
    done = run(command, "--help")
    assert done.returncode == 0
    assert "Example" in done.stdout


def test_help_lists_every_command():
    done = run("--help")
    for command in ("init", "fit", "forecast", "advise", "train", "simulate", "demo"):
        assert re.search(rf"\b{command}\b", done.stdout)


@pytest.fixture
def told_once(tmp_path, monkeypatch):
    """The demonstration's story, computed once and told as often as it is asked for."""
    from treaty.demo import story

    told = story.tell(tmp_path, lambda done, of: None)
    monkeypatch.setattr(story, "tell", lambda folder, progress: told)
    return lambda *words: CliRunner().invoke(app, ["demo", *map(str, words)], env={"COLUMNS": "80"})


def test_demo_on_real_flights(told_once, tmp_path):
    picture = tmp_path / "demo.png"
    done = told_once("--picture", picture, "--json")
    assert done.exit_code == 0, done.output
    _holds_in_numbers(json.loads(done.stdout))
    assert picture.read_bytes().startswith(b"\x89PNG")
    done = told_once()
    assert done.exit_code == 0, done.output
    _tells_it_in_a_table(done.stdout)


def _holds_in_numbers(told):
    assert told["records"] == 21_796
    assert told["psi_simulated"] < told["psi_public_only"] < told["psi_nothing"]
    assert told["better_together"] == 31
    assert told["psi_by_epsilon"]["0.1"] > told["psi_by_epsilon"]["10.0"]
    # What airports were told before anybody trained is what was measured after it.
    expected = told["forecast"]["owners"]
    measured = [told["owners"][name]["gain"]["value"] for name in expected]
    inside = [
        each["gain"]["low"] - 0.01 < gain < each["gain"]["high"] + 0.01
        for each, gain in zip(expected.values(), measured, strict=True)
    ]
    assert len(measured) == 31
    assert sum(inside) >= 28
    assert all(each["decision"] != "join" for each in told["owners"].values())


def _tells_it_in_a_table(out):
    lines = out.splitlines()
    first = next(
        i for i, line in enumerate(lines) if "as the learner and the papers see it" in line
    )
    assert first <= 26  # the owners' view fits a terminal, and needs no ψ
    assert not any("ψ" in line for line in lines[:first])
    assert max(map(len, lines[:first])) <= 80
    said = " ".join(out.split())
    for words in (
        "Told before anybody trained: 0 of 31 airports would gain at least 1%",
        "Measured after it: 0 of 31 airports gain at least 1%",
        "the public model, adapted to its flights, does the same without spending ε",
        "31 of 31 airports' own models are worse",
    ):
        assert words in said


def test_train_saves_a_model_that_predicts(flights, tmp_path):
    model = tmp_path / "model.json"
    done = run("train", *_where(flights), "--model", model, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)["models"]["together"]
    assert told["psi"] < told["psi_nothing"]
    assert list(told["epsilon_spent"].values()) == pytest.approx([1.0] * 31)
    import treaty as t

    rows = pl.read_parquet(flights / "public.parquet")
    predicted = t.Model.load(model).to_sklearn().predict(rows)
    error = predicted - rows["arr_delay"].to_numpy().clip(-60, 240)
    assert np.sqrt(np.mean(error**2)) < 18.0


def test_train_prints_tables(flights):
    done = run("train", *_where(flights))
    assert done.returncode == 0, done.stderr
    for words in ("together, private", "ε spent", "clamped into the bounds"):
        assert words in done.stdout


def test_simulate(flights, tmp_path):
    plot = tmp_path / "rounds.svg"
    done = run("simulate", *_where(flights), "--runs", 7, "--seed", 3, "--json", "--plot", plot)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["rounds"] == [1]
    assert told["psi_p25"][-1] <= told["psi_median"][-1] <= told["psi_p75"][-1]
    again = run("simulate", *_where(flights), "--runs", 7, "--seed", 3, "--json")
    assert json.loads(again.stdout)["psi_mean"] == pytest.approx(told["psi_mean"], rel=1e-9)
    assert plot.read_text().lstrip().startswith("<?xml")
    told = run("simulate", *_where(flights), "--runs", 3).stdout
    assert "mean ψ" in told
    assert told.index("on every owner's own records") < told.index("ψ: the share by which")
    without = run("simulate", *_where(flights), "--runs", 3, "--no-own-view")
    assert "own records" not in without.stdout
    assert "ψ: the share by which" in without.stdout


def test_forecast(flights, tmp_path):
    plot = tmp_path / "forecast.png"
    words = [flights / "treaty.toml", "--stand-in", flights / "public.parquet"]
    done = run("forecast", *words, "--by", "dest", "--json", "--plot", plot)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["together"]["low"] < told["together"]["value"] < told["together"]["high"]
    assert told["together"]["value"] < told["public_only"]["value"] < told["nothing"]["low"]
    assert set(told["alone"]) >= {"ALB", "XNA"}
    assert set(told["owners"]) >= {"GSO", "XNA"}
    assert plot.read_bytes().startswith(b"\x89PNG")
    shown = run("forecast", *words, "--details").stdout
    for text in (
        "together, private",
        "optimisation leaves",
        "noise adds",
        "floor",
        "alike",
    ):
        assert text in shown


def test_private_forecasts_say_that_they_must_not_leave(flights):
    words = [flights / "treaty.toml", "--stand-in", flights / "public.parquet", "--private"]
    done = run("forecast", *words, "--public-rows", 1148)
    assert done.returncode == 0, done.stderr
    assert "must not leave" in done.stdout
    assert "must not leave" in run("advise", *words, "--public-rows", 1148).stdout


def test_advise(flights, tmp_path):
    plot = tmp_path / "advice.png"
    words = [flights / "treaty.toml", "--stand-in", flights / "public.parquet"]
    done = run("advise", *words, "--target", "2%", "--owner", "GSO", "--json", "--plot", plot)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert "GSO" in told["invite"]
    assert told["reach"]["epsilon_factor"] > 0.5
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert "Invite" in run("advise", *words).stdout


def test_fit_puts_the_dictionary_into_the_treaty(flights, tmp_path):
    treaty = tmp_path / "treaty.toml"
    treaty.write_text((flights / "treaty.toml").read_text())
    public = flights / "public.parquet"
    done = run("fit", treaty, "--public", public, "--json")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "treaty.dictionary.json").exists()
    told = json.loads(done.stdout)
    records = ["--data", flights / "flights.parquet", "--by", "dest", "--public", public]
    trained = run("train", treaty, *records, "--json")
    assert json.loads(trained.stdout)["treaty"] == told["treaty"]
    text = treaty.read_text()
    assert "knots = [" in text
    assert "quantiles =" not in text
    assert "# minutes late at departure" in text  # comments stay
    again = run("fit", treaty, "--public", public)
    assert again.returncode == 2
    assert "fitted already" in again.stderr


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("small")
    random = np.random.default_rng(0)
    n = 300
    pl.DataFrame(
        {
            "owner": ["a", "b", "c"] * 100,
            "income": random.lognormal(3, 2, n),
            "age": random.integers(18, 80, n),
            "kind": random.choice(["x", "y"], n),
            "note": [f"text {i}" for i in range(n)],
            "same": [1] * n,
            "score": random.random(n),
            "sick": random.choice([0, 1], n),
        }
    ).write_csv(folder / "rows.csv")
    return folder


@pytest.mark.parametrize(("target", "loss"), [("score", "squared"), ("sick", "logistic")])
def test_a_draft_is_commented_and_runs_as_it_stands(small, tmp_path, target, loss):
    out = tmp_path / "treaty.toml"
    done = run(
        *("init", small / "rows.csv", "--public", "--target", target, "--by", "owner"),
        *("--no-plan", "--out", out),
    )
    assert done.returncode == 0, done.stderr
    text = out.read_text()
    for words in (f'name = "{loss}"', "log1p = true", "# note is left out", "# same is left out"):
        assert words in text
    assert text.count("#") > 8
    trained = run("train", out, "--data", small / "rows.csv", "--by", "owner", "--json")
    assert trained.returncode == 0, trained.stderr
    assert set(json.loads(trained.stdout)["models"]["together"]["psi_alone"]) == {"a", "b", "c"}


def test_peers_from_the_command_line(small, tmp_path):
    out = tmp_path / "treaty.toml"
    words = ("--public", "--target", "score", "--by", "owner", "--no-plan", "--out", out)
    run("init", small / "rows.csv", *words)
    model = tmp_path / "m.json"
    words = ["--data", small / "rows.csv", "--by", "owner", "--peers", "--model", model]
    done = run("train", out, *words)
    assert done.returncode == 0, done.stderr
    assert "with its peers" in done.stdout
    assert sorted(p.name for p in tmp_path.glob("m-*.json")) == ["m-a.json", "m-b.json", "m-c.json"]


def test_a_draft_from_private_rows_holds_no_value_of_them(tmp_path):
    """Names and types only: no extreme, no category, no owner, no label, no number of records."""
    secret = {
        "age": [41, 97],
        "town": ["Atlantis", "Ys"],
        "sick": ["yes", "no"],
        "who": ["Ker", "Lyonesse"],
    }
    for name, write in (("rows.csv", "write_csv"), ("rows.parquet", "write_parquet")):
        getattr(pl.DataFrame(secret), write)(tmp_path / name)
        out = tmp_path / f"{name}.toml"
        words = ["--target", "sick", "--by", "who", "--out", out]
        done = run("init", tmp_path / name, "--private", *words)
        if name.endswith(".csv"):  # its first row might be a record
            assert done.returncode == 2
            assert "say --header if it names them" in " ".join(done.stderr.split())
            done = run("init", tmp_path / name, "--private", "--header", *words)
        assert done.returncode == 0, done.stderr
        text = out.read_text()
        for value in ("41", "97", "Atlantis", "Ys", "Lyonesse", "= 2\n"):
            assert value not in text
        assert '[features."age"]' in text
        assert '[features."town"]' in text
        assert 'features."who"' not in text
        opened = run("fit", out, "--public", tmp_path / name)
        assert opened.returncode == 2
        assert "is missing" in opened.stderr


@pytest.mark.parametrize("said", [[], ["--public", "--private"]])
def test_a_draft_needs_to_know_whether_rows_are_public(small, tmp_path, said):
    out = tmp_path / "treaty.toml"
    done = run("init", small / "rows.csv", "--target", "score", "--out", out, *said)
    assert done.returncode == 2
    assert "say --public if these rows are public" in " ".join(done.stderr.split())
    assert not out.exists()
