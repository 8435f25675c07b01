"""Who may say what where: the subjects of a federation on a NATS server.

Every party has a token made from its name. A learner L asks owner O on `treaty.query.L.O`; a stream
keeps the newest such query until the owner, if it is away, comes back, and hands it over on
`treaty.for.O`. The owner answers on `treaty.answer.L.O`. The server holds everybody to their own
subjects: whoever receives an answer knows from the subject whose it is.
"""

STREAM = "TREATY"
"""The stream that keeps queries."""
QUERIES = "treaty.query.*.*"


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


def lost(learner: str) -> str:
    """Where the server tells a learner that nobody keeps its queries. No owner has such a token."""
    return answer(learner, "server")


def asking(subject: str, owner: str) -> str | None:
    """Return the token of the learner if a subject is that of a query to this very owner."""
    return _between(subject, "treaty.query.", f".{owner}")


def calling(subject: str) -> str | None:
    """Return the token of the learner if a subject is that of a call."""
    return _between(subject, "treaty.call.", "")


def answering(subject: str, learner: str) -> str | None:
    """Return the token of the owner if a subject is that of an answer to this very learner."""
    return _between(subject, f"treaty.answer.{learner}.", "")


def getting_ready(subject: str, learner: str) -> str | None:
    """Return the token of the owner if a subject is that of being ready for this very learner."""
    return _between(subject, f"treaty.ready.{learner}.", "")


def _between(subject: str, begin: str, end: str) -> str | None:
    if not (subject.startswith(begin) and subject.endswith(end)):
        return None
    middle = subject[len(begin) : len(subject) - len(end)]
    return middle if middle and "." not in middle else None
