"""CONTRIBUTING, word for word: on a copy of the package, through forecast, training and simulation."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = """
import numpy as np, polars as pl, sys
import treaty, treaty.losses
from treaty.terms import loads

assert treaty.__file__.startswith(sys.argv[1]), treaty.__file__
loss, training = sys.argv[2], sys.argv[3]
treaty.losses.permit([] if ":" not in loss else [loss.split('"')[1]])
text = 'version = 1\\ntitle = "as the page says"\\n'
text += '[features.a]\\nkind = "number"\\nbounds = [-3, 3]\\n'
text += '[features.b]\\nkind = "number"\\nbounds = [-3, 3]\\n'
text += '[target]\\ncolumn = "y"\\nbounds = [-6, 6]\\n'
text += f'[loss]\\n{loss}\\ntheta_max = 2.0\\nridge = 0.001\\n[training]\\n{training}\\n'
for name in ("east", "west"):
    text += f'[[parties]]\\nname = "{name}"\\nrecords = 400\\nepsilon = 400.0\\n'
document = loads(text)

def rows(n, seed):
    random = np.random.default_rng(seed)
    a, b = random.standard_normal((2, n)).clip(-3, 3)
    y = (a - 2 * b + 0.3 * random.standard_normal(n)).clip(-6, 6)
    owner = np.repeat(["east", "west"], n // 2)
    return pl.DataFrame({"a": a, "b": b, "y": y, "owner": owner})

expected = treaty.forecast(document, rows(600, 1), precision=0.1)
assert expected.done == 1.0 and expected.together.low <= expected.together.high
assert str(expected)
records = treaty.sources(document, data=rows(800, 2), by="owner")
assembly = treaty.assemble(document, records, rows(600, 1))
report = treaty.train(assembly)
assert report.together < report.nothing, (report.together, report.nothing)
assert all(spent <= 400.0 for spent in report.spent.values())
runs = treaty.simulate(assembly.plan, assembly.risks, runs=40, seed=1)
assert runs.mean < report.nothing
print(f"forecast {expected.together}, trained {report.together:.3g}, simulated {runs.mean:.3g}")
"""
SQUARED = 'name = "squared"'
SUBGRADIENT = 'method = "averaged-subgradient"\nhorizon = 20\nparameters = {c1 = 0.3}'
SECTIONS = {
    "Add a loss": (
        'name = "my_losses:Pinball"\nparameters = { tau = 0.9 }',
        'method = "averaged-subgradient"\nhorizon = 60\nparameters = {c1 = 1.5}',
    ),
    "Add a learner": (SQUARED, 'method = "newton"\nhorizon = 3\nstart = "public"'),
    "Add a mechanism": (SQUARED, SUBGRADIENT + '\nmechanism = "cautious"'),
    "Add a question": (SQUARED, 'method = "public-gram"\nhorizon = 1\nstart = "public"'),
}


def section(title: str) -> str:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return page.split(f"## {title}\n")[1].split("\n## ")[0]


def follow(text: str, folder: Path) -> None:
    """Write the files that a section shows, and make the changes it shows."""
    for kind, where, body in re.findall(r"```(\w+)\n# (\S+)\n(.*?)```", text, re.S):
        path = folder / where
        if kind == "python":
            assert not path.exists(), f"{where} is there already"
            path.write_text(body, encoding="utf-8")
            continue
        assert kind == "diff"
        changed = path.read_text(encoding="utf-8")
        for hunk in re.findall(r"(?:^ .*\n)?(?:^[-+].*\n)+(?:^ .*\n)?", body, re.M):
            lines = hunk.splitlines()
            old = "".join(line[1:] + "\n" for line in lines if line[0] in " -")
            new = "".join(line[1:] + "\n" for line in lines if line[0] in " +")
            assert changed.count(old) == 1, f"{where} does not hold\n{old}"
            changed = changed.replace(old, new)
        path.write_text(changed, encoding="utf-8")


@pytest.mark.parametrize("title", SECTIONS)
def test_nothing_that_the_page_tells_is_missing_a_step(title, tmp_path):
    (tmp_path / "src").mkdir()
    shutil.copytree(
        ROOT / "src" / "treaty",
        tmp_path / "src" / "treaty",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    follow(section(title), tmp_path)
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-P", "script.py", str(tmp_path / "src"), *SECTIONS[title]],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{tmp_path / 'src'}{os.pathsep}{tmp_path}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "simulated" in done.stdout


def test_what_the_page_adds_is_clean(tmp_path):
    """The page's own files pass the linter that the project's do."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for title in ("Add a mechanism", "Add a question"):
        follow(section(title), tmp_path)
    ruff = Path(sys.executable).parent / "ruff"
    for command in (["check"], ["format", "--check"]):
        done = subprocess.run(
            [ruff, *command, "src"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout
