"""What the documents say holds."""

import importlib
import re
import tomllib
from pathlib import Path

import pytest

from treaty.learners import METHODS
from treaty.losses import SHIPPED, Loss
from treaty.privacy import MECHANISMS

ROOT = Path(__file__).parents[1]


def test_readme_names_every_method_loss_and_mechanism():
    text = (ROOT / "README.md").read_text().lower()
    for name in [*METHODS, *SHIPPED, *MECHANISMS]:
        assert name in text


def test_the_loss_of_the_contributing_page_is_a_loss():
    page = (ROOT / "CONTRIBUTING.md").read_text()
    code = re.search(r"```python\n(.*?)```", page, re.S)
    assert code is not None
    space: dict[str, object] = {}
    exec(code.group(1), space)
    assert issubclass(space["Pinball"], Loss)
    assert space["Pinball"](tau=0.9).slope_bound(1.0, (-1.0, 1.0)) == 0.9


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", (ROOT / page).read_text()):
        if not target.startswith("http"):
            assert (ROOT / target).exists(), target


def test_constraints_are_names_and_versions_only():
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!_]+", line), line


def test_every_dependency_is_pinned():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    wanted = [*project["dependencies"], *(name for extra in extras for name in extra)]
    pinned = {
        line.split("==")[0].lower().replace("_", "-")
        for line in (ROOT / "constraints.txt").read_text().splitlines()
    }
    for requirement in wanted:
        assert re.split(r"[><=\[]", requirement)[0].lower() in pinned


@pytest.mark.parametrize("file", sorted(path.stem for path in (ROOT / "bench").glob("*.py")))
def test_every_benchmark_can_be_imported(file, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    importlib.import_module(f"bench.{file}")


def test_the_python_of_the_readme_runs(tmp_path, monkeypatch, capsys):
    """Step 6 as it is written, on the demonstration's files."""
    import treaty
    from treaty.studies.flights import write_flights

    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    code = next(block for block in blocks if block.startswith("document ="))
    write_flights(tmp_path / "flights")
    monkeypatch.chdir(tmp_path)
    space = {"treaty": treaty}
    exec(code, space)
    assert space["report"].together < space["report"].nothing
    assert "together, private" in capsys.readouterr().out
