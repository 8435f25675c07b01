"""Reading a Parquet file once in a process of its own.

A few kinds of damage make Polars end the whole process instead of raising an error. Whoever is about to
rely on a file finds that out in a child.
"""

import subprocess
import sys
from pathlib import Path

from treaty.errors import TreatyError

_READ = "import polars, sys\nfor part in polars.scan_parquet(sys.argv[1]).collect_batches(): pass"


def probe(path: str | Path) -> None:
    """Refuse a Parquet file that ends the process which reads it; other errors show when it is read."""
    if Path(path).suffix.lower() not in (".parquet", ".pq") or not Path(path).is_file():
        return
    command = [sys.executable, "-P", "-c", _READ, str(path)]
    ended = subprocess.run(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
    )
    if ended.returncode < 0:
        raise TreatyError(f"{path}: cannot be read (the file is damaged)")
