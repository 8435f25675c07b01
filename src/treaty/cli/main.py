"""The command line: one command a verb."""

import os
import re
import sys
from pathlib import Path
from typing import NoReturn

import typer
from rich.console import Console
from rich.text import Text

from treaty.cli.adapt import adapt
from treaty.cli.advise import advise
from treaty.cli.demo import demo
from treaty.cli.dialect import dialect
from treaty.cli.federation import federation
from treaty.cli.fit import fit
from treaty.cli.forecast import forecast
from treaty.cli.init import init
from treaty.cli.learn import learn
from treaty.cli.ledger import ledger
from treaty.cli.owner import owner
from treaty.cli.plan import plan
from treaty.cli.ratify import ratify
from treaty.cli.reproduce import reproduce
from treaty.cli.revoke import revoke
from treaty.cli.simulate import simulate
from treaty.cli.train import train
from treaty.errors import TreatyError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Is a model trained together under differential privacy worth it, and for whom?",
)
for command in (
    init, dialect, plan, fit, forecast, advise, train, adapt, simulate, demo, ratify, owner, ledger,
    revoke, learn, reproduce,
):  # fmt: skip
    app.command()(command)
app.add_typer(federation)


def main() -> None:
    """Run the command line; what cannot be done is told in one sentence, with exit code 2."""
    # Processes that are started from here do not look for code in the current folder either.
    os.environ.setdefault("PYTHONSAFEPATH", "1")
    try:
        app()
    except TreatyError as error:
        _end(_placed(str(error)))
    except OSError as error:
        # A file that may not be read, a folder that is none, a disk without room.
        where = f"{error.filename}: " if error.filename else ""
        _end(f"{where}{error.strerror or error}")


def _placed(sentence: str) -> str:
    """Say in which file and line a key stands that a sentence begins with."""
    key = re.match(
        r"((?:dialect|features|target|dictionary|loss|training|parties)(?:\.[\w-]+)*): ", sentence
    )
    files = [Path(word) for word in sys.argv[1:] if word.endswith(".toml") and Path(word).is_file()]
    if key is None or not files:
        return sentence
    from treaty.terms.lines import line_of, lines_of

    line = line_of(lines_of(files[0].read_text(encoding="utf-8")), key[1].split("."))
    return f"{files[0]}{f', line {line}' if line else ''}: {sentence}"


def _end(sentence: str) -> NoReturn:
    said = Text.assemble(("treaty: ", "bold red"), _with_flags(sentence))
    Console(stderr=True).print(said, soft_wrap=True)
    sys.exit(2)


def _with_flags(sentence: str) -> str:
    """Call parameters of the library by the flags that they are on the command line."""
    names = {"owners": "--owner NAME=FILE", "losses": "--loss"}
    return re.sub(r"`(\w+)`", lambda m: names.get(m[1], "--" + m[1].replace("_", "-")), sentence)
