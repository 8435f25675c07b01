"""Who may say what where: the subjects of a federation on a NATS server.

Every party has a token made from its name. A learner L asks owner O on `treaty.query.L.O`; a stream
keeps the newest such query until the owner, if it is away, comes back, and hands it over on
`treaty.for.O`. The owner answers on `treaty.answer.L.O`. The server holds everybody to their own
subjects: whoever receives an answer knows from the subject whose it is.
"""

import hashlib
import re

STREAM = "TREATY"
"""The stream that keeps queries."""
QUERIES = "treaty.query.*.*"


def token(name: str) -> str:
    """Return a party's name as one word of a subject: readable, and different for different names."""
    readable = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:24]
    return f"{readable}-{hashlib.sha256(name.encode()).hexdigest()[:10]}"


def query(learner: str, owner: str) -> str:
    """Where a learner asks an owner."""
    return f"treaty.query.{learner}.{owner}"


def delivery(owner: str) -> str:
    """Where an owner receives what it is asked."""
    return f"treaty.for.{owner}"


def answer(learner: str, owner: str) -> str:
    """Where an owner answers a learner, or refuses."""
    return f"treaty.answer.{learner}.{owner}"


def ready(learner: str, owner: str) -> str:
    """Where an owner tells a learner that it is ready to be asked."""
    return f"treaty.ready.{learner}.{owner}"


def call(learner: str) -> str:
    """Where a learner calls all owners."""
    return f"treaty.call.{learner}"


def learner_of(subject: str) -> str:
    """Return the token of the learner in a subject."""
    return subject.split(".")[2]


def owner_of(subject: str) -> str:
    """Return the token of the owner in a subject."""
    return subject.split(".")[3]
