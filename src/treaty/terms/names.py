"""Names: which ones a person could not tell apart, and what machines call a party."""

import hashlib
import re
import unicodedata
from collections.abc import Iterable

LEARNER = "learner"
"""The name of the central learner."""
_ALIKE = str.maketrans(
    # Cyrillic and Greek letters that look like Latin ones, and digits that look like letters.
    "аеорсхуіјѕһԁԛԝαοερνικτυχ01|",  # noqa: RUF001
    "aeopcxyijshdqwaoepviktuxoll",
)


def check_names(what: str, names: Iterable[str]) -> None:
    """Refuse names that begin or end with a blank, or of which two look alike.

    Args:
        what: what they are the names of, for the message.
        names: the names.
    """
    known: dict[str, str] = {}
    for name in names:
        if name != name.strip():
            raise ValueError(f'the {what} "{name}" begins or ends with a blank')
        other = known.setdefault(appearance(name), name)
        if other != name:
            raise ValueError(
                f'the {what} names "{other}" and "{name}" look alike: nobody could tell them apart'
            )


def appearance(name: str) -> str:
    """Return what a name looks like: alike for names that differ in case, blanks, accents or script."""
    plain = unicodedata.normalize("NFKD", name)
    plain = "".join(c for c in plain if not unicodedata.combining(c)).casefold()
    dashes = (("-" if unicodedata.category(c) == "Pd" else c) for c in plain.translate(_ALIKE))
    return "".join(c for c in dashes if unicodedata.category(c) not in ("Zs", "Cf"))


def token(name: str) -> str:
    """Return a party's name as one word for machines: readable, and different for different names."""
    readable = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:24]
    return f"{readable}-{hashlib.sha256(name.encode()).hexdigest()[:10]}"
