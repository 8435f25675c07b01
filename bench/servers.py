"""A PostgreSQL server of a benchmark's own, on loopback, stopped at the end."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def postgres() -> Generator[str | None]:
    """Start a server and give its address; None where its programs are not installed."""
    places = os.pathsep.join(
        [os.environ["PATH"], *map(str, Path("/usr/lib/postgresql").glob("*/bin"))]
    )
    initdb, control = (shutil.which(name, path=places) for name in ("initdb", "pg_ctl"))
    if initdb is None or control is None:
        yield None
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        options: dict[str, Any] = {"check": True, "stdout": subprocess.DEVNULL, "cwd": name}
        if os.getuid() == 0:  # PostgreSQL does not run as root
            person = pwd.getpwnam("postgres")
            os.chown(folder, person.pw_uid, person.pw_gid)
            options |= {"user": person.pw_uid, "group": person.pw_gid, "extra_groups": []}
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        data = str(folder / "data")
        subprocess.run([initdb, "-D", data, "-A", "trust", "-U", "me", "--no-sync"], **options)
        how = f"-p {port} -h 127.0.0.1 -k {folder} -F"
        log = str(folder / "log")
        subprocess.run([control, "-D", data, "-l", log, "-w", "-o", how, "start"], **options)
        try:
            yield f"postgresql://me@127.0.0.1:{port}/postgres"
        finally:
            subprocess.run([control, "-D", data, "-m", "immediate", "stop"], **options)
