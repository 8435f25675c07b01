"""treaty init: a commented example treaty from a data file's columns."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from treaty.cli.options import Effort, Json, Seconds, work_and_time
from treaty.cli.output import check_new, console, print_json, remarks
from treaty.cli.plan import plan_into
from treaty.errors import TreatyError

if TYPE_CHECKING:
    from treaty.records import Source


def init(
    data: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="Rows to read the columns from (CSV, Parquet, Excel)."),
    ],
    target: Annotated[
        str, typer.Option("--target", metavar="COLUMN", help="The column to predict.")
    ],
    by: Annotated[
        str | None, typer.Option("--by", metavar="COLUMN", help="The column that names the owner.")
    ] = None,
    records: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="FILE",
            help="The owners' records: how many each has, by the column --by, goes into the treaty; how "
            "many have nothing to be predicted is said here, and written nowhere.",
        ),
    ] = None,
    planned: Annotated[
        bool,
        typer.Option("--plan/--no-plan", help="Find good settings on the public rows at once."),
    ] = True,
    effort: Effort = None,
    seconds: Seconds = None,
    public: Annotated[
        bool,
        typer.Option(
            "--public", help="The rows are public: bounds and categories are read off them."
        ),
    ] = False,
    private: Annotated[
        bool,
        typer.Option(
            "--private", help="They are private: only names and types of columns are used."
        ),
    ] = False,
    header: Annotated[
        bool,
        typer.Option(
            "--header",
            help="With --private: the first row names the columns; it is no record.",
        ),
    ] = False,
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="Where to write the treaty.")
    ] = Path("treaty.toml"),
    force: Annotated[bool, typer.Option("--force", help="Overwrite it.")] = False,
    as_json: Json = False,
) -> None:
    """Write a treaty that fits a file's columns, ready to be read and edited.

    A treaty is public. From public rows bounds, categories and owners are proposed, and good settings
    are found on them (see treaty plan). Of private ones only the names and types of columns are used,
    and the rest is left to be filled in. Say which they are.

    Example:

        treaty demo --keep flights

        treaty init flights/public.parquet --public --target arr_delay --by dest --out draft.toml
    """
    from treaty.records import open_source, proposed_dialect
    from treaty.settings import Limits
    from treaty.settings.expecting import Judge
    from treaty.terms import loads
    from treaty.terms.draft import blank_draft, draft

    if public == private:
        raise TreatyError(
            "a treaty is public, and what is read off rows becomes part of it: say --public if these "
            "rows are public, or --private to use only names and types of their columns"
        )
    check_new(out, force=force)
    if private and records is not None:
        raise TreatyError(
            "--data fills in how many records each owner has, and a draft from private rows leaves that "
            "open: leave --data out, or draft from --public rows"
        )
    if private:
        rows = open_source(data)
        _check_names(rows, target, known=header, ask=not as_json)
        out.write_text(blank_draft(rows, target=target, by=by), encoding="utf-8")
        if as_json:
            print_json({"treaty": str(out), "complete": False}, private=False)
            return
        console.print(f"wrote {out}: fill in what is left open; no value of the rows is in it")
        return
    if records is not None and by is None:
        raise TreatyError(
            "--data says how many records each owner has: say by which column, with --by"
        )
    owners, lacking = None, ""
    dialect = proposed_dialect(data)
    source = open_source(data, dialect=dialect)
    strangers = False
    if records is not None:
        held = open_source(records, dialect=dialect)
        owners, lacking = held.owners(str(by)), _lacking(held, target)
        strangers = _strangers(source, str(by), owners)
    first = draft(source, target=target, by=by, owners=owners, dialect=dialect)
    document = loads(first.text, out)
    out.write_text(first.text, encoding="utf-8")
    notes = [*remarks(source), *first.notes, *([lacking] if lacking else [])]
    if by is not None and records is None:
        notes.append(
            "records: of every party, how many of these rows are its: give the owners' own with --data"
        )
    single = [name for name, number in (owners or {}).items() if number < 2]
    if single:
        notes.append(f"{', '.join(single)}: left out, for the mean of one record is that record")
    if strangers:
        notes.append(
            f"{by}: the public rows are of none of the parties: planned for owners that differ"
        )
    if not as_json:
        for note in notes:
            console.print(note, style="dim", highlight=False)
    not_planned = verdict = ""
    if planned:
        work, time = work_and_time(effort, seconds)
        limits = Limits(effort=work, seconds=time)
        try:
            judge = Judge(
                source,
                [*document.features, document.target.column],
                by=by if strangers else None,
            )
            found, told = plan_into(out, document, judge, limits, notes=first.notes, quiet=as_json)
            verdict = f"{found.verdict(told)} {found.cut_short}".rstrip()
            dropped = [n for n in document.features if n not in found.treaty.features]
            if dropped and not as_json:
                why = "the model is expected to err less, or no more, without"
                console.print(
                    f"{', '.join(dropped)}: left out: {why}", style="dim", highlight=False
                )
        except TreatyError as error:
            not_planned = str(error)
    if as_json:
        print_json(
            {
                "treaty": str(out),
                "complete": True,
                "features": list(document.features),
                "parties": {party.name: party.records for party in document.parties},
                "planned": planned and not not_planned,
                "verdict": verdict,
                "notes": notes,
            },
            private=records is not None,  # how many of them have no target is among the notes
        )
        return
    if verdict:
        console.print(verdict, style="bold", highlight=False)
    console.print(f"wrote {out}: read it, correct the bounds, set every party's epsilon")
    if not_planned:
        console.print(
            f"Its settings are not planned: {not_planned}. As they stand they may well do worse than "
            "the public rows alone: ask treaty forecast before any ε is spent.",
            style="bold",
            highlight=False,
        )


def _check_names(rows: "Source", target: str, *, known: bool, ask: bool) -> None:
    """Make sure that what is written into a draft are names of columns, and not somebody's record."""
    if known or not rows.names_in_rows:
        return
    names = ", ".join(rows.schema)
    if ask and sys.stdin.isatty():
        console.print(f"The first row of {rows.label}: {names}", highlight=False)
        if typer.confirm("Are these names of columns, and no record?"):
            return
        raise TreatyError(f"{rows.label}: give a file whose first row names the columns")
    raise TreatyError(
        f"{rows.label}: its first row would become public as names of columns, and might be a record: "
        f"look at it, and say --header if it names them ({target} among them)"
    )


def _strangers(public: "Source", by: str, parties: Mapping[str, int]) -> bool:
    """Whether the public rows are of owners, enough of them, and of none of the parties."""
    from treaty.settings.expecting import FEWEST_OWNERS

    if by not in public.schema:
        return False
    known = public.owners(by)
    return len(known) >= FEWEST_OWNERS and not set(known) & set(parties)


def _lacking(records: "Source", target: str) -> str:
    """Say how many records have nothing to be predicted: they are refused when training."""
    if target not in records.schema:
        return ""
    blocks = [block[target] for block in records.blocks([target])]
    absent, rows = sum(each.null_count() for each in blocks), sum(len(each) for each in blocks)
    if not absent:
        return ""
    return (
        f"{records.label}: {absent:,} of {rows:,} records have no {target}: leave them out before "
        "training, and declare as many fewer"
    )
