"""Options that several commands take, with one wording."""

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
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of tables.")]
