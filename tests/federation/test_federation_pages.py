"""The pages' steps for a federation, word for word, with a dictionary that public rows settle."""

import contextlib
import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl

from treaty.federation.nats.demo import free_port
from treaty.models import Model
from treaty.terms.names import token

ROOT = Path(__file__).parents[2]
NAMES = ("North Bank", "River Bank")
TREATY = """
version = 1
title = "two banks"
[features.income]
kind = "hats"
bounds = [0, 10]
quantiles = 4
[features.town]
kind = "one-hot"
categories = ["a", "b", "c"]
[target]
column = "rate"
bounds = [0, 20]
unit = "points"
[dictionary]
standardise = "frequency"
norm = "l1"
[loss]
name = "squared"
clip = 1.0
theta_max = 5.0
[training]
method = "blended-step"
horizon = 1
start = "tuned"
axes = 2
""" + "".join(f'[[parties]]\nname = "{name}"\nrecords = 2000\nepsilon = 1.0\n' for name in NAMES)


def _steps(page: str) -> list[str]:
    """Return the commands of a page's steps, in order, but for the demonstration."""
    text = (ROOT / page).read_text(encoding="utf-8")
    if page == "README.md":
        text = text[text.index("**8. Across organisations.**") : text.index("**9. ")]
    lines = re.findall(r"^(?:    |\$ )(treaty .*)$", text, re.MULTILINE)
    return [line for line in lines if not line.startswith("treaty federation demo")]


def _write_rows(path: Path, count: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    income, town = random.uniform(0, 10, count), random.choice(["a", "b", "c"], count)
    rate = 15 - income + 2 * (town == "a") + random.standard_normal(count)
    pl.DataFrame({"income": income, "town": town, "rate": rate}).write_parquet(path)


def _command(line: str) -> list[str]:
    return [sys.executable, "-m", "treaty", *shlex.split(line)[1:]]


def _done(line: str, folder: Path, said: str | None = None) -> str:
    done = subprocess.run(
        _command(line), cwd=folder, input=said, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, f"{line}: {done.stderr}"
    return done.stdout


@contextlib.contextmanager
def _running(line: str, folder: Path):
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(_command(line), cwd=folder, stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def test_both_pages_have_the_same_steps():
    assert _steps("README.md") == _steps("docs/how-to/run-a-federation.md")


def test_the_steps_work_word_for_word(tmp_path):
    """Only the server's name is another one, and the second owner types its own name."""
    fit, init, serve, ratify, owner, ledger, learn = _steps("README.md")
    office = tmp_path / "office"
    office.mkdir()
    (office / "treaty.toml").write_text(TREATY)
    _write_rows(office / "public.parquet", 500, 0)
    host = f"--host localhost --port {free_port()}"
    unsettled = subprocess.run(_command(init), cwd=office, capture_output=True, text=True)
    assert unsettled.returncode == 2
    assert "treaty fit" in unsettled.stderr
    _done(fit, office)
    _done(init.replace("--host nats.example.org", host), office)
    with contextlib.ExitStack() as stack:
        stack.enter_context(_running(serve, office))
        for seed, name in enumerate(NAMES, start=1):
            home = tmp_path / name
            home.mkdir()
            for file in ("treaty.toml", "treaty.dictionary.json"):
                shutil.copy(office / file, home)
            mine = Path("federation/owners") / token(name)
            shutil.copytree(office / mine, home / mine)
            _write_rows(home / "ours.parquet", 2000, seed)
            granted = _done(ratify.replace("North Bank", name), home, "y\n")
            assert "Granted, and written into" in granted
            line = owner.replace(token("North Bank"), token(name))
            stack.enter_context(_running(line, home))
        trained = json.loads(_done(f"{learn} --json", office))
        assert trained["answers"] == dict.fromkeys(NAMES, 1)
        told = _done(ledger, tmp_path / "North Bank")
        assert "1 of 1" in told
    model = Model.load(office / "model.json")
    later = tmp_path / "later.parquet"
    _write_rows(later, 1000, 9)
    rows = pl.read_parquet(later)
    errors = model.predict(rows) - rows["rate"].to_numpy()
    assert float(np.sqrt(np.mean(errors**2))) < 1.2
