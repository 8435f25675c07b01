"""treaty ledger: what an owner has granted, spent and refused."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from treaty.cli.options import HomeFolder, Json
from treaty.cli.output import check_writable, console, print_json, table
from treaty.errors import TreatyError


def ledger(
    home: HomeFolder = Path("treaty-owner"),
    events: Annotated[
        int, typer.Option("--events", min=0, help="Show so many of the latest events.")
    ] = 10,
    export: Annotated[
        Path | None,
        typer.Option("--export", metavar="FILE", help="Write every event, a line of JSON each."),
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option("--check", metavar="FILE", help="Check an export instead of a ledger."),
    ] = None,
    backup: Annotated[
        Path | None,
        typer.Option("--backup", metavar="FILE", help="Copy the ledger, also of a running agent."),
    ] = None,
    restore: Annotated[
        Path | None,
        typer.Option(
            "--restore",
            metavar="FILE",
            help="Put a backup in place of a lost ledger; what it may have forgotten counts as spent.",
        ),
    ] = None,
    new_key: Annotated[
        bool,
        typer.Option(
            "--new-key", help="With --restore: records.key is lost, too; vouch for the records."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Show treaties, budgets granted, spent and left, and every query and refusal; check the chain.

    The last hash stands for everything before it: an auditor who notes it will see if anything of
    the past is changed or cut off later. A backup has forgotten what is answered after it, so it goes
    back only with --restore: every open grant is then closed and counts as spent in full.

    Example:

        treaty ledger --home banks/north-bank --export audit.jsonl

        treaty ledger --home banks/north-bank --backup ledger-backup.sqlite
    """
    from treaty.logbook import Event, verify_events
    from treaty.owner.home import Home
    from treaty.privacy.ledger import charge

    if check is not None:
        try:
            lines = [json.loads(line) for line in check.read_text().splitlines()]
            read = [Event(**line) for line in lines]
        except (OSError, ValueError, TypeError, RecursionError) as error:
            raise TreatyError(f"{check}: not an export of a ledger ({error})") from error
        if not read:
            raise TreatyError(f"{check}: there is nothing in it")
        console.print(f"{len(read):,} events, unbroken; the last hash is {verify_events(read)}")
        return
    check_writable(export)
    check_writable(backup)
    if new_key and restore is None:
        raise TreatyError("--new-key goes with --restore")
    if restore is not None:
        lost = Home(home).restore(restore, new_key=new_key)
        if not as_json:
            console.print(
                f"Restored. No grant of before is open any more, and ε = {float(lost):g} that may have "
                "been spent unknown to the backup counts as spent.",
                highlight=False,
            )
    opened = Home(home).ledger()
    try:
        head = opened.verify()
        if export is not None:
            with export.open("w") as file:
                file.writelines(json.dumps(event.plain()) + "\n" for event in opened.events())
        if backup is not None:
            held = opened.backup(backup)
            if not as_json:
                console.print(f"{backup} holds {held:,} events.", highlight=False)
        grants, latest = opened.grants(), opened.latest(events)
        most, committed, spent = opened.cap, opened.committed(), opened.spent()
        dataset = opened.dataset
    finally:
        opened.close()
    rows: list[dict[str, Any]] = [
        {
            "treaty": grant.treaty,
            "epsilon": grant.budget.epsilon,
            "delta": grant.budget.delta,
            "answers": grant.answers,
            "given": given,
            "spent": float(charge(grant, given)),
            "revoked": grant.revoked,
        }
        for grant, given in grants
    ]
    if as_json:
        print_json(
            {
                "records": dataset.records,
                "cap": float(most[0]),
                "committed": float(committed[0]),
                "spent": float(spent),
                "treaties": rows,
                "events": [event.plain() for event in latest],
                "head": head,
            }
        )
        return
    shown = table(
        f"{dataset.records:,} records", "treaty", "ε granted", "ε spent", "ε left", "answers", ""
    )
    for row in rows:
        shown.add_row(
            row["treaty"][:12] + row["treaty"][64:],
            f"{row['epsilon']:g}",
            f"{row['spent']:.4g}",
            f"{row['epsilon'] - row['spent']:.4g}",
            f"{row['given']:,} of {row['answers']:,}",
            "revoked" if row["revoked"] else "",
        )
    console.print(shown)
    console.print(
        f"Of ε = {float(most[0]):g} for all treaties together, {float(committed[0]):g} is granted or "
        f"spent and {float(spent):.4g} is spent.",
        highlight=False,
    )
    for event in latest:
        console.print(
            f"{event.seq:>6} {event.time[:19]} {event.kind:10} {_words(event.kind, event.body)}",
            highlight=False,
            soft_wrap=True,
        )
    console.print(f"Unbroken; the last hash is {head}", highlight=False, soft_wrap=True)


def _words(kind: str, body: dict[str, Any]) -> str:
    treaty = str(body.get("treaty", ""))[:12]
    if kind == "answer":
        return f"treaty {treaty}, run {body['run'][:8]}, round {body['round']}"
    if kind == "refusal":
        return f"{body['reason']} (asked by {body.get('learner', 'somebody')})"
    if kind in ("grant", "revocation"):
        return f"treaty {treaty}"
    if kind == "restoration":
        return "from a backup: every grant that was open counts as spent"
    return ""
