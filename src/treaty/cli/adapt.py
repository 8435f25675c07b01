"""treaty adapt: a shared model becomes an owner's own, inside its walls."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from treaty.cli.options import Json, OwnLosses, Public, Worthwhile
from treaty.cli.output import check_writable, console, print_json, share_of, waiting
from treaty.errors import TreatyError

if TYPE_CHECKING:
    from treaty.gains.own_report import OwnReport
    from treaty.models import Model


def adapt(
    data: Annotated[
        Path, typer.Option("--data", metavar="FILE", help="Your own records (CSV, Parquet).")
    ],
    model: Annotated[
        Path | None,
        typer.Argument(
            metavar="[MODEL]",
            help="The shared model, a JSON file; or a treaty, to adapt the model of its public rows.",
        ),
    ] = None,
    public: Public = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            metavar="COLUMN",
            help="Without a model or a treaty: what the model of the public rows is to predict.",
        ),
    ] = None,
    extra: Annotated[
        list[str] | None,
        typer.Option(
            "--extra",
            metavar="COLUMN",
            help="A column of your own that the treaty leaves out; your own model may use it.",
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="Where your own model goes, as JSON.")
    ] = Path("adapted.json"),
    worthwhile: Worthwhile = "1%",
    picture: Annotated[
        Path | None, typer.Option("--picture", metavar="FILE", help="Draw the errors (PNG, SVG).")
    ] = None,
    loss: OwnLosses = None,
    as_json: Json = False,
) -> None:
    """Adapt a shared model to your own records, and say whether it predicts them better.

    Nothing leaves and no budget is spent. Your own model is shrunk towards the shared one as far as your
    own records say; with --public, towards the public model where they favour that. The table compares
    errors on records that no model has seen: alone, public, together, each as it is and adapted. With
    --extra your own models, the rivals too, use columns that only you have. An adapted model that leaves
    your walls is a release.

    Without any training, the model of public rows can be adapted as well: give a treaty instead of a
    model, or --target. Often that does as well as joining.

    Example:

        treaty adapt model.json --data ours.parquet --public public.parquet --out ours.json

        treaty adapt --target delay --data ours.parquet --public public.parquet --out ours.json
    """
    import treaty as t
    from treaty.gains.picture import draw
    from treaty.gains.table import render, render_without
    from treaty.models.own_rows import OneLabel

    check_writable(out)
    check_writable(picture, picture=True)
    if model is not None and target is not None:
        raise TreatyError("--target is for public rows without a model or a treaty: leave one out")
    if model is None or model.suffix.lower() == ".toml":
        own = _adapted_to_public(model, target, public, data, share_of(worthwhile), extra or ())
        own.model.save(out)
        if as_json:
            print_json(own.plain(), private=True)
            return
        console.print(render_without(own.gain))
        console.print(f"Your own model is in {out}: do not give it away.", highlight=False)
        return
    shared = t.Model.load(model)
    try:
        with waiting("adapting", quiet=as_json):
            report = t.adapt_model(
                shared, data, public, worthwhile=share_of(worthwhile), extra=extra or ()
            )
    except OneLabel as error:
        shared.unchanged_for(data).save(out)
        if as_json:
            print_json(
                {"adapted": None, "verdict": f"{error}: the shared model stays"}, private=True
            )
            return
        console.print(f"{error}: the shared model stays as it is, in {out}.", highlight=False)
        return
    report.model.save(out)
    if picture is not None:
        draw(report.gain, picture)
    if as_json:
        print_json(report.plain(), private=True)
        return
    console.print(render(report.gain))
    console.print(_how(report.model), highlight=False)
    console.print(f"Your own model is in {out}: do not give it away.", highlight=False)


def _adapted_to_public(
    treaty: Path | None,
    target: str | None,
    public: Path | None,
    data: Path,
    worthwhile: float,
    extra: "Sequence[str]",
) -> "OwnReport":
    """Adapt the model of public rows, which nobody has to be asked for."""
    import treaty as t
    from treaty.gains.own_report import adapt_public
    from treaty.records import proposed_dialect
    from treaty.terms import loads
    from treaty.terms.draft import draft

    if public is None or (treaty is None and target is None):
        raise TreatyError(
            "say what is to be adapted: a model, or --public rows with a treaty or --target COLUMN"
        )
    if treaty is not None:
        document = t.load(treaty)
    else:
        dialect = proposed_dialect(public)
        rows = t.open_source(public, dialect=dialect)
        document = loads(draft(rows, target=str(target), by=None, dialect=dialect).text)
    return adapt_public(document, data, public, worthwhile=worthwhile, extra=extra)


def _how(model: "Model") -> str:
    note = model.adapted
    assert note is not None
    if note.near == "nothing":
        how = "Your records speak against the shared model: this is the model of yours alone."
    elif note.near == "public":
        how = "Your records favour the public model over the shared one: this one is held near it."
    elif note.strength is None:
        level = ", at your own level" if note.level_free else ""
        how = f"Your records say nothing against the shared model: it stays as it is{level}."
    else:
        how = f"Your own model is held near the shared one with a strength of λ = {note.strength:.2g}."
    if model.own_columns is not None:
        used = ", ".join(model.own_columns.features) or "none, for they say nothing"
        how += f" Columns of your own that it may use: {used}."
    if note.times > 1:
        how += f" It has been adapted {note.times} times."
    return how
