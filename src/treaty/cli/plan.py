"""treaty plan: good settings for a draft, on public rows alone."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from treaty.cli.options import Effort, Json, OwnLosses, Seconds, TreatyFile, work_and_time
from treaty.cli.output import check_new, console, print_json, progress_bars, table, waiting
from treaty.errors import TreatyError

if TYPE_CHECKING:
    from treaty.settings import Candidate, Limits
    from treaty.settings.expected import Expected
    from treaty.settings.expecting import Judge
    from treaty.settings.rivals import Rival
    from treaty.terms import Treaty


def plan(
    treaty: TreatyFile,
    stand_in: Annotated[
        Path, typer.Option("--stand-in", metavar="FILE", help="Public rows (CSV, Parquet).")
    ],
    public: Annotated[
        bool, typer.Option("--public", help="They are public: what is fitted on them is published.")
    ] = False,
    private: Annotated[
        bool, typer.Option("--private", help="They are private: nothing can be planned on them.")
    ] = False,
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            metavar="COLUMN",
            help="The column that says whose a public row is, if not of the parties.",
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="Where the planned treaty goes.")
    ] = Path("treaty.toml"),
    delta: Annotated[
        float, typer.Option("--delta", min=0.0, max=0.01, help="Allow every party this δ.")
    ] = 0.0,
    asynchronous: Annotated[
        bool, typer.Option("--asynchronous", help="Owners are met one at a time.")
    ] = False,
    method: Annotated[
        str | None, typer.Option("--method", metavar="NAME", help="Use this method and no other.")
    ] = None,
    most_rounds: Annotated[
        int, typer.Option("--max-rounds", min=1, metavar="T", help="No more rounds than that.")
    ] = 1_000,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--keep",
            metavar="LEVER",
            help="Leave this: bounds, dates, knots, categories, basis, rounds, axes, weights, ridge, "
            "start.",
        ),
    ] = None,
    effort: Effort = None,
    seconds: Seconds = None,
    papers: Annotated[
        bool,
        typer.Option("--papers/--no-papers", help="Rehearse the papers' algorithms as well."),
    ] = True,
    force: Annotated[bool, typer.Option("--force", help="Overwrite it.")] = False,
    loss: OwnLosses = None,
    as_json: Json = False,
) -> None:
    """Find good settings for a draft: columns, basis, clip, noise; write a treaty to be ratified.

    Only public rows are looked at. Beside each line that was chosen a comment says why. Interrupted, it
    writes the best so far.

    Example:

        treaty init public.parquet --public --target delay --out draft.toml

        treaty plan draft.toml --stand-in public.parquet --public --out treaty.toml
    """
    import treaty as t
    from treaty.settings import Limits
    from treaty.settings.expecting import Judge
    from treaty.settings.rivals import papers as of_papers
    from treaty.settings.rivals import rivals

    if asynchronous and method not in (None, "one-at-a-time"):
        raise TreatyError(f"--asynchronous goes with one-at-a-time, not with {method}")
    if private or not public:
        raise TreatyError(
            "a planned treaty is public, and holds what was fitted on these rows (means, knots, "
            "categories, a whitening): "
            + (
                "private rows cannot be planned on; give public ones"
                if private
                else "say --public if they may be known to all"
            )
        )
    check_new(out, force=force)
    draft = t.load(treaty)
    limits = Limits(
        delta,
        "one-at-a-time" if asynchronous else method,
        most_rounds,
        frozenset(keep or ()),
        *work_and_time(effort, seconds),
    )
    judge = Judge(draft.open(stand_in), [*draft.features, draft.target.column], by=by)
    found, told = plan_into(out, draft, judge, limits, quiet=as_json)
    with waiting("what else could be done", quiet=as_json):
        others = rivals(found, judge)
        auc = judge.auc(found.treaty)
        if papers:
            others += of_papers(draft, judge)
    if as_json:
        print_json({**_plain(found, told, others, out), "auc_public_only": auc}, private=False)
        return
    _show(found, told, others)
    if auc is not None:
        console.print(f"The public model's AUC on these rows: {auc:.3f}", style="dim")
    if delta and not any(party.delta for party in found.treaty.parties):
        console.print(f"δ = {delta:g} was allowed; the plan does without it.", highlight=False)
    console.print(found.verdict(told), style="bold", highlight=False)
    if found.cut_short:
        console.print(found.cut_short, highlight=False)
    ready = ": ready to be ratified" if found.pays else ""
    console.print(f"wrote {out}, and its dictionary beside it{ready}")


def plan_into(
    out: Path,
    draft: "Treaty",
    judge: "Judge",
    limits: "Limits",
    *,
    notes: Sequence[str] = (),
    quiet: bool,
) -> "tuple[Candidate, Expected]":
    """Plan a draft and write it, interrupted the best so far; return it, and what is expected of it."""
    from treaty.gains.own_gain import shown
    from treaty.settings import planning
    from treaty.settings.writing import planned_text
    from treaty.terms.settling import write_fitted

    found: Candidate | None = None
    try:
        with progress_bars(quiet=quiet) as move:
            move("planning", 0, 100)
            for found in planning.planned(draft, judge, limits):
                words = f"planning, best so far {shown(found.expected.error)} {draft.target.unit}"
                move(words.rstrip(), round(100 * found.done), 100)
    except KeyboardInterrupt:
        if found is None:
            raise
    assert found is not None
    settled = judge.in_place(found.treaty)
    told = judge.foreseen(found.treaty, found.optimism)
    write_fitted(out, planned_text(found, told, settled, len(judge.rows), notes), settled)
    return found, told


def _plain(
    found: "Candidate", told: "Expected", others: "list[Rival]", out: Path
) -> dict[str, object]:
    return {
        "treaty": str(out),
        "expected_error": told.error,
        "interval": list(told.interval),
        "expected_error_public_only": told.public_error,
        "unit": found.treaty.target.unit,
        "pays": found.pays,
        "done": found.done,
        "levers": [
            {
                "lever": step.lever,
                "chosen": step.words,
                "before": step.before,
                "after": step.after,
                "ways": dict(step.ways),
            }
            for step in found.steps
        ],
        "rivals": {rival.name: rival.error for rival in others},
    }


def _show(found: "Candidate", told: "Expected", others: "list[Rival]") -> None:
    from treaty.gains.own_gain import shown

    unit = f", {found.treaty.target.unit}" if found.treaty.target.unit else ""
    what = "log loss" if told.labels else "error"
    rows = len(told.public)
    levers = table(
        f"What each lever brought: expected {what}{unit}, on {rows:,} rows",
        "lever",
        "chosen",
        "before",
        "after",
    )
    levers.columns[1].justify = "left"
    for step in found.steps:
        levers.add_row(step.lever, step.words, shown(step.before), shown(step.after))
    if found.steps:
        console.print(levers)
    beside = table(f"Expected {what}{unit}, on the same rows", "what", what, "90% interval")
    low, high = told.interval
    interval = f"{shown(low)} to {shown(high)}"
    beside.add_row("this plan", shown(told.error), interval, style="bold green")
    for rival in others:
        beside.add_row(rival.name, shown(rival.error))
    console.print(beside)
    said = (
        "Every row is judged by models that have not seen it. In the second table what comes of "
        "choosing the lowest is taken off. With other rows all of its lines would move, within the "
        "interval."
    )
    console.print(said + ("" if told.labels else " An error is a root mean square."), style="dim")
