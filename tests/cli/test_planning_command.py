"""treaty plan as a person types it."""

import json
import re
import sys

import numpy as np
import polars as pl
import pytest

import treaty as t
from treaty.cli.main import main
from treaty.settings import planning


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    for name, n in (("public", 300), ("owners", 4000)):
        a, b = random.uniform(-1, 1, (2, n))
        y = 6 * np.abs(a) - b + random.standard_normal(n)
        who = random.choice(["x", "y"], n)
        pl.DataFrame({"a": a, "b": b, "who": who, "y": y}).write_parquet(f"{name}.parquet")
    return tmp_path


def _typed(words, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["treaty", *words.split()])
    with pytest.raises(SystemExit) as ended:
        main()
    out = capsys.readouterr()
    return int(ended.value.code or 0), out.out, " ".join(out.err.split())


def _draft(monkeypatch, capsys):
    words = "init public.parquet --public --target y --by who --no-plan --out draft.toml"
    assert _typed(words, monkeypatch, capsys)[0] == 0


def test_a_draft_becomes_a_treaty_that_trains(folder, monkeypatch, capsys):
    _draft(monkeypatch, capsys)
    code, out, err = _typed(
        "plan draft.toml --stand-in public.parquet --public", monkeypatch, capsys
    )
    assert code == 0, err
    said = " ".join(out.split())
    for words in ("What each lever brought", "knots", "this plan", "the public rows only"):
        assert words in said
    document = t.load("treaty.toml")
    assert document.fitted is not None
    assert document.training.method == "blended-step"
    assert "# Planned on 300 public rows" in (folder / "treaty.toml").read_text()
    records = t.sources(document, data="owners.parquet", by="who")
    sizes = {p.name: p.records for p in document.parties}
    assert set(sizes) == {"x", "y"}
    with pytest.raises(t.TreatyError, match="records"):  # the draft counts public rows
        t.train(t.assemble(document, records, "public.parquet"))
    words = "plan draft.toml --stand-in public.parquet --public --json --out again.toml"
    code, out, _ = _typed(words, monkeypatch, capsys)
    plain = json.loads(out)
    assert plain["expected_error"] <= plain["expected_error_public_only"]
    assert any(step["chosen"].startswith("hats") for step in plain["levers"])
    low, high = plain["interval"]
    assert low < plain["expected_error"] < high


def test_a_treaty_from_public_rows_is_planned_and_trains_as_it_stands(folder, monkeypatch, capsys):
    """Owners and their numbers of records come from --data; nothing else of it is read."""
    words = "init public.parquet --public --target y --by who --data owners.parquet --out ours.toml"
    code, out, err = _typed(f"{words} --json", monkeypatch, capsys)
    assert code == 0, err
    assert json.loads(out)["planned"]
    assert sum(json.loads(out)["parties"].values()) == 4000
    code, out, err = _typed(
        "train ours.toml --data owners.parquet --by who --public public.parquet --json",
        monkeypatch,
        capsys,
    )
    assert code == 0, err
    together = json.loads(out)["models"]["together"]
    assert together["psi"] < 0.05  # of what is left to explain by a model that bends


def test_a_file_of_records_needs_a_column_of_owners(folder, monkeypatch, capsys):
    words = "init public.parquet --public --target y --data owners.parquet --out ours.toml"
    code, _, err = _typed(words, monkeypatch, capsys)
    assert code == 2
    assert "say by which column, with --by" in err


def test_too_few_rows_to_plan_leave_a_draft(folder, monkeypatch, capsys):
    pl.read_parquet("public.parquet").head(30).write_parquet("few.parquet")
    code, out, _ = _typed("init few.parquet --public --target y --out d.toml", monkeypatch, capsys)
    assert code == 0
    said = " ".join(out.split())
    assert "Its settings are not planned: " in said
    assert "30 rows are too few to choose settings by" in said
    assert "ask treaty forecast before any ε is spent" in said
    assert t.load("d.toml").training.method == "averaged-subgradient"


def test_interrupted_it_writes_the_best_so_far(folder, monkeypatch, capsys):
    _draft(monkeypatch, capsys)
    whole = planning.planned

    def stopped(*args, **kwargs):
        yield next(whole(*args, **kwargs))
        raise KeyboardInterrupt

    monkeypatch.setattr(planning, "planned", stopped)
    code, _, err = _typed("plan draft.toml --stand-in public.parquet --public", monkeypatch, capsys)
    assert code == 0, err
    assert t.load("treaty.toml").training.horizon == 3


def test_too_few_rows(folder, monkeypatch, capsys):
    _draft(monkeypatch, capsys)
    pl.read_parquet("public.parquet").head(30).write_parquet("few.parquet")
    code, _, err = _typed("plan draft.toml --stand-in few.parquet --public", monkeypatch, capsys)
    assert code == 2
    assert "few.parquet: 30 rows are too few to choose settings by" in err


def test_what_a_plan_has_to_keep_to(folder, monkeypatch, capsys):
    _draft(monkeypatch, capsys)
    few = "--keep bounds --keep categories --keep basis --keep knots --no-papers"
    words = (
        f"plan draft.toml --stand-in public.parquet --public --asynchronous --max-rounds 4 {few}"
    )
    code, _, err = _typed(words, monkeypatch, capsys)
    assert code == 0, err
    document = t.load("treaty.toml")
    assert document.training.method == "one-at-a-time"
    assert document.training.horizon <= 4
    assert all(party.answers == document.training.horizon // 2 for party in document.parties)
    words = "plan draft.toml --stand-in public.parquet --public --asynchronous --method one-shot"
    code, _, err = _typed(words, monkeypatch, capsys)
    assert code == 2
    assert "--asynchronous goes with one-at-a-time, not with one-shot" in err
    words = "plan draft.toml --stand-in public.parquet --public --keep colours"
    code, _, err = _typed(words, monkeypatch, capsys)
    assert (code, err) == (2, "treaty: treaty.toml: exists already; --force overwrites it")
    code, _, err = _typed(f"{words} --force", monkeypatch, capsys)
    assert code == 2
    assert "a plan cannot keep colours: it can keep bounds, dates, knots" in err


def test_a_search_cut_short_says_so(folder, monkeypatch, capsys):
    _draft(monkeypatch, capsys)
    words = "plan draft.toml --stand-in public.parquet --public --no-papers --delta 1e-6"
    monkeypatch.setattr(planning.time, "monotonic", iter(range(0, 10**9, 100)).__next__)
    words += " --time 50"
    code, out, err = _typed(words, monkeypatch, capsys)
    assert code == 0, err
    said = "The search was stopped when 0% of it was done, for its time was over: with more it may find"
    assert said in " ".join(out.split())
    assert "What each lever brought" not in out
    assert "δ = 1e-06 was allowed; the plan does without it." in out
    assert f"# {said}" in (folder / "treaty.toml").read_text()


def test_whoever_plans_says_what_the_rows_are(folder, monkeypatch, capsys):
    _draft(monkeypatch, capsys)
    for flag, says in (
        ("", "say --public if they may be known to all"),
        (" --private", "give public ones"),
    ):
        code, _, err = _typed(
            f"plan draft.toml --stand-in public.parquet{flag}", monkeypatch, capsys
        )
        assert code == 2
        assert says in err


def test_a_treaty_with_axes_is_planned_again_beside_the_papers_algorithms(
    folder, monkeypatch, capsys
):
    _draft(monkeypatch, capsys)
    text = (folder / "draft.toml").read_text()
    assert "[training]\n" in text
    text = re.sub(r"(?m)^(start|method|horizon) = .*\n", "", text)
    text = text.replace(
        "[training]\n",
        '[training]\nmethod = "blended-step"\nhorizon = 1\nstart = "tuned"\naxes = 2\n',
    )
    (folder / "draft.toml").write_text(text)
    words = "plan draft.toml --stand-in public.parquet --public --keep axes --keep knots --json"
    code, out, err = _typed(words, monkeypatch, capsys)
    assert code == 0, err
    assert t.load("treaty.toml").training.axes == 2
    assert any("papers" in name for name in json.loads(out)["rivals"])


def test_what_nobody_could_train_under_is_not_fitted(folder, monkeypatch, capsys):
    _draft(monkeypatch, capsys)
    text = (folder / "draft.toml").read_text()
    text = re.sub(r"(?m)^start = .*\n", "", text).replace(
        "[training]\n", '[training]\nstart = "tuned"\naxes = 2\n'
    )
    (folder / "draft.toml").write_text(text)
    code, _, err = _typed("fit draft.toml --public public.parquet", monkeypatch, capsys)
    assert (code, "training.axes: averaged-subgradient needs whole gradients" in err) == (2, True)
    assert not (folder / "draft.dictionary.json").exists()


def test_rows_without_any_are_told(folder, monkeypatch, capsys):
    _draft(monkeypatch, capsys)
    pl.read_parquet("public.parquet").head(0).write_csv("empty.csv")
    code, _, err = _typed("plan draft.toml --stand-in empty.csv --public", monkeypatch, capsys)
    assert (code, "empty.csv: 0 rows are too few to choose settings by" in err) == (2, True)


def test_a_draft_from_rows_of_strangers_is_planned_for_owners_that_differ(
    folder, monkeypatch, capsys
):
    public = pl.read_parquet("public.parquet")
    four = pl.Series(["p", "q", "r", "s"] * 75)
    public.with_columns(who=four).write_parquet("others.parquet")
    words = "init others.parquet --public --target y --by who --data owners.parquet --time 1"
    code, out, err = _typed(words, monkeypatch, capsys)
    assert code == 0, err
    assert "the public rows are of none of the parties" in " ".join(out.split())
    document = t.load("treaty.toml")
    assert document.training.parameters["public_owners"] == 4
    assert {p.name for p in document.parties} == {"x", "y"}
    words = "init public.parquet --public --target y --by who --time 1 --force"
    code, out, err = _typed(words, monkeypatch, capsys)
    assert code == 0, err
    assert "records: of every party, how many of these rows are its" in " ".join(out.split())
    words = "init owners.parquet --private --target y --by who --data owners.parquet --force"
    code, _, err = _typed(words, monkeypatch, capsys)
    assert (code, "leave --data out, or draft from --public rows" in err) == (2, True)


def test_public_rows_of_other_owners(folder, monkeypatch, capsys):
    _draft(monkeypatch, capsys)
    words = "plan draft.toml --stand-in public.parquet --public --by who"
    code, _, err = _typed(words, monkeypatch, capsys)
    assert code == 2
    assert "public rows of 2 owner(s) do not tell how owners differ" in err
    rows = pl.read_parquet("public.parquet")
    schools = pl.Series([f"school {i % 5}" for i in range(len(rows))])
    rows.with_columns(who=schools).write_parquet("schools.parquet")
    few = "--keep bounds --keep categories --keep basis --keep knots --no-papers"
    words = f"plan draft.toml --stand-in schools.parquet --public --by who {few}"
    code, _, err = _typed(words, monkeypatch, capsys)
    assert code == 0, err
    assert t.load("treaty.toml").training.parameters == {"public_owners": 5.0}


def test_a_forecast_says_which_line_to_change(folder, monkeypatch, capsys):
    _draft(monkeypatch, capsys)
    words = "forecast draft.toml --stand-in public.parquet --precision 0.3"
    code, out, err = _typed(words, monkeypatch, capsys)
    assert code == 0, err
    said = " ".join(out.split())
    for part in ("line of the treaty", "[training]", 'method = "blended-step"', "good settings"):
        assert part in said
    code, out, _ = _typed(f"{words} --json", monkeypatch, capsys)
    told = json.loads(out)["settings"]
    assert told["expected_error_with_good_settings"] < told["expected_error"]
    assert {"line", "write", "expected_error"} == set(told["changes"][0])
    code, out, _ = _typed(f"{words} --no-settings", monkeypatch, capsys)
    assert "line of the treaty" not in out


def test_records_without_a_target_are_counted_for_whoever_drafts(folder, monkeypatch, capsys):
    """They are refused when training; how many there are is said, and is not in the treaty."""
    owners = pl.read_parquet("owners.parquet")
    owners = owners.with_columns(y=pl.when(pl.int_range(len(owners)) >= 7).then(pl.col("y")))
    owners.write_parquet("owners.parquet")
    words = "init public.parquet --public --target y --by who --data owners.parquet --no-plan"
    code, out, err = _typed(f"{words} --out draft.toml", monkeypatch, capsys)
    assert code == 0, err
    said = "owners.parquet: 7 of 4,000 records have no y: leave them out before training"
    assert said in " ".join(out.split())
    assert "have no y" not in (folder / "draft.toml").read_text()
