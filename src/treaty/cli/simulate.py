"""treaty simulate: many trainings at once, and their statistics."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from treaty.cli.options import By, Data, Json, Owners, OwnLosses, OwnView, Public, TreatyFile
from treaty.cli.output import (
    check_writable,
    console,
    named_files,
    print_json,
    progress_bar,
    table,
    waiting,
)

if TYPE_CHECKING:
    from treaty.gains import OwnGain
    from treaty.simulation import Simulation


def simulate(
    treaty: TreatyFile,
    data: Data = None,
    by: By = None,
    owner: Owners = None,
    public: Public = None,
    runs: Annotated[int, typer.Option("--runs", help="How many runs.")] = 100,
    seed: Annotated[int, typer.Option("--seed", help="Of clocks and simulated noise.")] = 0,
    every: Annotated[
        bool, typer.Option("--every", help="Keep ψ after every round, not only the last.")
    ] = False,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw errors by round (PNG, SVG).")
    ] = None,
    own_view: OwnView = None,
    loss: OwnLosses = None,
    as_json: Json = False,
) -> None:
    """Train many times at once with simulated noise, and show how good the models are.

    First for every owner, on its own records, with the model of the run in the middle; then over
    everybody's records, for all runs. Nothing here is private: all of it is computed from the records
    themselves.

    Example:

        treaty demo --keep flights

        treaty simulate flights/treaty.toml --data flights/flights.parquet --by dest
        --public flights/public.parquet --runs 200
    """
    import treaty as t

    check_writable(plot, picture=True)
    document = t.load(treaty)
    records = t.sources(document, data=data, by=by, owners=named_files(owner or []))
    assembly = t.assemble(document, records, public)
    with progress_bar("simulating", quiet=as_json) as tick:
        result = t.simulate(
            assembly.plan,
            assembly.risks,
            runs=runs,
            seed=seed,
            record="every" if every or plot is not None else "final",
            progress=tick,
        )
    if plot is not None:
        from treaty.simulation.picture import draw_rounds
        from treaty.training import rivals_of

        draw_rounds(result, document.target, plot, rivals_of(assembly, result.yardstick))
    if own_view is None:
        own_view = document.loss.name == "squared"
    owners: dict[str, OwnGain] = {}
    with waiting("adapting to every owner's own records", quiet=as_json or not own_view):
        if own_view:
            from treaty.training import own_gains_with

            middle = assembly.model(result.middle)
            owners = own_gains_with(middle, assembly, result.yardstick.best.theta)
    p25, median, p75 = result.percentiles(25, 50, 75)
    if as_json:
        print_json(
            {
                "treaty": t.fingerprint(assembly.treaty),
                "runs": runs,
                "seed": seed,
                "psi_mean": result.mean,
                "psi_standard_error": _error(result),
                "rounds": result.rounds.tolist(),
                "psi_p25": p25.tolist(),
                "psi_median": median.tolist(),
                "psi_p75": p75.tolist(),
                "owners": {name: gain.plain() for name, gain in owners.items()},
            },
            private=True,
        )
        return
    console.print(f"treaty {t.fingerprint(assembly.treaty)[:16]}, {document.title}")
    if owners:
        from treaty.gains.table import LEARNERS_VIEW, render_all

        console.print(render_all(owners))
        console.print(LEARNERS_VIEW)
    from treaty.fitness import PSI_IN_WORDS

    console.print(PSI_IN_WORDS, highlight=False)
    shown = table(f"ψ over {runs} runs", "after round", "25%", "median", "75%")
    step = max(1, len(result.rounds) // 20)
    kept = sorted({*range(0, len(result.rounds), step), len(result.rounds) - 1})
    for i in kept:
        shown.add_row(str(result.rounds[i]), f"{p25[i]:.4g}", f"{median[i]:.4g}", f"{p75[i]:.4g}")
    console.print(shown)
    console.print(f"mean ψ {result.mean:.4g} ± {_error(result) or 0.0:.2g} (standard error)")


def _error(result: "Simulation") -> float | None:
    return result.standard_error if len(result.final) > 1 else None
