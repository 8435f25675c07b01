"""The house in figures: sizes, who imports whom, and what a forecast computes again and again.

Lines a package, the longest file and the longest function; how many packages import another
(`imports`) and the `cycles` among them. `optima_over_distinct`: optima solved over distinct ones in a
forecast with ten owners. `forecasts_per_second`: of 100 treaties that differ in budgets and T only, on
evidence that is read once.
"""

import ast
import hashlib
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

import treaty
import treaty.fitness.solver
from bench.report import finish
from treaty.evidence import folds, parts, worlds
from treaty.fitness import (
    MomentRisk,
    Optimum,
    PooledRisk,
    Problem,
    Risk,
    RowRisk,
    optimum,
    yardsticks,
)
from treaty.learners import geometry
from treaty.terms import Treaty, loads

PACKAGE = Path(treaty.__file__).parent
OWNERS, TREATIES = 10, 100


def files() -> dict[str, Path]:
    """Return every file of the package by the name of its module."""
    found: dict[str, Path] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts_of = path.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(parts_of).removesuffix(".__init__")] = path
    return found


def package_of(module: str) -> str:
    """Return the package that a module belongs to; what lies beside the packages is one of its own."""
    names = module.split(".")
    if names[:3] == ["treaty", "federation", "nats"]:
        return "federation.nats"
    return names[1] if len(names) > 1 else "treaty"


def imported(path: Path) -> Iterator[tuple[str, bool]]:
    """Return the modules of the package that a file imports, each with whether a function does."""
    known = files()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    inside = {
        child for node in ast.walk(tree) if isinstance(node, functions) for child in ast.walk(node)
    }
    for node in ast.walk(tree):
        hidden = node in inside
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            deeper = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in known else node.module for name in deeper]
        for name in names:
            if name.split(".")[0] == "treaty":
                yield name, hidden


def graph() -> dict[str, set[str]]:
    """Return which packages every package imports, wherever in it."""
    edges: dict[str, set[str]] = defaultdict(set)
    for module, path in files().items():
        mine = package_of(module)
        edges[mine] |= {package_of(name) for name, _ in imported(path)} - {mine}
    return dict(edges)


def cycles(edges: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of packages that import each other in a circle."""
    reach = {package: set(others) for package, others in edges.items()}
    for _ in edges:
        for others in reach.values():
            others |= {further for other in others for further in reach.get(other, set())}
    groups = {
        tuple(sorted(other for other in others if package in reach.get(other, set())))
        for package, others in reach.items()
        if package in others
    }
    return [list(group) for group in sorted(groups)]


def function_lengths() -> Counter[str]:
    """Return how many lines every function has."""
    lengths: Counter[str] = Counter()
    for module, path in files().items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                end = node.end_lineno or node.lineno
                lengths[f"{module}:{node.name}"] = end - node.lineno + 1
    return lengths


def ten_owners(epsilon: float = 1.0, horizon: int = 10) -> Treaty:
    """Return a treaty of ten owners."""
    text = 'version = 1\ntitle = "ten owners"\n'
    for name in "abcd":
        text += f'[features.{name}]\nkind = "number"\nbounds = [-4, 4]\n'
    text += '[target]\ncolumn = "y"\nbounds = [-8, 8]\n'
    text += '[dictionary]\nstandardise = "public"\ncomponents = 3\nwhiten = true\n'
    text += 'radius_quantile = 0.95\nnorm = "l1"\n'
    text += '[loss]\nname = "squared"\ntheta_max = 1.0\nridge = 1e-3\n'
    text += f'[training]\nmethod = "averaged-subgradient"\nhorizon = {horizon}\n'
    for i in range(OWNERS):
        text += (
            f'[[parties]]\nname = "owner {i}"\nrecords = {1000 * (i + 1)}\nepsilon = {epsilon}\n'
        )
    return loads(text)


def rows(count: int = 4_000) -> pl.DataFrame:
    """Return generated rows of ten owners."""
    random = np.random.default_rng(0)
    x = random.standard_normal((count, 4))
    whose = random.integers(OWNERS, size=count)
    y = x @ np.array([1.0, -0.5, 0.3, 0.0]) + 0.1 * whose + random.standard_normal(count)
    columns = {name: x[:, j] for j, name in enumerate("abcd")}
    return pl.DataFrame({**columns, "y": y, "owner": [f"owner {i}" for i in whose]})


def content(risk: Risk) -> bytes:
    """Return what a risk is made of, as bytes."""
    if isinstance(risk, MomentRisk):
        m = risk.moments
        return b"m" + m.xx.tobytes() + m.xy.tobytes() + np.float64(m.yy).tobytes()
    if isinstance(risk, RowRisk):
        return b"r" + risk.x.tobytes() + risk.y.tobytes()
    assert isinstance(risk, PooledRisk)
    weights = np.array(risk.weights).tobytes()
    return b"p" + weights + b"".join(content(one) for one in risk.risks)


def optima(by: str | None) -> tuple[int, int]:
    """Return how many optima one forecast solves, and how many of them are distinct."""
    solved: list[str] = []

    def counted(problem: Problem, risk: Risk, start: np.ndarray | None = None) -> Optimum:
        key = repr(problem.fitness_key).encode() + content(risk)
        solved.append(hashlib.sha256(key).hexdigest())
        return optimum(problem, risk, start)

    places = (folds, parts, worlds, yardsticks, geometry)
    for place in places:
        place.optimum = counted
    try:
        treaty.forecast(ten_owners(), rows(), by=by)
    finally:
        for place in places:
            place.optimum = optimum
    return len(solved), len(set(solved))


def forecasts_per_second() -> float:
    """Return how many forecasts a second evidence serves that is read once."""
    evidence = treaty.Evidence(rows(), by="owner")
    budgets = np.geomspace(0.1, 10.0, TREATIES // 5)
    treaties = [ten_owners(float(e), T) for e in budgets for T in (2, 4, 6, 8, 10)]
    begun = time.perf_counter()
    for document in treaties:
        treaty.forecast(document, evidence, precision=0.1)
    return len(treaties) / (time.perf_counter() - begun)


def main() -> None:
    lines: Counter[str] = Counter()
    lengths: Counter[str] = Counter()
    for module, path in files().items():
        count = len(path.read_text(encoding="utf-8").splitlines())
        lines[package_of(module)] += count
        lengths[module] = count
    for package, count in lines.most_common():
        print(f"{package:16} {count:6,} lines")
    edges = graph()
    for package in sorted(edges):
        print(f"{package:16} imports {', '.join(sorted(edges[package])) or 'nothing'}")
    (longest_file, file_lines), (longest, function_lines) = (
        lengths.most_common(1)[0],
        function_lengths().most_common(1)[0],
    )
    print(f"longest file {longest_file}, longest function {longest}")
    solved = distinct = 0
    for by in (None, "owner"):
        one = optima(by)
        print(f"optima solved and distinct, by = {by}: {one}")
        solved, distinct = solved + one[0], distinct + one[1]
    finish(
        lines=sum(lines.values()),
        packages=len(lines),
        longest_file=file_lines,
        longest_function=function_lines,
        imports=sum(len(others) for others in edges.values()),
        cycles=len(cycles(edges)),
        optima_solved=solved,
        optima_distinct=distinct,
        optima_over_distinct=round(solved / distinct, 3),
        forecasts_per_second=round(forecasts_per_second(), 2),
    )


if __name__ == "__main__":
    main()
