"""Every example runs as its page says, on generated rows."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from treaty.owner.offer import unusual
from treaty.records import open_source
from treaty.terms import fit, load, plan_of

ROOT = Path(__file__).parents[1]


def _run(*words: object, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, *map(str, words)], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", ["lending", "hospital", "fraud"])
def test_example_runs_as_written(name, tmp_path):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    page = (tmp_path / "examples" / name / "README.md").read_text()
    commands = [line.split() for line in page.splitlines() if line.startswith("    ")]
    prepare, train = commands[:2]
    assert train[:2] == ["treaty", "train"]
    assert prepare == ["python", "examples/prepare.py", name]
    assert "generated rows" in _run(*prepare[1:], cwd=tmp_path)
    told = json.loads(_run("-m", "treaty", *train[1:], "--json", cwd=tmp_path))
    report = told["models"]["together"]
    assert report["psi"] < 0.2
    public = open_source(tmp_path / "examples" / name / "public.parquet")
    document = fit(load(tmp_path / "examples" / name / "treaty.toml"), public)
    plan = plan_of(document)
    for party in plan.parties:
        assert report["epsilon_spent"][party.name] <= party.budget.epsilon
        assert unusual(party, document, plan.release(party)) == []


def test_the_flights_example_is_the_demonstrations_treaty():
    page = ROOT / "examples" / "flights" / "treaty.toml"
    shipped = ROOT / "src" / "treaty" / "studies" / "flights.toml"
    assert page.read_text() == shipped.read_text()
    assert len(load(page).parties) == 31
