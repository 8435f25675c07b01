"""A planned treaty as TOML, with a comment beside what was chosen that says why."""

from collections.abc import Iterator, Mapping, Sequence

import tomli_w

from treaty.gains.own_gain import shown
from treaty.learners.blended_step import BlendedStep
from treaty.records import Dialect
from treaty.settings.expected import Expected
from treaty.settings.planning import Candidate, Step
from treaty.terms import Treaty
from treaty.terms.toml import section_text

UNIT = 'Write unit = "days", or whatever errors are counted in, and it is told with all of them.'


def planned_text(
    found: Candidate, told: Expected, settled: Treaty, rows: int, notes: Sequence[str] = ()
) -> str:
    """Return the text of a planned treaty, without its fitted dictionary.

    Args:
        found: the plan.
        told: what is expected of it, on rows by which nothing was chosen.
        settled: its treaty with all in place that public rows decide.
        rows: how many public rows it was planned on.
        notes: what was decided about columns when it was drafted.
    """
    unit = f" {settled.target.unit}" if settled.target.unit else ""
    what = _measure(told)
    comments = _comments(found)
    interval = " to ".join(shown(end) for end in told.interval)
    public = shown(told.public_error)
    parts = [
        f"# Planned on {rows:,} public rows. On such rows that no model has seen, the expected {what}\n"
        f"# is {shown(told.error)}{unit} (90% interval: {interval}).\n"
        f"# That of the public rows alone is {public}{unit}.\n"
        f"# {found.verdict(told)}\n" + (f"# {found.cut_short}\n" if found.cut_short else ""),
        tomli_w.dumps({"version": settled.version, "title": settled.title}),
        *(f"# {note}." for note in notes),
        *_above(comments, "features"),
    ]
    if settled.dialect != Dialect():
        parts.append(section_text(("dialect",), settled.dialect))
    for column, feature in settled.features.items():
        parts.append(section_text(("features", column), feature, "kind"))
    for section in ("target", "dictionary", "loss", "training"):
        parts += _above(comments, section)
        text = section_text((section,), getattr(settled, section), "name", "method")
        parts.append(_beside(comments, section, text))
    for party in settled.parties:
        parts.append("[[parties]]\n" + section_text((), party, "name"))
    return "\n".join(parts)


def _above(comments: Mapping[str, list[str]], section: str) -> Iterator[str]:
    if comments.get(section):
        yield "\n".join(f"# {words}" for words in comments[section])


def _beside(comments: Mapping[str, list[str]], section: str, text: str) -> str:
    lines = text.splitlines()
    for place, line in enumerate(lines):
        key = f"{section}.{line.split('=')[0].strip()}"
        lines[place] = line + "".join(f"  # {words}" for words in comments.get(key, ()))
    return "\n".join(lines) + "\n"


def _comments(found: Candidate) -> dict[str, list[str]]:
    """Return comments by section, and by section and key."""
    made = {
        "target": [] if found.treaty.target.unit else [UNIT],
        "loss.clip": [f"{100 * found.clip_leaves:.3g}% of the public gradients stay below it"],
    }
    if found.treaty.training.method == BlendedStep.name:
        made["training.method"] = ["asks at the public model; answers are blended with public rows"]
    latest: dict[str, Step] = {step.lever: step for step in found.steps}
    for step in latest.values():
        made.setdefault(step.line, []).append(_why(step, _measure(found.expected)))
    return made


def _measure(told: Expected) -> str:
    """Return what errors are."""
    return "log loss" if told.labels else "error (root mean square)"


def _why(step: Step, what: str) -> str:
    others = [
        f"{words} {shown(told)}"
        for words, told in step.ways.items()
        if words != step.words and isinstance(told, float)
    ]
    beside = f" ({'; '.join(others)})" if others else ""
    return f"{step.words}: expected {what} {shown(step.after)}{beside}"
