"""The two ways in which Treaty says no, each with one sentence for the person who reads it."""

from collections.abc import Iterable
from difflib import get_close_matches


class TreatyError(Exception):
    """Something asked for cannot be done; the message says what, and what would be right."""


class Refusal(TreatyError):
    """An owner declines to answer a query. A refusal costs no budget."""


def not_a_party(what: str, name: str, parties: Iterable[str]) -> str:
    """Return that somebody is not a party to a treaty, and who is.

    Args:
        what: what names them.
        name: who.
        parties: of the treaty.
    """
    there = list(parties)
    named = ", ".join(there[:5]) + (f" and {len(there) - 5} more" if len(there) > 5 else "")
    meant = nearest(name, there)
    return f"{what} names {name}, who is not a party to this treaty{meant}; there are {named}"


def nearest(name: str, there: Iterable[str]) -> str:
    """Return which name may have been meant, as the end of a sentence; nothing if none is like it.

    Example:
        >>> nearest("horizn", ["horizon", "method"])
        ' (did you mean "horizon"?)'
    """
    known = list(there)
    alike = {each.casefold(): each for each in known}
    found = alike.get(name.casefold()) or next(iter(get_close_matches(name, known, 1, 0.7)), None)
    return f' (did you mean "{found}"?)' if found else ""
