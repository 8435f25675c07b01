"""treaty ledger: what an owner has granted, spent and refused."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treaty.cli.options import HomeFolder, Json
from treaty.cli.output import check_writable, console, print_json, table
from treaty.errors import TreatyError

if TYPE_CHECKING:
    from treaty.privacy import DurableLedger


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
        typer.Option(
            "--backup",
            metavar="FILE",
            help="Copy ledger, policy, source and treaties into one file, also of a running agent.",
        ),
    ] = None,
    restore: Annotated[
        Path | None,
        typer.Option(
            "--restore",
            metavar="FILE",
            help="Put a backup in place of what is lost, on a new machine too; what it may have "
            "forgotten counts as spent.",
        ),
    ] = None,
    new_key: Annotated[
        bool,
        typer.Option(
            "--new-key", help="With --restore: records.key is lost, too; vouch for the records."
        ),
    ] = False,
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="FILE", help="With --restore: where the records are now."),
    ] = None,
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
    from treaty.owner import Home

    if check is not None:
        _check_export(check)
        return
    check_writable(export)
    check_writable(backup)
    if restore is None and (new_key or data is not None):
        raise TreatyError("--new-key and --data go with --restore")
    owner = Home(home)

    def say(text: str) -> None:
        if not as_json:
            _say(text)

    if restore is not None:
        lost = owner.restore(restore, new_key=new_key, data=data)
        say(
            f"Restored. No grant of before is open any more, and ε = {float(lost):g} that may have "
            "been spent unknown to the backup counts as spent."
        )
    opened = owner.ledger()
    try:
        head = opened.verify()
        if export is not None:
            with export.open("w") as file:
                file.writelines(json.dumps(event.plain()) + "\n" for event in opened.events())
        if backup is not None:
            held = owner.backup(backup)
            say(f"{backup} holds {held:,} events, policy, source and treaties; not records.key.")
        contents = _plain(opened, head, events)
    finally:
        opened.close()
    if as_json:
        print_json(contents, private=False)
    else:
        _show(contents)


def _say(text: str) -> None:
    console.print(text, highlight=False)


def _check_export(path: Path) -> None:
    from treaty.logbook import Event, verify_events

    try:
        events = [Event(**json.loads(line)) for line in path.read_text().splitlines()]
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise TreatyError(f"{path}: not an export of a ledger ({error})") from error
    if not events:
        raise TreatyError(f"{path}: there is nothing in it")
    console.print(f"{len(events):,} events, unbroken; the last hash is {verify_events(events)}")


def _plain(opened: "DurableLedger", head: str, events: int) -> dict[str, Any]:
    """Return what a ledger says, as plain data."""
    from treaty.privacy import epsilon_spent

    return {
        "records": opened.dataset.records,
        "cap": float(opened.cap[0]),
        "committed": float(opened.committed()[0]),
        "charged": float(opened.charged()),
        "treaties": [
            {
                "treaty": grant.treaty,
                "epsilon": grant.budget.epsilon,
                "delta": grant.budget.delta,
                "answers": grant.answers,
                "given": given,
                "spent": epsilon_spent(opened, grant.treaty),
                "revoked": grant.revoked,
            }
            for grant, given in opened.grants()
        ],
        "events": [event.plain() for event in opened.latest(events)],
        "head": head,
    }


def _show(contents: dict[str, Any]) -> None:
    shown = table(
        f"{contents['records']:,} records",
        "treaty",
        "ε granted",
        "δ",
        "ε spent",
        "answers",
        "share of the grant",
        "state",
    )
    for row in contents["treaties"]:
        shown.add_row(
            row["treaty"][:12] + row["treaty"][64:],
            f"{row['epsilon']:g}",
            f"{row['delta']:g}",
            f"{row['spent']:.4g}",
            f"{row['given']:,} of {row['answers']:,}",
            f"{row['given'] / row['answers']:.0%}",
            "revoked" if row["revoked"] else "granted",
        )
    console.print(shown)
    _say(
        f"Of ε = {contents['cap']:g} for all treaties together, {contents['committed']:g} is granted or "
        f"spent; {contents['charged']:.4g} counts as spent whatever is revoked (a grant with a δ counts "
        "whole from its first answer on)."
    )
    for event in contents["events"]:
        console.print(
            f"{event['seq']:>6} {event['time'][:19]} {event['kind']:10} "
            f"{_words(event['kind'], event['body'])}",
            highlight=False,
            soft_wrap=True,
        )
    console.print(f"Unbroken; the last hash is {contents['head']}", highlight=False, soft_wrap=True)


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
