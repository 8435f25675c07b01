"""What is wrong with a treaty, all of it at once: each fault with its line and what would be right."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from treaty.errors import TreatyError, nearest
from treaty.losses import Loss, loss_named
from treaty.losses.registry import SHIPPED
from treaty.plans.plan import method_named
from treaty.privacy import Budget, mechanism_named
from treaty.records import Target
from treaty.terms.document import Treaty
from treaty.terms.lines import line_of, lines_of

WANTED = {
    "int": "a whole number",
    "float": "a number",
    "finite": "a finite number",
    "bool": "true or false",
    "string": "a text",
    "tuple": "a list",
    "list": "a list",
    "dict": "a table",
    "model": "a table",
}
"""What a value should have been, by how the name of pydantic's error begins."""
KINDS = ("number", "hats", "one-hot", "ordinal", "date")
"""Kinds of columns: pydantic puts them between the name of a column and its field."""


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong.

    Args:
        place: the path of the key.
        words: what is wrong, and what would be right.
    """

    place: tuple[str | int, ...]
    words: str

    @property
    def field(self) -> str:
        """The key as people write it; tables that are repeated are counted from 1."""
        return ".".join(str(part + 1) if isinstance(part, int) else part for part in self.place)


def told(where: str, text: str, found: Sequence[Fault]) -> str:
    """Say everything that is wrong: one fault in one sentence, several in a line each.

    Args:
        where: what to call the treaty.
        text: the treaty as it is written.
        found: the faults.
    """
    lines = lines_of(text)
    found = sorted(found, key=lambda fault: line_of(lines, fault.place) or 0)
    sentences = [_sentence(fault, lines) for fault in found]
    if len(sentences) == 1:
        line = line_of(lines, found[0].place)
        place = f"{where}, line {line}" if line else where
        return f"{place}: {_named(found[0])}"
    return f"{where}: {len(found)} things are wrong:\n" + "\n".join(
        f"  {each}" for each in sentences
    )


def _sentence(fault: Fault, lines: Mapping[tuple[str | int, ...], int]) -> str:
    line = line_of(lines, fault.place)
    return (f"line {line}: " if line else "") + _named(fault)


def _named(fault: Fault) -> str:
    return f"{fault.field}: {fault.words}" if fault.place else fault.words


def faults_of(error: ValidationError) -> list[Fault]:
    """Return all faults that reading a treaty has come upon.

    A key that is missing because it is misspelt is told once, and so is a table that is wrong because
    of something in it.
    """
    found = error.errors()
    misspelt = {
        (*each["loc"][:-1], meant)
        for each in found
        if each["type"] == "extra_forbidden"
        for meant in get_close_matches(str(each["loc"][-1]), _fields_at(each["loc"][:-1]), 1, 0.7)
    }
    inside = {each["loc"][:end] for each in found for end in range(1, len(each["loc"]))}
    return [
        _fault(dict(each))
        for each in found
        if each["loc"] not in inside and (each["type"] != "missing" or each["loc"] not in misspelt)
    ]


def _fault(each: dict[str, Any]) -> Fault:
    place = tuple(part for part in each["loc"] if part not in KINDS)
    words, kind = each["msg"].removeprefix("Value error, "), each["type"]
    if kind == "missing":
        words = "is missing: write it"
    elif kind == "extra_forbidden":
        known = _fields_at(each["loc"][:-1])
        words = f"is not a known key{nearest(str(place[-1]), known)}"
        if known:
            words += f"; there are {', '.join(known)}"
    elif kind in ("union_tag_not_found", "union_tag_invalid"):
        given: Any = each["input"]
        found = str(given.get("kind", "")) if isinstance(given, dict) else ""  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        place = (*place, "kind")
        listed = ", ".join(f'"{name}"' for name in KINDS)
        words = f"must be one of {listed}{nearest(found, KINDS)}"
    elif kind == "literal_error":
        expected = str(each["ctx"]["expected"]).replace("'", '"')
        meant = nearest(str(each["input"]), re.findall(r'"(.*?)"', expected))
        words = f"must be {expected}, not {shown(each['input'])}{meant}"
    elif kind in ("too_short", "too_long"):
        few = kind == "too_short"
        bound = each["ctx"]["min_length" if few else "max_length"]
        words = f"must hold {'at least' if few else 'at most'} {bound}"
    elif wanted := WANTED.get(kind.partition("_")[0]):
        words = f"must be {wanted}, not {shown(each['input'])}"
    elif kind != "value_error":
        words = f"{words[0].lower()}{words[1:]}, not {shown(each['input'])}"
    return Fault(place, words)


def _fields_at(place: Sequence[str | int]) -> list[str]:
    """Return the keys that a table of the document may have."""
    here: Any = Treaty
    for part in place:
        if _is_model(here):
            field = here.model_fields.get(str(part))
            here = None if field is None else field.annotation
            continue
        models = list(_models(here))
        kinds = [m for m in models if part in KINDS and _kind(m) == part]
        here = kinds[0] if kinds else here if part not in KINDS else None
        if len(models) == 1 and not kinds:
            here = models[0]
    models = list(_models(here))
    return list(models[0].model_fields) if len(models) == 1 else []


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _kind(model: type[BaseModel]) -> str:
    kind = model.model_fields.get("kind")
    return str(get_args(kind.annotation)[0]) if kind is not None else ""


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """Return the models that a field may hold."""
    if _is_model(annotation):
        yield annotation
    elif get_origin(annotation) is not None or isinstance(annotation, UnionType | type(Union)):
        for part in get_args(annotation):
            yield from _models(part)


def unknown_names(data: Mapping[str, Any]) -> list[Fault]:
    """Return the names of methods, mechanisms and losses that nothing is called, in a treaty as written.

    A loss of one's own is not looked up: that would run its code.
    """
    named: list[tuple[tuple[str, str], Callable[[str], object]]] = [
        (("loss", "name"), lambda name: ":" in name or name in SHIPPED or loss_named(name)),
        (("training", "method"), method_named),
        (("training", "mechanism"), mechanism_named),
    ]
    found: list[Fault] = []
    for (table, key), look in named:
        inside: Any = data.get(table)
        name = inside.get(key) if isinstance(inside, Mapping) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        if isinstance(name, str):
            try:
                look(name)
            except TreatyError as error:
                found.append(Fault((table, key), str(error)))
    return found


def faults(treaty: Treaty, written: Sequence[str]) -> list[Fault]:
    """Return what is wrong with a treaty whose every field by itself is right.

    A loss of one's own is not looked up: that would run its code.

    Args:
        treaty: the treaty.
        written: the names of the parties, in the order in which they are written down.
    """
    loss, training, target = treaty.loss, treaty.training, treaty.target
    found: list[Fault] = []

    def check(place: tuple[str | int, ...], look: Callable[[], object]) -> None:
        try:
            look()
        except TreatyError as error:
            words = str(error).removeprefix(".".join(str(part) for part in place) + ": ")
            found.append(Fault(place, words))

    if ":" not in loss.name:
        check(("loss", "name"), lambda: loss_named(loss.name, loss.parameters))
        if not found:
            check(("target",), lambda: check_target(loss_named(loss.name, loss.parameters), target))
    check(("training", "method"), lambda: method_named(training.method))
    check(("training", "mechanism"), lambda: mechanism_named(training.mechanism))
    if any(fault.place == ("training", "mechanism") for fault in found):
        return found
    mechanism = mechanism_named(training.mechanism)
    for party in treaty.parties:
        place = ("parties", written.index(party.name))
        check(place, lambda party=party: mechanism.check(Budget(party.epsilon, party.delta)))
    if target.missing is not None and target.bounds is None:
        found.append(
            Fault(("target", "missing"), "goes with bounds: a missing label has no stand-in")
        )
    return found


def check_target(loss: Loss, target: Target) -> None:
    """Refuse a target that a loss cannot learn."""
    if loss.labels and target.bounds is not None:
        raise TreatyError(
            f"target.bounds: the {loss.name} loss learns labels: give target.labels instead of bounds"
        )
    if not loss.labels and target.bounds is None:
        raise TreatyError(f"target.bounds: the {loss.name} loss learns numbers: give their bounds")


def shown(value: object) -> str:
    """Return a value as it is written, or only its kind if it is too large to show."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        text = ""
    return text if 0 < len(text) <= 200 else f"such a {type(value).__name__}"
