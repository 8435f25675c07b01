"""From a file to predictions, with the commands of the tutorial and nothing else.

    python -m bench.first_hour [SEED]

Four files of different makes: discharges as a CSV file with semicolons, Latin-1 and decimal commas;
flights as Parquet with booleans and dates; loans as an Excel sheet; discharges as a PostgreSQL table.
Each way: `treaty init` on public rows, `treaty forecast`, `treaty train`, predictions in Python.
`commands`: how many; `edits`: changes by hand to what a command has written;
`errors`: commands that fail, or print a traceback. `over_pooled`: the error of the trained model over
that of scikit-learn with all rows in one place, on rows that nobody has seen; `over_public`: over that
of the public rows.
"""

import math
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from sklearn.compose import make_column_transformer
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from bench.owners import flights_by, loans, stays
from bench.report import finish

PUBLIC = 2_000
ROWS = 24_000


@dataclass
class Hour:
    """What it took.

    Args:
        commands: how many commands were typed.
        errors: how many of them failed.
        minutes: how long they took.
        edits: lines of the treaty that differ from what init wrote.
    """

    commands: int = 0
    errors: int = 0
    minutes: float = 0.0
    edits: int = 0


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of several owners as they are, and what is predicted."""

    frame: pl.DataFrame
    target: str
    owner: str


def discharges() -> Rows:
    task = stays()
    columns = [n for n in task.categories if n != "diagnosis_desc"]
    frame = task.frame.select(*columns, "length_of_stay", pl.col("owner").alias("Krankenhaus"))
    # As a German hospital would have it: a decimal comma, and letters beyond ASCII.
    frame = frame.with_columns(Größe=pl.col("length_of_stay").cast(pl.Float64) + 0.5)
    return Rows(frame.drop("length_of_stay").drop_nulls(), "Größe", "Krankenhaus")


def flights() -> Rows:
    task = flights_by("carrier")
    frame = task.frame.select(
        "dep_delay", "air_time", "distance", "hour", "month", "arr_delay", "owner"
    )
    frame = frame.drop_nulls().with_columns(
        evening=pl.col("hour").cast(pl.Int64) >= 18,
        day=pl.date(2013, pl.col("month").cast(pl.Int64), 1),
    )
    return Rows(frame.drop("month"), "arr_delay", "owner")


def lending() -> Rows:
    task = loans()
    frame = task.frame.select(*task.numbers, *task.categories, task.target.column, "owner")
    return Rows(frame.drop_nulls(), task.target.column, "owner")


def table() -> Rows:
    task = stays()
    columns = [n for n in task.categories if n != "diagnosis_desc"]
    return Rows(
        task.frame.select(*columns, "length_of_stay", "owner").drop_nulls(),
        "length_of_stay",
        "owner",
    )


def parted(rows: Rows, seed: int) -> dict[str, pl.DataFrame]:
    """Return public rows, records of owners with enough of them, and later ones."""
    texts = rows.frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
    large = texts.filter(pl.len().over(rows.owner) >= 500)
    mixed = large.sample(min(ROWS, len(large)), shuffle=True, seed=seed)
    public, rest = mixed[:PUBLIC], mixed[PUBLIC:]
    cut = len(rest) // 5
    later, records = rest[:cut], rest[cut:]
    held = records.filter(pl.len().over(rows.owner) >= 20)
    return {
        "public": public,
        "records": held,
        "later": later.filter(pl.col(rows.owner).is_in(held[rows.owner].unique().implode())),
    }


def as_semicolons(folder: Path, name: str, frame: pl.DataFrame) -> str:
    file = f"{name}.csv"
    frame.to_pandas().to_csv(
        folder / file, sep=";", decimal=",", encoding="latin-1", errors="replace"
    )
    return file


def as_parquet(folder: Path, name: str, frame: pl.DataFrame) -> str:
    frame.write_parquet(folder / f"{name}.parquet")
    return f"{name}.parquet"


def as_sheet(folder: Path, name: str, frame: pl.DataFrame) -> str:
    frame.write_excel(folder / f"{name}.xlsx", worksheet=name)
    return f"{name}.xlsx"


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """Run a PostgreSQL server on a socket of its own."""
    bin_ = Path(
        shutil.which("initdb") or next(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    ).parent
    data = folder / "data"
    data.mkdir()
    user: dict[str, object] = {}
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        nobody = pwd.getpwnam("nobody")
        for path in (folder, data):
            os.chown(path, nobody.pw_uid, nobody.pw_gid)
        folder.chmod(0o777)
        user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": ()}
    options = {"cwd": folder, "stdout": subprocess.DEVNULL, "check": True, **user}
    subprocess.run([bin_ / "initdb", "-D", data, "-A", "trust", "-U", "me"], **options)
    ready = f"-c listen_addresses='' -k {folder}"
    subprocess.run(
        [bin_ / "pg_ctl", "-D", data, "-o", ready, "-w", "-l", data / "log", "start"], **options
    )
    try:
        yield f"postgresql:///postgres?host={folder}&user=me"
    finally:
        subprocess.run([bin_ / "pg_ctl", "-D", data, "-m", "fast", "-w", "stop"], **options)


def as_table(address: str) -> Callable[[Path, str, pl.DataFrame], str]:
    def write(folder: Path, name: str, frame: pl.DataFrame) -> str:
        frame.write_database(name, address, engine="adbc")
        text = f'kind = "postgresql"\naddress = "RECORDS_URI"\nquery = "SELECT * FROM {name}"\n'
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")
        return f"{name}.toml"

    return write


def typed(hour: Hour, folder: Path, *words: str, python: str = "") -> str:
    """Run a command as a person would, and count."""
    command = [sys.executable, "-c", python] if python else [sys.executable, "-m", "treaty", *words]
    start = time.perf_counter()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    hour.commands += 1
    hour.minutes += (time.perf_counter() - start) / 60
    if done.returncode or "Traceback" in done.stderr:
        hour.errors += 1
        print(f"  {' '.join(words) or 'python'}: {done.stderr.strip()[-400:]}")
    return done.stdout


def walked(rows: Rows, write: Callable[[Path, str, pl.DataFrame], str], seed: int, folder: Path):
    """Walk from files to predictions; return what it took, and the predictions of later rows."""
    parts = parted(rows, seed)
    files = {name: write(folder, name, frame) for name, frame in parts.items()}
    hour = Hour()
    by = ("--by", rows.owner)
    words = ("--public", "--target", rows.target, *by, "--data", files["records"])
    typed(hour, folder, "init", files["public"], *words)
    written = (folder / "treaty.toml").read_text(encoding="utf-8")
    typed(hour, folder, "forecast", "treaty.toml", "--stand-in", files["public"], *by)
    words = ("--data", files["records"], *by, "--public", files["public"], "--model", "model.json")
    typed(hour, folder, "train", "treaty.toml", *words)
    code = (
        "import numpy, treaty; model = treaty.Model.load('model.json'); "
        f"numpy.savetxt('said.txt', model.predict('{files['later']}'))"
    )
    typed(hour, folder, python=code)
    now = (folder / "treaty.toml").read_text(encoding="utf-8")
    hour.edits = len(set(now.splitlines()) ^ set(written.splitlines()))
    return hour, parts, np.loadtxt(folder / "said.txt")


def pooled(rows: Rows, seen: pl.DataFrame, later: pl.DataFrame) -> float:
    """Return the error of scikit-learn's model of rows in one place."""
    columns = [name for name in seen.columns if name not in (rows.target, rows.owner)]
    numbers = [n for n in columns if seen[n].dtype.is_numeric() or seen[n].dtype == pl.Boolean]
    texts = [name for name in columns if name not in numbers]
    made = make_column_transformer(
        (StandardScaler(), numbers), (OneHotEncoder(handle_unknown="ignore"), texts)
    )
    model = make_pipeline(made, RidgeCV(np.logspace(-2, 4, 13)))
    model.fit(seen.select(columns).to_pandas(), seen[rows.target].to_numpy())
    return _error(model.predict(later.select(columns).to_pandas()), later[rows.target].to_numpy())


def _error(said: np.ndarray, truth: np.ndarray) -> float:
    return math.sqrt(float(np.mean((said - truth) ** 2)))


def main() -> None:
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    figures: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as place, server(Path(place)) as address:
        os.environ["RECORDS_URI"] = address
        ways: dict[str, tuple[Callable[[], Rows], Callable[[Path, str, pl.DataFrame], str]]] = {
            "csv": (discharges, as_semicolons),
            "parquet": (flights, as_parquet),
            "excel": (lending, as_sheet),
            "postgresql": (table, as_table(address)),
        }
        for name, (rows, write) in ways.items():
            with tempfile.TemporaryDirectory() as folder:
                given = rows()
                hour, parts, said = walked(given, write, seed, Path(folder))
            ours = _error(said, parts["later"][given.target].to_numpy())
            best = pooled(given, parts["records"], parts["later"])
            alone = pooled(given, parts["public"], parts["later"])
            print(
                f"{name}: {hour.commands} commands, {hour.errors} errors, {hour.minutes:.1f} minutes; "
                f"error {ours:.4f}, pooled {best:.4f}, public rows only {alone:.4f}",
                flush=True,
            )
            for key, value in (
                ("commands", hour.commands),
                ("edits", hour.edits),
                ("errors", hour.errors),
                ("over_pooled", round(ours / best, 4)),
                ("over_public", round(ours / alone, 4)),
                ("minutes", round(hour.minutes, 2)),
            ):
                figures.setdefault(key, {})[name] = value
    finish(**figures)


if __name__ == "__main__":
    main()
