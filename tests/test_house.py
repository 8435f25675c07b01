"""The layout is the architecture: who may import whom, and what a name means."""

import importlib
import pkgutil
import re
import subprocess
import sys
import types

import pytest
from bench.house import cycles, files, graph, imported, package_of

import treaty


def test_packages_import_each_other_in_one_direction_only():
    edges = graph()
    assert cycles(edges) == []
    lines = [f"{package} -> {', '.join(sorted(edges[package]))}" for package in sorted(edges)]
    assert len(lines) > 20, "\n".join(lines)


def test_a_cycle_would_be_found():
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]
    assert cycles({"a": {"b"}, "b": {"c"}, "c": set()}) == []


LATE = {"treaty.models.pipeline"}
"""Imported when it is first used: all of it is scikit-learn, which takes a second to import."""


def test_no_import_is_hidden_in_a_function():
    """Only commands import when they run, so that help is quick; nobody imports commands."""
    hidden = [
        f"{module} imports {name} in a function"
        for module, path in files().items()
        for name, inside in imported(path)
        if inside and package_of(module) != "cli" and name not in LATE
    ]
    assert hidden == []


@pytest.mark.parametrize(
    ("package", "never"),
    [
        ("owner", {"federation", "federation.nats", "training", "cli", "papers"}),
        ("learners", {"plans", "simulation", "terms", "evidence", "forecasting"}),
        ("questions", {"learners", "plans", "owner", "terms"}),
        ("federation", {"federation.nats", "cli"}),
        ("fitness", {"records", "privacy", "plans"}),
        ("evidence", {"forecasting", "simulation", "cli"}),
    ],
)
def test_rooms_keep_to_themselves(package, never):
    assert graph()[package] & never == set()


def test_nothing_imports_the_reproduction_or_the_command_line():
    for package, others in graph().items():
        if package not in ("cli", "papers", "__main__"):
            assert not others & {"papers", "cli"}, package


def test_the_package_imports_nothing_before_it_is_used():
    """A command pays for what it needs: help, a draft or a forecast wait for no slow library."""
    code = (
        "import sys, treaty; early = set(sys.modules); treaty.forecast, treaty.train, treaty.Model;"
        "print(sorted({'numpy', 'polars', 'scipy'} & early),"
        "sorted({'sklearn', 'dp_accounting', 'opendp', 'scipy.stats'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] []"


def test_an_owner_needs_no_network():
    """Home, policy, ratifying and answering, with no package of the federation there."""
    script = """
import sys
for name in ("nats", "msgpack", "cryptography"):
    sys.modules[name] = None
from treaty.owner import Home, OpenHome, Owner, Policy
from treaty.cli.main import app
assert not [name for name in sys.modules if name.startswith("treaty.federation")]
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_no_name_is_a_module_and_something_else_at_once():
    """What a package offers under a name never hides one of its own modules."""
    for found in pkgutil.walk_packages(treaty.__path__, "treaty."):
        if found.ispkg:
            importlib.import_module(found.name)
    for package in [treaty, *(sys.modules[f.name] for f in _packages())]:
        for inner in pkgutil.iter_modules(package.__path__):
            value = getattr(package, inner.name, None)
            assert value is None or isinstance(value, types.ModuleType), (
                f"{package.__name__}.{inner.name}"
            )


def _packages():
    return [f for f in pkgutil.walk_packages(treaty.__path__, "treaty.") if f.ispkg]


def test_questions_are_told_apart_nowhere_but_in_their_own_room_and_on_the_wire():
    for module, path in files().items():
        if package_of(module) == "questions" or module == "treaty.federation.messages":
            continue
        text = path.read_text(encoding="utf-8")
        for kind in ("MeanGradient", "SecondMoments", "Question"):
            assert f", {kind})" not in text.replace("\n", ""), f"{module}: isinstance on {kind}"


def test_the_page_about_the_house_shows_the_house():
    """Every room is on the page, in an order in which each imports only what is above it."""
    page = (files()["treaty"].parents[2] / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = re.findall(r"^\| `([\w.]+)` \| .* \| (.*) \|$", page, re.M)
    beside = {
        "arrays",
        "canvas",
        "errors",
        "limits",
        "matrices",
        "plain",
        "private_files",
        "views",
        "treaty",
        "__main__",
    }
    edges = graph()
    assert [room for room, _ in rooms if room not in edges] == []
    assert {room for room, _ in rooms} == edges.keys() - beside
    above: set[str] = set()
    for room, listed in rooms:
        wanted = edges[room] - beside
        assert set(re.findall(r"`([\w.]+)`", listed)) == wanted, room
        assert wanted <= above, room
        above.add(room)
