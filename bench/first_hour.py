"""From a file to predictions, with the commands of the tutorial and nothing else.

    python -m bench.first_hour [SEED]

Six files of different makes: discharges as a CSV file with semicolons, Latin-1 and decimal commas;
flights as Parquet with booleans and dates; loans as an Excel sheet; discharges as a PostgreSQL table;
and two with labels, incomes as CSV and card holders who default as Parquet. Each way: `treaty init` on
public rows, `treaty forecast --by`, `treaty advise --by`, `treaty train`, predictions in Python.
`commands`: how many; `edits`: changes by hand to what a command has written;
`errors`: commands that fail, or print a traceback. `over_pooled`: the error of the trained model over
that of scikit-learn with all rows in one place, on rows that nobody has seen (log loss for labels);
`over_public`: over that of the public rows. `coverage_by`: of the error intervals that a forecast by
owners tells from public rows alone (alone, public, together, adapted), over `owners_by` owners of five
kinds of records, how many hold the error on records that nobody has seen.
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
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from threadpoolctl import threadpool_limits

from bench.own_cases import Case
from bench.owners import flights_by, loans, stays, tasks
from bench.records import SHARED
from bench.report import finish
from treaty.forecasting.own_view import imagined_gains
from treaty.gains import ADAPTED, ALONE, PUBLIC, TOGETHER, contest
from treaty.records import FrameSource

PUBLISHED = 2_000
KNOWN = 1_500
"""Public rows of the forecast by owners."""
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
    labels: bool = False


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


def incomes() -> Rows:
    frame = pl.read_parquet(SHARED / "adult_income.parquet").drop("fnlwgt")
    return Rows(frame.rename({"workclass": "sector"}), "income", "sector", labels=True)


def defaults() -> Rows:
    frame = pl.read_parquet(SHARED / "credit_default_uci.parquet").drop("ID")
    limits = (pl.col("LIMIT_BAL") // 50_000).clip(0, 7).cast(pl.Int64).cast(pl.String)
    frame = frame.with_columns(owner=pl.lit("limit ") + limits)
    frame = frame.rename({"default.payment.next.month": "default"})
    return Rows(frame, "default", "owner", labels=True)


def parted(rows: Rows, seed: int) -> dict[str, pl.DataFrame]:
    """Return public rows, records of owners with enough of them, and later ones."""
    texts = rows.frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
    large = texts.filter(pl.len().over(rows.owner) >= 500)
    mixed = large.sample(min(ROWS, len(large)), shuffle=True, seed=seed)
    public, rest = mixed[:PUBLISHED], mixed[PUBLISHED:]
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


def as_commas(folder: Path, name: str, frame: pl.DataFrame) -> str:
    frame.write_csv(folder / f"{name}.csv")
    return f"{name}.csv"


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
    typed(hour, folder, "advise", "treaty.toml", "--stand-in", files["public"], *by)
    words = ("--data", files["records"], *by, "--public", files["public"], "--model", "model.json")
    typed(hour, folder, "train", "treaty.toml", *words)
    what = "predict_proba" if rows.labels else "predict"
    code = (
        "import numpy, treaty; model = treaty.Model.load('model.json'); "
        + f"numpy.savetxt('said.txt', model.{what}('{files['later']}'))"
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
    if rows.labels:
        of_labels = LogisticRegressionCV(
            Cs=5,
            scoring="neg_log_loss",
            max_iter=500,
            l1_ratios=(0.0,),
            use_legacy_attributes=False,
        )
        model = make_pipeline(made, of_labels)
        model.fit(seen.select(columns).to_pandas(), _labels(rows, seen))
        return _error(rows, model.predict_proba(later.select(columns).to_pandas()), later)
    model = make_pipeline(made, RidgeCV(np.logspace(-2, 4, 13)))
    model.fit(seen.select(columns).to_pandas(), seen[rows.target].to_numpy())
    return _error(rows, model.predict(later.select(columns).to_pandas()), later)


def _labels(rows: Rows, frame: pl.DataFrame) -> np.ndarray:
    """Return whether each row has the label that is named last: 1, or >50K."""
    names = sorted(frame[rows.target].unique().to_list(), key=str)
    return (frame[rows.target] == names[-1]).to_numpy().astype(int)


def _error(rows: Rows, said: np.ndarray, later: pl.DataFrame) -> float:
    if rows.labels:
        yes = _labels(rows, later)
        return float(-np.mean(np.log(np.maximum(said[np.arange(len(yes)), yes], 1e-12))))
    return math.sqrt(float(np.mean((said - later[rows.target].to_numpy()) ** 2)))


def coverage_by() -> tuple[float, int]:
    """Return which share of the error intervals of a forecast by owners hold, and of how many owners."""
    held: list[bool] = []
    owners = 0
    for task in tasks():
        with threadpool_limits(1):
            case = Case(task, KNOWN, 1000, 0.4)
            shared, public = case.shared(1.0, 0), case.survey.tuned.theta[None]
            source = FrameSource(case.public)
            for gain in imagined_gains(case.treaty, source, "owner"):
                owners += 1
                anchors = {PUBLIC: public, TOGETHER: shared[None]}
                models = contest(case.records(gain.name), anchors, case.metrics).models
                for name in (ALONE, PUBLIC, TOGETHER, ADAPTED):
                    told = gain.models[name].measures["rmse"]
                    theta = models[name][0]
                    got = math.sqrt(case.squared_error(gain.name, theta, clamped=True))
                    held.append(told.low <= got <= told.high)
    return float(np.mean(held)), owners


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
            "labels_csv": (incomes, as_commas),
            "labels_parquet": (defaults, as_parquet),
        }
        for name, (rows, write) in ways.items():
            with tempfile.TemporaryDirectory() as folder:
                given = rows()
                hour, parts, said = walked(given, write, seed, Path(folder))
            ours = _error(given, said, parts["later"])
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
    covered, owners = coverage_by()
    finish(**figures, coverage_by=round(covered, 4), owners_by=owners)


if __name__ == "__main__":
    main()
