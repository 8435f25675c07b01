"""What public rows have settled, written into the text of a treaty; comments stay."""

import json
import re
from pathlib import Path

from treaty.errors import TreatyError
from treaty.records import Hats
from treaty.terms.document import Treaty
from treaty.terms.toml import dumps, loads


def settled_text(text: str, settled: Treaty) -> str:
    """Return the text of a treaty with knots and class weights as public rows have settled them.

    Lines are replaced where they are written one by one. A treaty that is written otherwise, with tables
    in one line, is written anew, without its comments.

    Args:
        text: the treaty as it was written, without a fitted dictionary.
        settled: what it has become.
    """
    wanted = settled.model_copy(update={"fitted": None})
    written = text
    for column, feature in settled.features.items():
        if isinstance(feature, Hats) and feature.knots is not None:
            knots = ", ".join(repr(knot) for knot in feature.knots)
            section = rf"features\.(?:{re.escape(column)}|\"{re.escape(column)}\")"
            written = _replaced(written, section, "quantiles", f"knots = [{knots}]")
    weights = settled.loss.class_weights
    if isinstance(weights, dict):
        pairs = ", ".join(
            f"{json.dumps(label, ensure_ascii=False)} = {weight!r}"
            for label, weight in weights.items()
        )
        written = _replaced(written, "loss", "class_weights", f"class_weights = {{{pairs}}}")
    try:
        same = loads(written) == wanted
    except TreatyError:
        same = False
    return written if same else dumps(wanted)


def write_fitted(path: Path, text: str, settled: Treaty) -> Path:
    """Write a treaty whose dictionary is fitted, the dictionary in a JSON file beside it.

    Args:
        path: of the treaty.
        text: the treaty, without its dictionary.
        settled: the treaty with it.

    Returns:
        The path of the dictionary.
    """
    assert settled.fitted is not None
    beside = path.with_suffix(".dictionary.json")
    beside.write_text(settled.fitted.model_dump_json(indent=1) + "\n", encoding="utf-8")
    lines = text.splitlines(keepends=True)
    place = next(i for i, line in enumerate(lines) if line.lstrip().startswith("version")) + 1
    lines.insert(place, f'fitted = "{beside.name}"\n')
    path.write_text("".join(lines), encoding="utf-8")
    return beside


def _replaced(text: str, section: str, key: str, line: str) -> str:
    """Replace the line of a key in a section, if it is there and says something else."""
    inside = r"(?:(?!^\[).)*?"
    pattern = rf"(^\[{section}\]{inside})^{key}[ \t]*=[^\n#]*?(?=[ \t]*(?:#[^\n]*)?$)"
    return re.sub(pattern, lambda found: found[1] + line, text, count=1, flags=re.M | re.S)
