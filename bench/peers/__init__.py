"""Peers: what a user would pick instead, each in an environment of its own."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from treaty.arrays import FloatArray

HERE = Path(__file__).resolve().parent


def diffprivlib(
    kind: str, epsilon: float, times: int, rows: dict[str, FloatArray | float]
) -> FloatArray:
    """Fit diffprivlib's model so many times; return coefficients and intercepts, a model a row.

    Args:
        kind: "linear" or "logistic".
        epsilon: ε.
        times: how often.
        rows: x and y, with bounds or the norm.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.npz"
        np.savez(file, **rows)  # pyright: ignore[reportArgumentType]
        words = [
            str(_python()),
            str(HERE / "fitting.py"),
            str(file),
            kind,
            str(epsilon),
            str(times),
        ]
        done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return np.array([json.loads(line) for line in done.stdout.splitlines()])


def _python() -> Path:
    """Return the interpreter of the peers' environment, which is made when it is first needed."""
    folder = HERE / ".venv"
    python = folder / "bin" / "python"
    if not (folder / ".ready").exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "-r", str(HERE / "requirements.txt")], check=True)
        (folder / ".ready").touch()
    return python
