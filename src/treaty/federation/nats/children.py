"""Processes that end when the one that started them does, however that ends."""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO

_SET_DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG of Linux's prctl."""


def start_child(
    command: Sequence[str], *, cwd: Path | None = None, output: "IO[bytes] | int"
) -> "subprocess.Popen[bytes]":
    """Start a process that is terminated when this one ends, even if this one is killed.

    To be called from the main thread: the child ends with the thread that started it. Where there is no
    Linux, a child outlives a parent that is killed.
    """
    parent = os.getpid()
    library = ctypes.CDLL(None) if sys.platform == "linux" else None

    def end_with_parent() -> None:
        if library is not None:
            library.prctl(_SET_DEATH_SIGNAL, signal.SIGTERM)
            if os.getppid() != parent:  # it ended before this was asked for
                os.kill(os.getpid(), signal.SIGTERM)

    return subprocess.Popen(
        command, cwd=cwd, stdout=output, stderr=output, preexec_fn=end_with_parent
    )
