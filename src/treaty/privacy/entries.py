"""An entry of a ledger as plain data, to the last bit, and back."""

from typing import TYPE_CHECKING, Any

from treaty.errors import TreatyError
from treaty.logbook.doubles import packed, unpacked
from treaty.privacy.ledger import USUAL_QUESTION, Entry

if TYPE_CHECKING:  # dp-accounting takes a second to import
    from dp_accounting import DpEvent


def plain_entry(entry: Entry) -> dict[str, Any]:
    """Return an entry as plain data."""
    body = {
        "treaty": entry.treaty,
        "run": entry.run,
        "round": entry.round,
        "theta": packed(entry.theta),
        "answer": packed(entry.answer),
        "event": _plain_event(entry.event),
    }
    return body if entry.question == USUAL_QUESTION else {**body, "question": entry.question}


def read_entry(body: dict[str, Any]) -> Entry:
    """Return the entry that plain data is."""
    return Entry(
        body["treaty"],
        body["run"],
        body["round"],
        unpacked(body["theta"]),
        unpacked(body["answer"]),
        read_event(body["event"]),
        body.get("question", USUAL_QUESTION),
    )


def _plain_event(event: "DpEvent") -> dict[str, Any]:
    from dp_accounting import GaussianDpEvent, LaplaceDpEvent, NonPrivateDpEvent

    if isinstance(event, LaplaceDpEvent | GaussianDpEvent):
        return {"name": type(event).__name__, "noise_multiplier": float(event.noise_multiplier)}
    if isinstance(event, NonPrivateDpEvent):
        return {"name": "NonPrivateDpEvent"}
    raise TreatyError(f"the ledger has no words for a {type(event).__name__}")


def read_event(plain: dict[str, Any]) -> "DpEvent":
    """Parse what an answer released."""
    from dp_accounting import GaussianDpEvent, LaplaceDpEvent, NonPrivateDpEvent

    kinds = {"LaplaceDpEvent": LaplaceDpEvent, "GaussianDpEvent": GaussianDpEvent}
    if plain["name"] in kinds:
        return kinds[plain["name"]](plain["noise_multiplier"])
    if plain == {"name": "NonPrivateDpEvent"}:
        return NonPrivateDpEvent()
    raise TreatyError(f"the ledger holds an event that is not understood: {plain['name']!r:.60}")
