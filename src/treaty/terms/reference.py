"""What every key of a treaty means, with its default and what it does to privacy and to the error.

Meanings and defaults are read off the document's own classes; what a key does, and an example, is
written here, and a test holds both lists against each other.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from treaty.plain import Plain
from treaty.records import Date, Dialect, DictionaryTerms, Hats, Number, OneHot, Ordinal, Target
from treaty.records.dictionary import Fourier
from treaty.terms.document import LossTerms, PartyTerms, TrainingTerms, Treaty

NONE = "none"
ENCODING = "none: it is public, and applied before anything is computed"
READING = (
    "none: it is stated before records are opened, so that no record decides how others are read"
)
SECTIONS: dict[str, type[Plain]] = {
    "": Treaty,
    "dialect": Dialect,
    'features.NAME, kind = "number"': Number,
    'features.NAME, kind = "hats"': Hats,
    'features.NAME, kind = "one-hot"': OneHot,
    'features.NAME, kind = "ordinal"': Ordinal,
    'features.NAME, kind = "date"': Date,
    "target": Target,
    "dictionary": DictionaryTerms,
    "dictionary.fourier": Fourier,
    "loss": LossTerms,
    "training": TrainingTerms,
    "[parties]": PartyTerms,
}
"""The tables of a treaty, as they are written."""


@dataclass(frozen=True)
class Effect:
    """What a key does.

    Args:
        privacy: to privacy.
        error: to the error of the model.
        example: a line as it is written.
    """

    privacy: str
    error: str
    example: str


_MISSING = Effect(
    ENCODING, "a poor stand-in for many missing values biases the model", "missing = 0.0"
)
_WORDS = Effect(
    ENCODING, "texts become numbers; others are refused or missing", "words = { no = 0, yes = 1 }"
)
_TEXTS = Effect(ENCODING, "texts that count as missing are replaced", 'texts = "missing"')
_BOUNDS = Effect(
    "values are clamped into it, so that no record can move an answer further than declared",
    "too tight clamps what matters; too wide costs noise where x is scaled by bounds",
    "bounds = [0, 120]",
)
EFFECTS: dict[tuple[str, str], Effect] = {
    ("", "version"): Effect(NONE, NONE, "version = 1"),
    ("", "title"): Effect(NONE, NONE, 'title = "Length of stay at twelve hospitals"'),
    ("", "dialect"): Effect(
        "what a record becomes is settled before records are opened",
        "none, where it says what is true of the files",
        "[dialect]",
    ),
    ("dialect", "decimal"): Effect(READING, NONE, 'decimal = ","'),
    ("dialect", "thousands"): Effect(READING, NONE, 'thousands = "."'),
    ("dialect", "encoding"): Effect(READING, NONE, 'encoding = "cp1252"'),
    ("dialect", "separator"): Effect(READING, NONE, 'separator = ";"'),
    ("dialect", "quote"): Effect(READING, NONE, 'quote = "\'"'),
    ("dialect", "columns"): Effect(
        READING, NONE, 'columns = { price = { decimal = ".", thousands = "," } }'
    ),
    ("", "features"): Effect(
        "what is listed is what owners answer about",
        "more columns tell more, and cost more noise",
        "[features.age]",
    ),
    ("", "target"): Effect(NONE, NONE, "[target]"),
    ("", "dictionary"): Effect(ENCODING, "the basis in which noise is added", "[dictionary]"),
    ("", "fitted"): Effect(
        "none: it is fitted on public rows alone",
        "as [dictionary]",
        'fitted = "treaty.dictionary.json"',
    ),
    ("", "loss"): Effect("its clip bounds what one record can do", "what is made small", "[loss]"),
    ("", "training"): Effect(
        "how often owners are asked", "how the model is reached", "[training]"
    ),
    ("", "parties"): Effect("each with its own budget", "more records, less noise", "[[parties]]"),
    ("number", "kind"): Effect(NONE, "a straight line in the column", 'kind = "number"'),
    ("number", "bounds"): _BOUNDS,
    ("number", "log1p"): Effect(ENCODING, "tames long tails to the right", "log1p = true"),
    ("number", "missing"): _MISSING,
    ("number", "texts"): _TEXTS,
    ("number", "words"): _WORDS,
    ("hats", "kind"): Effect(NONE, "a line that bends at every knot", 'kind = "hats"'),
    ("hats", "bounds"): _BOUNDS,
    ("hats", "knots"): Effect(ENCODING, "where the model may bend", "knots = [0, 18, 65, 90]"),
    ("hats", "quantiles"): Effect(
        "none: knots are placed on public rows",
        "more knots follow more, and cost noise",
        "quantiles = 8",
    ),
    ("hats", "missing"): _MISSING,
    ("hats", "straight"): Effect(
        ENCODING,
        "beyond the outermost knots the model goes on in a straight line",
        "straight = true",
    ),
    ("hats", "texts"): _TEXTS,
    ("hats", "words"): _WORDS,
    ("one-hot", "kind"): Effect(NONE, "an effect of its own for each category", 'kind = "one-hot"'),
    ("one-hot", "categories"): Effect(
        "the list must be public; never take it from private rows",
        "categories that are not listed count as none; rare ones cost more noise than they tell",
        'categories = ["A", "B"]',
    ),
    ("ordinal", "kind"): Effect(NONE, "one straight line through the places", 'kind = "ordinal"'),
    ("ordinal", "categories"): Effect(
        "the order must be public",
        "one column instead of many: little noise, if the order is right",
        'categories = ["low", "middle", "high"]',
    ),
    ("date", "kind"): Effect(NONE, "an effect for each part of a date", 'kind = "date"'),
    ("date", "parts"): Effect(
        ENCODING,
        "month makes 12 columns, weekday 7, hour 24: each costs noise",
        'parts = ["year", "month"]',
    ),
    ("date", "years"): Effect(
        "years outside are clamped",
        "one straight line from the first to the last",
        "years = [2015, 2026]",
    ),
    ("date", "format"): Effect(
        ENCODING, "what is not written like this is refused", 'format = "%d.%m.%Y"'
    ),
    ("date", "texts"): _TEXTS,
    ("target", "column"): Effect(NONE, "what is predicted", 'column = "length_of_stay"'),
    ("target", "bounds"): Effect(
        "targets are clamped into it: the noise of unclipped losses grows with it",
        "targets outside count as the bound",
        "bounds = [0, 120]",
    ),
    ("target", "missing"): Effect(
        ENCODING,
        "records without a target pull towards it; without this key they are refused",
        "missing = 4.0",
    ),
    ("target", "rescale"): Effect(
        "sizes are declared for targets from −1 to 1",
        "none: predictions come back in the own unit",
        "rescale = false",
    ),
    ("target", "labels"): Effect(NONE, "the negative one first", 'labels = ["no", "yes"]'),
    ("target", "unit"): Effect(NONE, "none: for people", 'unit = "days"'),
    ("target", "label"): Effect(NONE, "none: for people", 'label = "length of stay"'),
    ("dictionary", "standardise"): Effect(
        'none, but the noise follows the size of x: "frequency" keeps records of categories small',
        "the largest lever beside the clip; treaty plan chooses it",
        'standardise = "frequency"',
    ),
    ("dictionary", "components"): Effect(
        "none: fitted on public rows", "fewer take less noise, and tell less", "components = 20"
    ),
    ("dictionary", "whiten"): Effect(
        "none: fitted on public rows", "steps go equally fast in all directions", "whiten = true"
    ),
    ("dictionary", "fourier"): Effect(
        "none: public random numbers",
        "curved models, at the cost of many columns",
        "fourier = {features = 200}",
    ),
    ("dictionary", "radius"): Effect(
        "records outside are scaled into the ball: declared sizes follow it",
        "too small distorts records",
        "radius = 3.0",
    ),
    ("dictionary", "radius_quantile"): Effect(
        "as radius", "the share of public rows that is left as it is", "radius_quantile = 0.95"
    ),
    ("dictionary", "norm"): Effect(
        "the norm of the ball: l1 goes with laplace, l2 with gaussian noise",
        "as radius",
        'norm = "l1"',
    ),
    ("dictionary", "intercept"): Effect(
        "counts as part of every x", "0 for a model without a constant", "intercept = 1.0"
    ),
    ("fourier", "features"): Effect(
        NONE, "more follow a kernel model more closely", "features = 200"
    ),
    ("fourier", "bandwidth"): Effect(
        "none: found on public rows if not given", "the width of the kernel", "bandwidth = 2.0"
    ),
    ("fourier", "seed"): Effect("none: the frequencies are public", NONE, "seed = 0"),
    ("loss", "name"): Effect(
        NONE, "squared and huber for numbers, logistic and hinge for labels", 'name = "squared"'
    ),
    ("loss", "parameters"): Effect(
        "may enter declared sizes", "as the loss says", "parameters = {delta = 0.5}"
    ),
    ("loss", "clip"): Effect(
        "bounds what one record can do to an answer: noise is proportional to it",
        "too low distorts, too high costs noise; treaty plan chooses it",
        "clip = 1.5",
    ),
    ("loss", "clip_norm"): Effect(
        "the norm of the clip; the mechanism's own is best",
        "a clip in the other norm costs noise",
        'clip_norm = "l1"',
    ),
    ("loss", "class_weights"): Effect(
        "a heavier label can do more to an answer: more noise, unless clipped",
        "rare labels count more",
        "class_weights = {fraud = 50}",
    ),
    ("loss", "ridge"): Effect(
        NONE, "pulls the model towards 0, steadies noisy steps", "ridge = 1e-4"
    ),
    ("loss", "theta_max"): Effect(
        "without a clip, declared sizes follow it",
        "a box that the best model should lie in",
        "theta_max = 5.0",
    ),
    ("training", "method"): Effect(
        "what is asked: gradients, or moments once",
        "blended-step is best where there are public rows",
        'method = "blended-step"',
    ),
    ("training", "horizon"): Effect(
        "every answer spends a share of the budget: noise is proportional to it (to its root with δ)",
        "too few rounds leave the optimisation unfinished, too many drown it",
        "horizon = 1",
    ),
    ("training", "parameters"): Effect(
        NONE, "step sizes; derived if not given", "parameters = {c1 = 0.1}"
    ),
    ("training", "mechanism"): Effect(
        "laplace: pure ε; gaussian: (ε, δ), with δ > 0 for every party",
        "gaussian costs less for many columns or rounds",
        'mechanism = "laplace"',
    ),
    ("training", "weights"): Effect(
        "none: weighing is done with what is public",
        '"precision" trusts those with little noise more',
        'weights = "precision"',
    ),
    ("training", "overlap"): Effect(
        "κ: a record may sit in so many datasets; everybody's budget is divided by it",
        "more noise",
        "overlap = 2",
    ),
    ("training", "blocs"): Effect(
        NONE,
        "owners that answer together have less noise (asynchronous only)",
        'blocs = [["A", "B"], ["C", "D"]]',
    ),
    ("training", "frequency_scaling"): Effect(
        NONE,
        "keeps owners that talk often from dominating (asynchronous only)",
        'frequency_scaling = "declared"',
    ),
    ("training", "start"): Effect(
        "none: public rows alone",
        '"tuned" begins at the best that public rows tell',
        'start = "tuned"',
    ),
    ("training", "axes"): Effect(
        "answers have so many numbers instead of one for every column, and less noise in each",
        "where noise decides, a few are better than all (blended-step with a clip only)",
        "axes = 5",
    ),
    ("parties", "name"): Effect(NONE, NONE, 'name = "North Hospital"'),
    ("parties", "records"): Effect(
        "public; noise is inversely proportional to it, and the owner checks it",
        "more records, less noise",
        "records = 7000",
    ),
    ("parties", "epsilon"): Effect(
        "ε over the whole training: the budget",
        "noise is inversely proportional to it",
        "epsilon = 1.0",
    ),
    ("parties", "delta"): Effect(
        "δ: with which probability the promise may fail; far below 1 over the number of people",
        "allows gaussian noise",
        "delta = 1e-6",
    ),
    ("parties", "answers"): Effect(
        "the budget is divided by it", "fewer, better answers (asynchronous only)", "answers = 20"
    ),
    ("parties", "rate"): Effect(
        NONE, "how often its clock ticks (asynchronous only)", "rate = 2.0"
    ),
    ("parties", "away"): Effect(
        NONE, "when it does not answer (asynchronous only)", "away = [[0, 5]]"
    ),
}


@dataclass(frozen=True)
class Key:
    """One key of a treaty.

    Args:
        table: the table it stands in, as it is written.
        name: its name.
        meaning: what it means.
        default: what holds if it is not written; None if it must be.
        effect: what it does.
    """

    table: str
    name: str
    meaning: str
    default: str | None
    effect: Effect


def keys() -> Iterator[Key]:
    """Return every key of a treaty, table by table."""
    for table, model in SECTIONS.items():
        meanings = _meanings(model)
        for name, field in model.model_fields.items():
            effect = EFFECTS[_short(table), name]
            meaning = meanings.get(name, "which kind of column it is")
            default = None if name == "kind" else _default(field)
            yield Key(table, name, meaning, default, effect)


def _short(table: str) -> str:
    """Return how a table is called in the list of effects."""
    kind = re.search(r'kind = "(.*)"', table)
    return kind[1] if kind else table.strip("[]").rpartition(".")[2]


def _meanings(model: type[Plain]) -> dict[str, str]:
    """Return what the docstring of a class says about its fields."""
    _, _, listed = (model.__doc__ or "").partition("Args:")
    found = re.findall(r"^        (\w+): (.*?)(?=^        \w|\Z)", listed, re.M | re.S)
    return {name: " ".join(words.split()) for name, words in found}


def _default(field: FieldInfo) -> str | None:
    default: Any = field.default
    if default is PydanticUndefined:
        return None
    if isinstance(default, Plain):
        return "all defaults"
    if default is None:
        return "not given"
    words = {True: "true", False: "false"}
    if isinstance(default, bool):
        return words[default]
    return f'"{default}"' if isinstance(default, str) else str(default).replace("()", "none")
