"""A channel: how letters get from one party to another, whatever carries them.

What a channel promises: a letter comes from whom it says, or from nobody. A query is kept until its
owner hears it; of a learner's queries to an owner only the newest. Every other letter is lost where
nobody listens, and any letter may be lost on the way: whoever needs an answer asks again.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal, Protocol

LetterKind = Literal["query", "answer", "ready", "call"]
Say = Callable[[str], None]
"""Is told in words what happens, for a person to read."""


class Unsent(Exception):
    """A letter could not be sent now; the channel is coming back by itself."""


@dataclass(frozen=True)
class Letter:
    """Some bytes between a learner and an owner.

    Args:
        kind: a learner's query to an owner, an owner's answer to it, an owner that is ready to be asked,
            or a learner's call to all owners.
        learner: the token of the learner; None where nobody vouches for one.
        owner: the token of the owner; None for a call.
        data: the message.
        place: where it came in, for messages to people.
    """

    kind: LetterKind
    learner: str | None
    owner: str | None
    data: bytes
    place: str = ""


Hear = Callable[[Letter], Awaitable[None]]


class Channel(Protocol):
    """One party's way to the others."""

    @property
    def name(self) -> str:
        """The party whose channel it is."""
        ...

    @property
    def token(self) -> str:
        """Its word for machines; see `treaty.terms.names.token`."""
        ...

    @property
    def peers(self) -> tuple[str, ...]:
        """The tokens of those that it may be asked by, or may ask."""
        ...

    @property
    def label(self) -> str:
        """Where it comes from, for messages to people."""
        ...

    async def open(self, hear: Hear, *, as_learner: bool, patience: float, say: Say) -> None:
        """Begin to hear what is sent to this party; after a cut it comes back by itself.

        Args:
            hear: is handed every letter, one after the other.
            as_learner: whether it hears answers and who is ready, or, as an owner, queries and calls.
            patience: how many seconds to wait for the way to be open at first.
            say: is told when the way is cut and open again.

        Raises:
            TreatyError: it did not open.
        """
        ...

    async def send(self, letter: Letter) -> None:
        """Send a letter.

        Raises:
            Unsent: not now.
        """
        ...

    async def close(self) -> None:
        """Hear nothing more."""
        ...
