"""treaty train: one real training, every owner in this process."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treaty.cli.options import By, Data, Json, Owners, OwnLosses, OwnView, Public, TreatyFile
from treaty.cli.output import (
    check_writable,
    console,
    named_files,
    plain_epsilons,
    print_json,
    progress_bar,
    remarks,
    table,
    waiting,
    warn,
)
from treaty.views import epsilon_text

if TYPE_CHECKING:
    from treaty.gains import OwnGain
    from treaty.training import Training


def train(
    treaty: TreatyFile,
    data: Data = None,
    by: By = None,
    owner: Owners = None,
    public: Public = None,
    model: Annotated[
        Path | None, typer.Option("--model", metavar="FILE", help="Save the model as JSON.")
    ] = None,
    peers: Annotated[
        bool, typer.Option("--peers", help="Every owner learns a model of its own.")
    ] = False,
    own_view: OwnView = None,
    loss: OwnLosses = None,
    as_json: Json = False,
) -> None:
    """Train once with live noise and real budgets, every owner in this process, and compare.

    The comparison is computed from the records themselves, without noise: it is for whoever holds
    all of them, and must not be published. The model may be.

    Example:

        treaty demo --keep flights

        treaty train flights/treaty.toml --data flights/flights.parquet --by dest
        --public flights/public.parquet
    """
    import treaty as t
    from treaty.plans.deltas import delta_doubts
    from treaty.plans.waste import waste
    from treaty.training.doubts import doubts
    from treaty.training.table import render

    check_writable(model)
    document = t.load(treaty)
    records = t.sources(document, data=data, by=by, owners=named_files(owner or []))
    notes = [*remarks(*records.values()), *doubts(document, records)]
    warn(notes, quiet=as_json)
    assembly = t.assemble(document, records, public)
    unusual = [*waste(assembly.plan), *delta_doubts(assembly.plan)]
    warn(unusual, quiet=as_json)
    with progress_bar("training", quiet=as_json) as tick:
        if peers:
            reports = t.train_peers(assembly, progress=tick)
        else:
            reports = {"": t.train(assembly, progress=tick)}
    for learner, report in reports.items():
        if model is not None:
            report.model.save(model if not learner else _peer_file(model, learner))
    if own_view is None:
        own_view = not peers and document.loss.name == "squared"
    with waiting("adapting to every owner's own records", quiet=as_json or not own_view):
        owners = {n: report.owners if own_view else {} for n, report in reports.items()}
    if as_json:
        print_json(
            {
                "treaty": t.fingerprint(assembly.treaty),
                "notes": [*notes, *unusual],
                "models": {n or "together": _plain(r, owners[n]) for n, r in reports.items()},
            },
            private=True,
        )
        return
    console.print(f"treaty {t.fingerprint(assembly.treaty)[:16]}, {document.title}")
    for note in sum(assembly.counts.values(), start=t.Counts()).notes():
        console.print(note, style="dim", highlight=False)
    if peers:
        _print_peers(reports)
    else:
        console.print(render(reports[""], owners=own_view))


def _peer_file(model: Path, learner: str) -> Path:
    safe = "".join(c if c.isalnum() or c in "-_. " else "_" for c in learner)
    return model.with_stem(f"{model.stem}-{safe}")


def _plain(report: "Training", owners: "dict[str, OwnGain]") -> dict[str, Any]:
    return {
        "psi": report.together,
        "psi_alone": report.alone,
        "psi_public_only": report.public_only,
        "psi_nothing": report.nothing,
        "best_fitness": report.best,
        "epsilon_spent": plain_epsilons(report.spent),
        "answers": report.answers,
        "parameters": report.parameters,
        "theta": list(report.model.theta),
        "owners": {name: gain.plain() for name, gain in owners.items()},
    }


def _print_peers(reports: "dict[str, Training]") -> None:
    peers = table("Every owner its own learner: ψ", "owner", "with its peers", "alone")
    for name, report in reports.items():
        peers.add_row(name, f"{report.together:.4g}", f"{report.alone[name]:.4g}")
    console.print(peers)
    spent = table("Budget over all trainings", "owner", "answers", "ε spent")
    for name in reports:
        answers = sum(report.answers[name] for report in reports.values())
        epsilon = sum(report.spent[name] for report in reports.values())
        spent.add_row(name, f"{answers:,}", epsilon_text(epsilon))
    console.print(spent)
