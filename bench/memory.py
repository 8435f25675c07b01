"""Memory: long tables of few columns, and tables of many columns that are mostly zeros.

10 million rows × 30 features are streamed from Parquet into sufficient statistics. `peak_mib`: the
largest resident size of a process that does nothing else. `over_read`: its seconds over those of only
reading the same columns in the same way.

1 million rows of 8 categories and 4 numbers as hats become 300 columns, scaled by frequency.
`wide_answer_mib`: the largest resident size of a process that reads them and answers one question under
a clipped squared loss. `wide_adapt_mib`: of one that adapts a model to them and compares it with its
rivals. `dense_mib`: what the encoded columns alone would take if zeros were kept.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from bench.report import finish
from treaty.gains.own_report import adapt_model
from treaty.losses import Clipped, Squared
from treaty.models import Model
from treaty.records import (
    DictionaryTerms,
    Encoder,
    Feature,
    Hats,
    Number,
    OneHot,
    Target,
    open_source,
)
from treaty.records.encoder import dictionary_for
from treaty.records.fitting import bounds_dictionary, place_knots
from treaty.records.frames import FrameSource

ROWS, FEATURES, PARTS = 10_000_000, 30, 20
WIDE_ROWS, CATEGORIES, HATS = 1_000_000, 30, 15


def write(path: Path) -> None:
    """Write generated rows, part by part, then as one file."""
    random = np.random.default_rng(0)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        for part in range(PARTS):
            x = random.standard_normal((ROWS // PARTS, FEATURES))
            columns = {f"x{j}": x[:, j] for j in range(FEATURES)}
            columns["y"] = x[:, :5].sum(axis=1) + random.standard_normal(len(x))
            pl.DataFrame(columns).write_parquet(Path(folder) / f"{part:02}.parquet")
        pl.scan_parquet(Path(folder) / "*.parquet").sink_parquet(path, row_group_size=100_000)


def add_up(path: Path) -> float:
    """Encode every row and add it up; return the seconds."""
    features = {f"x{j}": Number(bounds=(-4.0, 4.0)) for j in range(FEATURES)}
    target = Target(column="y", bounds=(-12.0, 12.0))
    fitted = bounds_dictionary(DictionaryTerms(radius=1.4), features)
    encoder = Encoder(features, target, fitted)
    start = time.perf_counter()
    risk, counts = encoder.risk(Squared(), open_source(path))
    seconds = time.perf_counter() - start
    clamped, scaled = sum(counts.clamped.values()), counts.scaled
    print(f"n = {risk.n:,}; {clamped:,} values clamped, {scaled:,} rows scaled", file=sys.stderr)
    return seconds


def read_only(path: Path) -> float:
    """Read the same columns in the same blocks, and drop them; return the seconds."""
    columns = [f"x{j}" for j in range(FEATURES)] + ["y"]
    start = time.perf_counter()
    rows = sum(len(block) for block in open_source(path).blocks(columns))
    assert rows == ROWS
    return time.perf_counter() - start


def write_wide(path: Path) -> None:
    """Write rows of categories and numbers, part by part, then as one file."""
    random = np.random.default_rng(1)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        for part in range(PARTS):
            n = WIDE_ROWS // PARTS
            columns = {f"c{j}": random.geometric(0.15, n) % CATEGORIES for j in range(8)}
            frame = pl.DataFrame(columns).cast(pl.String)
            numbers = {f"x{j}": random.standard_normal(n) for j in range(4)}
            y = np.sin(2 * numbers["x0"]) + 0.1 * columns["c0"] + random.standard_normal(n)
            frame = frame.with_columns(**{k: pl.Series(v) for k, v in {**numbers, "y": y}.items()})
            frame.write_parquet(Path(folder) / f"{part:02}.parquet")
        pl.scan_parquet(Path(folder) / "*.parquet").sink_parquet(path, row_group_size=100_000)


def _wide_encoder(path: Path) -> Encoder:
    features: dict[str, Feature] = {
        f"c{j}": OneHot(kind="one-hot", categories=tuple(str(k) for k in range(CATEGORIES)))
        for j in range(8)
    }
    for j in range(4):
        features[f"x{j}"] = Hats(kind="hats", bounds=(-4.0, 4.0), quantiles=HATS)
    public = FrameSource(pl.scan_parquet(path).head(2000).collect())
    features = place_knots(features, public)
    fitted = dictionary_for(DictionaryTerms(standardise="frequency", norm="l1"), features, public)
    return Encoder(features, Target(column="y", bounds=(-4.0, 8.0)), fitted)


def wide_answer(path: Path) -> float:
    """Read the wide rows and answer one question about them; return the seconds."""
    encoder = _wide_encoder(path)
    start = time.perf_counter()
    risk, _ = encoder.risk(Clipped(Squared(), 0.5, "l1"), open_source(path))
    risk.gradient(np.zeros(risk.dimension))
    seconds = time.perf_counter() - start
    print(f"n = {risk.n:,}, p = {risk.dimension}: answered in {seconds:.1f} s", file=sys.stderr)
    return seconds


def wide_adapt(path: Path) -> float:
    """Adapt a model to the wide rows; return the seconds."""
    encoder = _wide_encoder(path)
    model = Model(
        treaty="none",
        features=dict(encoder.features),
        target=encoder.target,
        dictionary=encoder.dictionary,
        loss="squared",
        theta=(0.0,) * encoder.dictionary.dimension,
    )
    start = time.perf_counter()
    report = adapt_model(model, path)
    seconds = time.perf_counter() - start
    errors = (
        f"{report.gain.alone.rmse.value:.4f} alone, {report.gain.adapted.rmse.value:.4f} adapted"
    )
    print(f"adapted in {seconds:.1f} s; error {errors}", file=sys.stderr)
    return seconds


def _peak_mib() -> float:
    """The high-water mark of this process; getrusage would count the parent's too."""
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def _in_a_process(task: str, path: Path) -> tuple[float, float]:
    words = [sys.executable, "-m", "bench.memory", task, str(path)]
    done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True)
    seconds, peak = done.stdout.split()
    return float(seconds), float(peak)


def main() -> None:
    if len(sys.argv) == 3:
        work = {one.__name__: one for one in (add_up, read_only, wide_answer, wide_adapt)}[
            sys.argv[1]
        ]
        seconds = work(Path(sys.argv[2]))
        print(seconds, _peak_mib())
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        write(path)
        print(
            f"{ROWS:,} generated rows x {FEATURES} features, {path.stat().st_size / 2**20:,.0f} MiB"
        )
        _in_a_process("read_only", path)  # the file is in the page cache from here on
        reads = [_in_a_process("read_only", path)[0] for _ in range(3)]
        sums = [_in_a_process("add_up", path) for _ in range(3)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "wide.parquet"
        write_wide(path)
        _, answer = _in_a_process("wide_answer", path)
        _, adapt = _in_a_process("wide_adapt", path)
    dense = 8 * WIDE_ROWS * (8 * CATEGORIES + 4 * HATS) / 2**20
    print(
        f"wide rows: an answer {answer:,.0f} MiB, adapting {adapt:,.0f} MiB, dense {dense:,.0f} MiB"
    )
    seconds, read = min(s for s, _ in sums), min(reads)
    peak = max(peak for _, peak in sums)
    print(f"adding up {seconds:.2f} s, only reading {read:.2f} s, peak {peak:,.0f} MiB")
    finish(
        peak_mib=round(peak),
        over_read=round(seconds / read, 2),
        wide_answer_mib=round(answer),
        wide_adapt_mib=round(adapt),
        dense_mib=round(dense),
    )


if __name__ == "__main__":
    main()
