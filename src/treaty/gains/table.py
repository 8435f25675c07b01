"""An owner's own question as a table that an executive can read."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rich.console import Group
from rich.table import Table
from rich.text import Text

from treaty.gains.competing import ADAPTED, ALONE, CEILING, PUBLIC, TOGETHER, adapted
from treaty.gains.own_gain import NOTHING, OwnGain, sentence, shown
from treaty.measures import MEASURES, Estimate
from treaty.views import some

NAMES = {
    ALONE: "alone: your own model, tuned",
    PUBLIC: "the public model as it is",
    adapted(PUBLIC): "the public model, adapted to your records",
    TOGETHER: "together: the shared model as it is",
    ADAPTED: "together, adapted to your records",
    adapted(CEILING): "ceiling: all records in one place, no privacy, adapted",
}

ON_ONE_LINE = 24
"""Names of owners that are no longer than this are never broken."""
LEARNERS_VIEW = "One model over everybody's records, as the learner and the papers see it:"
FURTHER = "90% intervals: for as many further records; verdicts are about the long run."


def render(gain: OwnGain) -> Group:
    """Return it as something Rich prints: the verdict first, then the table, then what to know of it."""
    return Group(Text(sentence(gain), style="bold"), table(gain), *map(Text, notes(gain)))


def render_without(gain: OwnGain) -> Group:
    """Return what an owner can have without joining as something Rich prints."""
    without = (ALONE, PUBLIC, adapted(PUBLIC))
    measure = MEASURES[gain.measure]
    best = min(
        without, key=lambda name: measure.loss(gain.models[name].measures[measure.name].value)
    )
    words = f"Best on records that it has not seen: {NAMES[best]}."
    models = {name: gain.models[name] for name in without}
    shown_gain = replace(gain, models={**models, ADAPTED: gain.models[adapted(PUBLIC)]})
    made = table(shown_gain, rows=without)
    return Group(Text(words, style="bold"), made, Text(notes(gain)[0]))


def render_all(gains: Mapping[str, OwnGain]) -> Group:
    """Return several owners' answers: each in full where they are two, else a line for each."""
    if len(gains) <= 2:
        return Group(*(part for gain in gains.values() for part in (render(gain), Text(""))))
    notes = (
        "Not joining: the best of alone and public, adapted. Joining: shared, adapted, or one of "
        f"these where the own records favour it. {FURTHER}"
    )
    return Group(Text(summary(gains), style="bold"), overview(gains), Text(notes))


def summary(gains: Mapping[str, OwnGain], owners: str = "owners") -> str:
    """Say in one sentence whose own predictions would get better; `owners` is what they are called."""
    known = next(iter(gains.values())).known
    worthwhile = next(iter(gains.values())).worthwhile
    told = {
        decision: [name for name, gain in gains.items() if gain.decision == decision]
        for decision in ("join", "small", "small loss", "stay away", "too close", "no difference")
    }
    verb = "gain" if known else "would gain"
    said = [
        f"{len(told['join'])} of {len(gains)} {owners} {verb} at least {100 * worthwhile:g}% on their "
        f"own records by joining{_named(told['join'])}"
    ]
    if told["small"]:
        said.append(f"{len(told['small'])} less than that{_named(told['small'])}")
    if told["small loss"]:
        said.append(
            f"{len(told['small loss'])} would lose less than that{_named(told['small loss'])}"
        )
    if told["stay away"]:
        said.append(f"{len(told['stay away'])} should stay away{_named(told['stay away'])}")
    if told["too close"]:
        most = max(
            abs(e) for n in told["too close"] for e in (gains[n].gain.low, gains[n].gain.high)
        )
        said.append(
            f"for {len(told['too close'])} it is too close to tell, at most {100 * most:.1f}% either way"
        )
    if told["no difference"]:
        said.append(f"for {len(told['no difference'])} it makes no difference")
    return "; ".join(said) + "."


def overview(gains: Mapping[str, OwnGain]) -> Table:
    """Return a line for every owner: what it can have without joining, what joining brings."""
    first = next(iter(gains.values()))
    unit = f", {first.target.unit}" if first.target.unit and MEASURES[first.measure].in_unit else ""
    what = first.target.label or first.target.column
    errors = (
        "Errors" if MEASURES[first.measure].in_unit else MEASURES[first.measure].words.capitalize()
    )
    title = f"{errors} of {what} on every owner's own records{unit}"
    made = Table(title=title, title_justify="left")
    for column in ("owner", "records", "not joining", "joining", "gain", "verdict"):
        left = column in ("owner", "verdict")
        made.add_column(
            column,
            justify="left" if left else "right",
            no_wrap=column == "gain" or (column == "owner" and max(map(len, gains)) <= ON_ONE_LINE),
            overflow="fold",
            min_width=7,
        )
    for name, gain in gains.items():
        joining = gain.models[ADAPTED].measures[gain.measure].value
        cells = [shown(joining / (1 - gain.gain.value)), shown(joining)]
        style = {"join": "bold green", "stay away": "red"}.get(gain.decision)
        made.add_row(
            Text(name), f"{gain.records:,}", *cells, _share(gain.gain), gain.decision, style=style
        )
    return made


def _share(gain: Estimate) -> str:
    """Return a gain in percent, with its interval, or that there is none to speak of."""
    value, low, high = (100 * end for end in (gain.value, gain.low, gain.high))
    if max(abs(low), abs(high)) < 100 * NOTHING:
        return "none"
    return f"{value:.1f}% ({low:.1f}, {high:.1f})"


def _named(names: list[str]) -> str:
    if not names:
        return ""
    return f" ({some(names)})"


def table(gain: OwnGain, rows: Sequence[str] = tuple(NAMES)) -> Table:
    """Return every model's errors on the owner's own records.

    Args:
        gain: the models and their errors.
        rows: which of them are shown, by name.
    """
    measures = [MEASURES[name] for name in gain.adapted.measures]
    made = Table(title=title(gain), title_justify="left", header_style="bold")
    made.add_column("model")
    for measure in measures:
        words = measure.name.replace("_", " ")
        made.add_column(
            {"rmse": "error (RMSE)", "mae": "mean absolute", "r2": "R²"}.get(measure.name, words)
        )
        made.columns[-1].justify = "right"
    for key, words in NAMES.items():
        errors = gain.models.get(key) if key in rows else None
        if errors is None:
            continue
        style = "bold green" if key == ADAPTED else None
        mark = " (picked without joining)" if key == gain.rival else ""
        cells = [
            _cell(errors.measures.get(measure.name), first=measure is measures[0])
            for measure in measures
        ]
        made.add_row(words + mark, *cells, style=style)
    return made


def title(gain: OwnGain) -> str:
    """Return what the table is about."""
    unit = f", in {gain.target.unit}" if gain.target.unit else ""
    what = gain.target.label or gain.target.column
    return f"{gain.name}: errors of {what} on {gain.records:,} own records, out of sample{unit}"


def notes(gain: OwnGain) -> list[str]:
    """Return what a reader should know of the figures."""
    lines = [
        "Picked: by the owner's own cross-validation, before any record is judged; another may come out "
        "a little better.",
        FURTHER,
    ]
    if gain.clamped > 0:
        low, high = gain.target.bounds or (0.0, 0.0)
        lines.append(
            f"{100 * gain.clamped:.2g}% of the records lie outside the treaty's bounds, {low:g} to "
            f"{high:g}, and count as the bound; as they are, the error of the shared model, adapted, "
            f"{'is' if gain.known else 'would be about'} {shown(gain.unclamped or 0.0)}."
        )
    if gain.known:
        lines.append(
            "The shared model has seen these records, through noise, if they were in its training; "
            "an adapted model that leaves is a release."
        )
    return lines


def _cell(estimate: Estimate | None, *, first: bool) -> str:
    if estimate is None:
        return "–"
    value = shown(estimate.value)
    return f"{value} [{shown(estimate.low)}, {shown(estimate.high)}]" if first else value
