"""10 million rows × 30 features streamed from Parquet into sufficient statistics.

`peak_mib`: the largest resident size of a process that does nothing else.
`over_read`: its seconds over those of only reading the same columns in the same way.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from bench.report import finish
from treaty.losses import Squared
from treaty.records import DictionaryTerms, Encoder, Number, Target, open_source
from treaty.records.fitting import bounds_dictionary

ROWS, FEATURES, PARTS = 10_000_000, 30, 20


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
        work = {"add_up": add_up, "read_only": read_only}[sys.argv[1]]
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
    seconds, read = min(s for s, _ in sums), min(reads)
    peak = max(peak for _, peak in sums)
    print(f"adding up {seconds:.2f} s, only reading {read:.2f} s, peak {peak:,.0f} MiB")
    finish(peak_mib=round(peak), over_read=round(seconds / read, 2))


if __name__ == "__main__":
    main()
