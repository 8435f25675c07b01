"""treaty reproduce: both papers once more, every figure and every claim."""

import os
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from treaty.cli.options import Json
from treaty.cli.output import console, print_json, progress_bars, table
from treaty.errors import TreatyError

if TYPE_CHECKING:
    from treaty.papers.reproduction import Reproduction


def reproduce(
    figures: Annotated[
        list[str] | None,
        typer.Argument(metavar="FIGURE", help="Such as W4 or F10; all if none is given."),
    ] = None,
    lending: Annotated[
        Path | None, typer.Option("--lending", metavar="FILE", help="LendingClub's loan.csv.")
    ] = None,
    fraud: Annotated[
        Path | None, typer.Option("--fraud", metavar="FILE", help="ULB's creditcard.csv.")
    ] = None,
    hospital: Annotated[
        list[Path] | None,
        typer.Option(
            "--hospital",
            metavar="FILE",
            help="SPARCS inpatient discharges; several files, or a pattern such as 'SPARCS*.csv'.",
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="FOLDER", help="Where the report and results go.")
    ] = Path("reproduction"),
    runs: Annotated[int, typer.Option("--runs", min=2, help="How many runs of every trial.")] = 100,
    seed: Annotated[
        int, typer.Option("--seed", min=0, help="Of rows, clocks and simulated noise.")
    ] = 0,
    one_hot: Annotated[
        bool, typer.Option("--one-hot", help="A column for every category, instead of integers.")
    ] = False,
    share: Annotated[
        float,
        typer.Option(
            "--share",
            min=0.02,
            max=1.0,
            help="Of rows that are made: the share of the full number.",
        ),
    ] = 1.0,
    processes: Annotated[
        int | None, typer.Option("--processes", min=1, help="How many at once; every core's worth.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Draw every figure of both papers again, and judge every claim, in one report.

    Without files, rows with the same columns are made; a part of a public file will do, too. Every
    figure says which kind of rows it shows. What was computed stays in the folder: an interrupted run
    goes on where it was, and the same rows and seed give the same report.

    Example:

        treaty reproduce W4 W5 --share 0.1 --out reproduction
    """
    from treaty.canvas import canvas
    from treaty.papers.picture import draw
    from treaty.papers.report import write_report
    from treaty.papers.reproduction import FIGURES, wanted
    from treaty.papers.reproduction import reproduce as run
    from treaty.papers.rows import Rows
    from treaty.papers.workshop import Workshop
    from treaty.trials.store import Store

    canvas(1, 1)  # pictures come last, but whether they can be drawn is told first
    names, discharges = _discharges(figures or [], hospital or [])
    keys = wanted(names)
    for file in (lending, fraud, *discharges):
        if file is not None and not file.is_file():
            raise TreatyError(f"{file}: there is no such file")
    rows = Rows(lending, fraud, discharges, one_hot, share, seed)
    workshop = Workshop(rows, Store(out / "trials"), runs=runs, seed=seed)
    pictures = _folder(out / "figures")
    drawn: dict[str, Path] = {}
    try:
        with progress_bars(quiet=as_json) as progress:
            progress("reading rows", 0, 1)
            made = run(workshop, keys, processes=processes or _cores(), progress=progress)
            for index, figure in enumerate(made.figures):
                progress("drawing", index, len(made.figures))
                drawn[figure.key] = draw(figure, pictures)[0]
    except KeyboardInterrupt:
        kept = (
            f"stopped; what was finished is kept in {out}, and the same command goes on from there"
        )
        Console(stderr=True).print(kept)
        raise typer.Exit(130) from None
    # A report of some figures does not take the place of one of all.
    report = out / ("report.html" if len(keys) == len(FIGURES) else f"report-{'-'.join(keys)}.html")
    write_report(made, drawn, workshop.described(), report)
    if as_json:
        described = {"report": str(report), "rows": workshop.described(), "runs": runs}
        print_json(described | {"seed": seed} | _plain(made), private=False)
        return
    for sentence in workshop.described():
        console.print(sentence)
    _show(made)
    console.print(f"the report is {report}, its pictures are in {pictures}")


def _folder(path: Path) -> Path:
    if path.exists() and not path.is_dir():
        raise TreatyError(f"{path}: is a file, and pictures are to go into a folder of that name")
    path.mkdir(exist_ok=True)
    return path


def _plain(made: "Reproduction") -> dict[str, Any]:
    return {
        "seconds": made.seconds,
        "claims": [claim.plain() for claim in made.claims],
        "forecasts": [vars(group) for group in made.forecasts],
    }


def _discharges(words: list[str], given: list[Path]) -> tuple[list[str], tuple[Path, ...]]:
    """Tell figures from files: a shell makes several words of `--hospital SPARCS*.csv`."""
    names = [word for word in words if not Path(word).is_file()]
    files = [Path(word) for word in words if Path(word).is_file()]
    if files and not given:
        raise TreatyError(f"{files[0]}: say what it is of, with --lending, --fraud or --hospital")
    for path in given:
        matching = [Path(name) for name in sorted(glob(str(path)))]
        files += matching or [path]
    return names, tuple(dict.fromkeys(files))


def _show(made: "Reproduction") -> None:
    shown = table(
        "What the papers say, and what came of it",
        "claim",
        "figure",
        "here it",
        "number",
        "corrected",
    )
    for claim in made.claims:
        number = f"{claim.number:.4g}"
        shown.add_row(claim.statement, claim.figure, claim.verdict, number, claim.corrected or "–")
    console.print(shown)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
