"""A backup of an owner's folder in one file: its ledger, and beside it its policy, source and treaties.

The key of the records is not in it: whoever finds the backup can try nothing out with it.
"""

import contextlib
import sqlite3
from pathlib import Path

from treaty.errors import TreatyError
from treaty.private_files import make_private_folder, write_private

FILES = ("policy.toml", "owner.toml", "treaties/*.toml")
"""What is kept of a folder beside the ledger."""
TABLE = (
    "CREATE TABLE IF NOT EXISTS folder(name TEXT PRIMARY KEY, content BLOB NOT NULL) WITHOUT ROWID"
)


def add_folder(backup: Path, folder: Path) -> None:
    """Write an owner's policy, source and treaties into a backup of its ledger."""
    found = [file for pattern in FILES for file in sorted(folder.glob(pattern))]
    rows = [(str(file.relative_to(folder)), file.read_bytes()) for file in found]
    with contextlib.closing(sqlite3.connect(backup)) as database, database:
        database.execute(TABLE)
        database.executemany("INSERT OR REPLACE INTO folder VALUES (?, ?)", rows)


def folder_of(backup: Path) -> dict[str, bytes]:
    """Return the files that a backup keeps beside the ledger, by name; none of a ledger alone."""
    if not backup.is_file():
        raise TreatyError(f"{backup}: there is no such file: give the path of a backup")
    try:
        with contextlib.closing(sqlite3.connect(f"file:{backup}?mode=ro", uri=True)) as database:
            there = database.execute(
                "SELECT count(*) FROM sqlite_master WHERE name = 'folder'"
            ).fetchone()
            rows = (
                database.execute("SELECT name, content FROM folder").fetchall() if there[0] else []
            )
    except sqlite3.Error as error:
        raise TreatyError(f"{backup}: not a backup of a ledger ({error})") from error
    names = [str(name) for name, _ in rows]
    strange = [
        n for n in names if not any(Path(n).match(pattern) for pattern in FILES) or ".." in n
    ]
    if strange:
        raise TreatyError(f"{backup}: {strange[0]!r:.60} in it is no file of an owner's folder")
    return {str(name): bytes(content) for name, content in rows}


def unpack(files: dict[str, bytes], folder: Path) -> None:
    """Write a backup's files into an owner's folder; what stands there already stays."""
    make_private_folder(folder)
    for name, content in files.items():
        path = folder / name
        if not path.exists():
            make_private_folder(path.parent)
            write_private(path, content)
