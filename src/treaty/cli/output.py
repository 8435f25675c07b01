"""What commands share: tables, progress bars, JSON and the --owner option."""

import json
import logging
import math
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from treaty.errors import TreatyError

if TYPE_CHECKING:
    from treaty.records import Source

console = Console(markup=False)
"""Names and titles come from others: nothing in them is markup."""
PICTURES = (".png", ".svg", ".pdf")
MUST_NOT_LEAVE = "Computed from private records without noise: this must not leave."
Tick = Callable[[int, int], None]


def print_json(data: dict[str, Any], *, private: bool) -> None:
    """Print one JSON object; an infinite number becomes null.

    Args:
        data: what is in it.
        private: whether any of it was computed from private records without noise, which it then says.
    """
    data = {"private": private, **({"note": MUST_NOT_LEAVE} if private else {}), **data}
    sys.stdout.write(json.dumps(_finite(data), indent=2, ensure_ascii=False) + "\n")


def plain_epsilons(spent: Mapping[str, float]) -> dict[str, float | str]:
    """Return ε by owner as plain data: "inf" where answers were given without noise, as in a treaty."""
    return {name: "inf" if math.isinf(each) else each for name, each in spent.items()}


def table(title: str, *columns: str) -> Table:
    """Return a table whose columns but the first are aligned right."""
    made = Table(title=title, title_justify="left", header_style="bold", min_width=len(title))
    for index, column in enumerate(columns):
        made.add_column(column, justify="left" if index == 0 else "right")
    return made


@contextmanager
def progress_bars(*, quiet: bool) -> Generator[Callable[[str, int, int], None]]:
    """Show a bar with the time left on standard error, a new one for everything that is begun."""
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f}/{task.total:,.0f}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=quiet,
    )
    tasks: dict[str, TaskID] = {}

    def move(what: str, done: int, total: int) -> None:
        if what not in tasks:
            for before in tasks.values():
                bar.update(before, visible=False)
            tasks[what] = bar.add_task(what)
        bar.update(tasks[what], completed=done, total=total)

    with bar:
        yield move


@contextmanager
def progress_bar(what: str, *, quiet: bool) -> Generator[Tick]:
    """Show one such bar, and give a function that moves it."""
    with progress_bars(quiet=quiet) as move:
        move(what, 0, 1)
        yield lambda done, total: move(what, done, total)


def waiting(what: str, *, quiet: bool) -> AbstractContextManager[object]:
    """Show that something of unknown length is going on, on standard error."""
    return nullcontext() if quiet else Console(stderr=True).status(what)


def check_writable(path: Path | None, *, picture: bool = False) -> None:
    """Say that a file cannot be written before anything is computed or spent for it."""
    if path is None:
        return
    if not path.parent.is_dir():
        raise TreatyError(f"{path}: there is no folder {path.parent}")
    if path.is_dir():
        raise TreatyError(f"{path}: is a folder")
    if picture and path.suffix.lower() not in PICTURES:
        raise TreatyError(f"{path}: a picture must end in {', '.join(PICTURES)}")


def check_new(path: Path, *, force: bool) -> None:
    """Refuse to write over what is there, unless that is asked for."""
    check_writable(path)
    if path.exists() and not force:
        raise TreatyError(f"{path}: exists already; --force overwrites it")


def named_files(pairs: list[str], option: str = "--owner") -> dict[str, str]:
    """Read NAME=FILE options."""
    files: dict[str, str] = {}
    for pair in pairs:
        name, equals, path = pair.partition("=")
        if not (name and equals and path):
            raise TreatyError(f'{option} takes NAME=FILE, not "{pair}"')
        if name in files:
            raise TreatyError(f"{option} names {name} twice: give each once")
        files[name] = path
    return files


def remarks(*sources: "Source") -> list[str]:
    """Say how files were read, where that is not plain."""
    said = {source.place: source.remark for source in sources if source.remark}
    return [f"{place}: {remark}" for place, remark in said.items()]


def warn(sentences: Sequence[str], *, quiet: bool) -> None:
    """Say on standard error what is probably not meant, before anything is computed."""
    if not quiet:
        for sentence in sentences:
            said = sentence if sentence.endswith((".", "?")) else f"{sentence}."
            Console(stderr=True).print(Text(f"Note: {said}", style="yellow"), soft_wrap=True)


def share_of(text: str, flag: str = "--worthwhile", most: float = 1.0) -> float:
    """Read a share, written as 1% or as 0.01.

    Args:
        text: what was written.
        flag: after which flag.
        most: it has to be below that.
    """
    number = text.strip().removesuffix("%").strip()
    try:
        share = float(number) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        share = math.nan
    if not 0 <= share < most:
        between = "between 0% and 100%" if math.isfinite(most) else "of 0% or more"
        raise TreatyError(f'{flag} takes a share {between}, such as 1%, not "{text}"')
    return share


def quiet_asyncio() -> None:
    """Leave out asyncio's remarks about how TLS connections end; errors are still told."""
    logging.getLogger("asyncio").setLevel(logging.ERROR)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, list):
        return [_finite(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
