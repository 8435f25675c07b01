"""The documentation builds without a warning, every link in it leads somewhere, and notebooks run."""

import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    out = tmp_path_factory.mktemp("site")
    words = ["-W", "--keep-going", "-q", "-E", "-d", out / "trees", "-b", "html", ROOT / "docs"]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *map(str, words), str(out / "html")],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return out / "html"


def test_every_link_leads_somewhere(site):
    pages = {page: page.read_text(encoding="utf-8") for page in site.rglob("*.html")}
    anchors = {page: set(re.findall(r'\bid="([^"]+)"', text)) for page, text in pages.items()}
    checked = 0
    for page, text in pages.items():
        for link in re.findall(r'<a\b[^>]*\bhref="([^"]+)"', text):
            target, _, anchor = unquote(unescape(link)).partition("#")
            if "://" in target or target.startswith("mailto:"):
                continue
            there = (page.parent / target).resolve() if target else page
            assert there.exists(), f"{page.name} links to {link}"
            if anchor and there in anchors:
                assert anchor in anchors[there], f"{page.name} links to {link}"
            checked += 1
    assert checked > 100


def test_the_reference_lists_every_key_and_every_command(site):
    keys = (site / "reference" / "treaty-toml.html").read_text(encoding="utf-8")
    commands = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    for word in ("radius_quantile", "class_weights", "frequency_scaling", "answers"):
        assert word in keys
    for word in ("treaty init", "treaty federation serve", "--details"):
        assert word in commands


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(path, tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    book = nbformat.read(path, as_version=4)
    assert all(not cell.get("outputs") for cell in book.cells)
    NotebookClient(book, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [o for cell in book.cells for o in cell.get("outputs", []) if "data" in o]
    assert any("<table>" in output["data"].get("text/html", "") for output in shown)


def test_there_are_two_notebooks():
    assert [path.stem for path in NOTEBOOKS] == ["consortium", "discharges"]
