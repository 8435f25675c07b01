"""Options that several commands take, with one wording."""

import math
from pathlib import Path
from typing import Annotated

import typer


def _permit(names: list[str] | None) -> list[str] | None:
    from treaty.losses import permit

    permit(names or [])
    return names


TreatyFile = Annotated[Path, typer.Argument(metavar="TREATY", help="The treaty, a TOML file.")]
Data = Annotated[
    Path | None, typer.Option("--data", metavar="FILE", help="All owners' records (CSV, Parquet).")
]
By = Annotated[
    str | None, typer.Option("--by", metavar="COLUMN", help="The column that names the owner.")
]
Owners = Annotated[
    list[str] | None,
    typer.Option("--owner", metavar="NAME=FILE", help="One owner's records; repeat for each."),
]
Public = Annotated[
    Path | None,
    typer.Option("--public", metavar="FILE", help="Public rows (CSV, Parquet): they are no one's."),
]
StandIn = Annotated[
    Path | None,
    typer.Option("--stand-in", metavar="FILE", help="Rows that stand in for the records."),
]
ByOwner = Annotated[
    str | None,
    typer.Option("--by", metavar="COLUMN", help="Whose each row is, where owners differ."),
]
Private = Annotated[
    bool, typer.Option("--private", help="They are private: the report must not leave.")
]
Own = Annotated[
    list[str] | None,
    typer.Option(
        "--own",
        metavar="NAME=FILE",
        help="A party's very records, inside its walls; the report must not leave.",
    ),
]
Generate = Annotated[
    bool, typer.Option("--generate", help="Make rows up from the treaty's bounds: weak evidence.")
]
PublicRows = Annotated[
    int | None, typer.Option("--public-rows", min=1, help="How many public rows the learner has.")
]
HomeFolder = Annotated[
    Path, typer.Option("--home", metavar="FOLDER", help="The owner's folder: ledger, policy.")
]
CredentialFolder = Annotated[
    Path, typer.Option("--credential", metavar="FOLDER", help="The party's credential.")
]
OwnView = Annotated[
    bool | None,
    typer.Option(
        "--own-view/--no-own-view",
        help="Each owner's errors on its own records; by default where the loss is squared.",
    ),
]
OwnLosses = Annotated[
    list[str] | None,
    typer.Option(
        "--loss",
        metavar="MODULE:CLASS",
        callback=_permit,
        help="A loss of your own that the treaty may name: its module is imported and runs.",
    ),
]
Worthwhile = Annotated[
    str,
    typer.Option("--worthwhile", metavar="SHARE", help="The least gain that matters, such as 1%."),
]
Effort = Annotated[
    float | None,
    typer.Option(
        "--effort",
        min=0.0,
        metavar="UNITS",
        help="How much work all ways together may be, each unit about a second on an idle core; "
        "counted, so that a plan is the same on every machine.",
    ),
]
Seconds = Annotated[
    float | None,
    typer.Option("--time", min=1.0, metavar="SECONDS", help="Stop the search where it is then."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of tables.")]


def work_and_time(effort: float | None, seconds: float | None) -> tuple[float, float]:
    """Return how much work a plan may be, and how long it may take, with what is usual if not given."""
    from treaty.settings.planning import EFFORT

    return EFFORT if effort is None else effort, math.inf if seconds is None else seconds
