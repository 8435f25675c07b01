"""Folders and files that only their owner can read, whatever the umask."""

import os
from pathlib import Path


def make_private_folder(folder: Path) -> None:
    """Make a folder that nobody else can enter; one that exists is closed to others."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(mode=0o700)
        path.chmod(0o700)
    folder.chmod(0o700)


def make_private_file(path: Path) -> None:
    """Make an empty file that nobody else can read; it must not exist yet."""
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)


def write_private(path: Path, content: bytes) -> None:
    """Write a file that nobody else can read: the whole of it, on the disk, or what was there before."""
    unfinished = path.with_name(path.name + ".unfinished")
    unfinished.unlink(missing_ok=True)
    make_private_file(unfinished)
    with unfinished.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Bring a folder's names to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def close_to_others(folder: Path) -> None:
    """Take other people's access from a folder and from everything in it."""
    folder = folder.resolve()
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink() and path.stat().st_mode & 0o077:
            path.chmod(0o700 if path.is_dir() else 0o600)
