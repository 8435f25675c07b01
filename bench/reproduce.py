"""The whole report: every figure of both papers, drawn, with every claim judged.

`seconds_real`: on the real rows in part, where ../shared/data is present, else null. `seconds_full`:
on rows made at full size. Each in a folder of its own, from nothing; 2 processes.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.records import SHARED
from bench.report import finish

PROCESSES = 2


def seconds(name: str, files: list[str]) -> float:
    """Run the command as a user would; list what every figure took, and return the whole time."""
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        told = subprocess.run(
            [
                Path(sys.executable).parent / "treaty",
                "reproduce",
                *files,
                "--out",
                folder,
                "--processes",
                str(PROCESSES),
                "--json",
            ],
            check=True,
            capture_output=True,
            text=True,
        )
        taken = time.perf_counter() - begun
        made = json.loads(told.stdout)
        size = (Path(folder) / "report.html").stat().st_size
    for line in made["rows"]:
        print(f"{name}: {line}")
    print(f"{name}: " + ", ".join(f"{key} {took:.1f}" for key, took in made["seconds"].items()))
    verdicts = [claim["verdict"] for claim in made["claims"]]
    counts = ", ".join(f"{verdicts.count(v)} {v}" for v in dict.fromkeys(verdicts))
    print(f"{name}: {taken:.0f} s; {len(verdicts)} claims: {counts}; report of {size / 1e6:.1f} MB")
    return round(taken, 1)


def main() -> None:
    files = {
        "--lending": SHARED / "lending.parquet",
        "--fraud": SHARED / "creditcard.parquet",
        "--hospital": SHARED / "hospital.parquet",
    }
    real = None
    if all(file.exists() for file in files.values()):
        real = seconds("real", [part for pair in files.items() for part in map(str, pair)])
    finish(seconds_real=real, seconds_full=seconds("full", []))


if __name__ == "__main__":
    main()
