"""The whole way: rows, trials, figures, report; resumed, repeated, on several processes."""

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from treaty.cli.main import app
from treaty.cli.reproduce import _discharges
from treaty.errors import TreatyError
from treaty.papers import rows
from treaty.papers.reproduction import FIGURES, reproduce, wanted
from treaty.papers.rows import Rows
from treaty.papers.trial import Trial
from treaty.papers.workers import fill
from treaty.papers.workshop import Workshop
from treaty.studies import fraud, hospital, lending
from treaty.trials.store import Store

SMALL = ["--share", "0.05", "--runs", "6", "--processes", "1"]
KEYS = ["W4", "F3", "F10"]


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    result = CliRunner().invoke(
        app, ["reproduce", *KEYS, *SMALL, "--out", str(folder), "--json"], catch_exceptions=False
    )
    assert result.exit_code == 0, result.output
    return folder, json.loads(result.stdout)


def test_json_lists_every_claim_with_verdict_and_number(told):
    folder, told = told
    keys = [claim["key"] for claim in told["claims"]]
    assert keys == [
        "slope-in-epsilon-W4",
        "theorem-3-not-tight",
        "one-at-a-time-F3",
        "hospitals-that-gain",
    ]
    for claim in told["claims"]:
        assert claim["verdict"] in ("holds", "holds in part", "does not hold")
        assert isinstance(claim["number"], float)
        assert claim["statement"]
        assert claim["measures"]
    assert set(told["seconds"]) == set(KEYS)
    assert all("generated rows, not real ones" in line for line in told["rows"])
    assert Path(told["report"]) == folder / "report-W4-F3-F10.html"
    assert {group["setting"] for group in told["forecasts"]} == {"W lending", "F hospital"}


def test_the_report_needs_nothing_else(told):
    folder, told = told
    page = Path(told["report"]).read_text()
    sources = re.findall(r"(?:src|href)='([^']*)'", page)
    assert sources
    assert all(s.startswith(("data:image/png;base64,", "#")) for s in sources)
    assert "http" not in re.sub(r"base64,[^']*", "", page)
    for key in KEYS:
        assert f"id='{key}'" in page
        for ending in (".png", ".svg"):
            assert (folder / "figures" / f"{key}{ending}").stat().st_size > 5_000
    assert page.count("Data: generated rows, not real ones") == 2
    assert "Data: no rows: only clocks" in page
    for claim in told["claims"]:
        assert claim["verdict"] in page


def test_a_second_run_takes_what_is_there_and_says_the_same(told, monkeypatch):
    folder, first = told

    def never(*_):
        raise AssertionError("run again")

    monkeypatch.setattr("treaty.papers.running.Runner.run", never)
    monkeypatch.setattr("treaty.papers.workshop.chosen_step", never)
    result = CliRunner().invoke(
        app, ["reproduce", *KEYS, *SMALL, "--out", str(folder), "--json"], catch_exceptions=False
    )
    assert json.loads(result.stdout)["claims"] == first["claims"]


def test_the_same_seed_gives_the_same_and_another_another(tmp_path):
    def claims(name, seed):
        workshop = Workshop(Rows(share=0.02, seed=3), Store(tmp_path / name), runs=4, seed=seed)
        return [claim.plain() for claim in reproduce(workshop, ["W5"]).claims]

    assert claims("a", 5) == claims("b", 5)
    assert claims("c", 6) != claims("b", 5)


def test_an_interrupted_run_goes_on(tmp_path, monkeypatch):
    rows = Rows(share=0.02, seed=3)
    whole = reproduce(Workshop(rows, Store(tmp_path / "whole"), runs=4), ["W5"])
    workshop = Workshop(rows, Store(tmp_path / "parts"), runs=4)
    run, done = Workshop.run, []

    def until(self, trial):
        if len(done) == 10:
            raise KeyboardInterrupt
        done.append(trial)
        return run(self, trial)

    monkeypatch.setattr(Workshop, "run", until)
    with pytest.raises(KeyboardInterrupt):
        reproduce(workshop, ["W5"])
    monkeypatch.setattr(Workshop, "run", run)
    assert all(workshop.known(trial) for trial in done)
    # A file cut off in the middle is made again.
    half = workshop.store.path(workshop._depends_on(done[0]))
    half.write_text(half.read_text()[:20])
    ticks = []
    again = reproduce(workshop, ["W5"], progress=lambda *tick: ticks.append(tick))
    assert [c.plain() for c in again.claims] == [c.plain() for c in whole.claims]
    assert ticks[-1][1:] == (1_000, 1_000)
    assert {tick[0] for tick in ticks} == {"training"}  # step sizes were there already


def test_several_processes_give_the_same_as_one(tmp_path):
    rows = Rows(share=0.02, seed=3)
    one, two = (Workshop(rows, Store(tmp_path / name), runs=4) for name in ("one", "two"))
    trials = [
        Trial("W lending", (1_000,) * 3, (epsilon,), noise, 0.5, foretold=True)
        for epsilon in (0.5, 5.0)
        for noise in ("read off", "corrected")
    ]
    trials.append(Trial("W fraud", (500,) * 3, (1.0,), "read off", 0.5, every=True))
    assert [job for job, _ in fill(one, trials, 1)] == trials
    assert {job for job, _ in fill(two, trials, 2)} == set(trials)
    for trial in trials:
        assert two.known(trial)
        assert one.run(trial) == two.run(trial)


def test_what_a_process_cannot_do_is_told(tmp_path):
    (tmp_path / "loan.csv").write_text("a,b\n1,2\n")
    workshop = Workshop(Rows(share=0.02), Store(tmp_path / "trials"), runs=4)
    trials = [Trial("W lending", (n,) * 3, (1.0,), "read off", 0.5) for n in (1_000, 2_000)]
    workshop.known(trials[0])
    workshop.rows = Rows(lending=tmp_path / "loan.csv")
    with pytest.raises(TreatyError, match="not LendingClub's loans"):
        list(fill(workshop, trials, 2))


def test_no_process_outlives_a_run_that_is_killed(tmp_path):
    """SIGKILL leaves no time to say goodbye; workers see for themselves that they are alone."""
    command = [str(Path(sys.executable).parent / "treaty"), "reproduce", "W6", "--share", "0.02"]
    running = subprocess.Popen(
        [*command, "--processes", "2", "--out", str(tmp_path)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for(lambda: len(list((tmp_path / "trials").glob("*.json"))) > 3)
        of = Path(f"/proc/{running.pid}/task/{running.pid}/children")
        workers = of.read_text().split()
    finally:
        running.kill()
        running.wait()
    assert len(workers) >= 2
    _wait_for(lambda: not any(_alive(pid) for pid in workers))


def _alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def _wait_for(condition, seconds=300.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["W1"], 'there is no figure "W1"; there are W2, W3'),
        (["--lending", "nothing.csv"], "nothing.csv: there is no such file"),
        (["W4", "--fraud", "nothing.csv"], "nothing.csv: there is no such file"),
    ],
)
def test_bad_input_is_told_before_anything_is_made(tmp_path, monkeypatch, words, says):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["reproduce", *words])
    assert isinstance(result.exception, TreatyError)
    assert says in str(result.exception)
    assert not list(tmp_path.iterdir())


def test_a_shells_pattern_names_several_files_of_hospitals(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files = [Path(f"SPARCS{i}.csv") for i in (1, 2, 3)]
    for file in files:
        file.touch()
    assert _discharges(["SPARCS2.csv", "W4", "SPARCS3.csv"], files[:1]) == (
        ["W4"],
        (files[1], files[2], files[0]),
    )
    assert _discharges([], [Path("SPARCS*.csv")]) == ([], tuple(files))
    assert _discharges(["W4"], [Path("nothing*.csv")]) == (["W4"], (Path("nothing*.csv"),))
    with pytest.raises(TreatyError, match="say what it is of"):
        _discharges(["SPARCS1.csv"], [])


def test_figures_come_in_the_papers_order():
    assert wanted(["f3", "W4"]) == ["W4", "F3"]
    assert wanted([]) == list(FIGURES)


def test_a_part_of_a_file_is_shuffled_and_has_frauds_at_their_natural_rate(tmp_path):
    made = fraud.generate(40_000, seed=1).with_row_index("at")
    many = pl.concat([made.filter(pl.col("Class") == 1)] * 8 + [made.filter(pl.col("Class") == 0)])
    many.write_parquet(tmp_path / "cards.parquet")
    lab = Rows(fraud=tmp_path / "cards.parquet").lab("fraud")
    assert lab.study.kind == "partial"
    assert lab.study.frame["Class"].mean() == pytest.approx(0.00172, rel=0.3)
    assert lab.study.frame["Class"][:60].sum() < 10  # not all frauds first, as in the file
    assert lab.said([10]) == "a part of the real rows, shuffled"
    again = Rows(fraud=tmp_path / "cards.parquet").lab("fraud")
    assert again.fingerprint == lab.fingerprint


@pytest.mark.parametrize(("published", "kind"), [(20_000, "full"), (50_000, "partial")])
def test_loans_stay_in_their_order(tmp_path, monkeypatch, published, kind):
    monkeypatch.setitem(rows._FULL, "lending", published)
    made = lending.generate(19_000, seed=1)
    made.write_parquet(tmp_path / "loans.parquet")
    study = Rows(lending=tmp_path / "loans.parquet").lab("lending").study
    assert study.kind == kind
    assert not study.shuffled
    assert study.frame["int_rate"].to_list() == made["int_rate"].to_list()


def test_several_files_of_hospitals_and_too_few_rows(tmp_path):
    made = hospital.generate(5_000, seed=1)
    paths = tuple(tmp_path / f"{i}.parquet" for i in range(2))
    for path, part in zip(paths, (made.head(3_000), made.tail(2_000)), strict=True):
        part.write_parquet(path)
    study = Rows(hospital=paths).lab("hospital").study
    assert len(study.frame) == 5_000
    assert sorted(study.frame["length_of_stay"]) == sorted(made["length_of_stay"])
    made.head(100).write_parquet(paths[0])
    with pytest.raises(TreatyError, match="100 rows are too few: at least 2,000"):
        Rows(hospital=paths[:1]).lab("hospital")


def test_categories_can_have_a_column_each():
    wide = Rows(share=0.02, one_hot=True).lab("lending").study
    assert len(wide.encoder.dictionary.columns) > 80
