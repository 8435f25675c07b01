"""What a backup keeps of an owner's folder beside the ledger: its policy, source and treaties.

The key of the records is not in it: whoever finds the backup can try nothing out with it.
"""

from collections.abc import Mapping
from pathlib import Path

from treaty.errors import TreatyError
from treaty.private_files import make_private_folder, write_private

PATTERNS = ("policy.toml", "owner.toml", "treaties/*.toml")


def files_of(folder: Path) -> dict[str, str]:
    """Return what is kept of a folder, by the names of the files in it."""
    found = [file for pattern in PATTERNS for file in sorted(folder.glob(pattern))]
    return {str(file.relative_to(folder)): file.read_text(encoding="utf-8") for file in found}


def unpack(files: Mapping[str, str], folder: Path) -> None:
    """Write what a backup keeps into an owner's folder; what stands there already stays.

    Raises:
        TreatyError: a name in it is that of no file of an owner's folder.
    """
    for name in files:
        known = any(Path(name).match(pattern) for pattern in PATTERNS)
        if not known or Path(name).is_absolute() or ".." in Path(name).parts:
            raise TreatyError(f"{name!r:.60} in the backup is no file of an owner's folder")
    make_private_folder(folder)
    for name, content in files.items():
        path = folder / name
        if not path.exists():
            make_private_folder(path.parent)
            write_private(path, content.encode())
