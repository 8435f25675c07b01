"""Channels within one process: for tests, and to see a federation without a network."""

import asyncio
from dataclasses import replace

from treaty.federation.channel import Hear, Letter, LetterKind, Say, Unsent
from treaty.terms.names import token


class Switchboard:
    """Carries letters between channels of one process. Queries are kept until their owner hears them."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str | None, str | None], Letter] = {}
        self._open: dict[tuple[str, LetterKind], list[MemoryChannel]] = {}
        self.carried: list[Letter] = []
        """Every letter that was sent, for tests to look at."""

    def channel(self, name: str, peers: tuple[str, ...]) -> "MemoryChannel":
        """Return a party's channel.

        Args:
            name: the party.
            peers: the names of those it may deal with.
        """
        return MemoryChannel(self, name, tuple(token(peer) for peer in peers))

    def carry(self, letter: Letter) -> None:
        """Hand a letter to whoever it is for."""
        self.carried.append(letter)
        to = {"query": letter.owner, "answer": letter.learner, "ready": letter.learner, "call": "*"}
        listening = self._open.get((str(to[letter.kind]), letter.kind), [])
        if letter.kind == "query" and not listening:
            self._kept[letter.learner, letter.owner] = letter
        for channel in listening:
            channel.take(letter)

    def listen(self, channel: "MemoryChannel", kinds: tuple[LetterKind, ...]) -> None:
        """Hand letters of these kinds to a channel from now on, and queries that waited for it."""
        for kind in kinds:
            to = "*" if kind == "call" else channel.token
            self._open.setdefault((to, kind), []).append(channel)
        if "query" in kinds:
            for key in [key for key in self._kept if key[1] == channel.token]:
                channel.take(self._kept.pop(key))

    def leave(self, channel: "MemoryChannel") -> None:
        """Hand nothing more to a channel."""
        for listening in self._open.values():
            if channel in listening:
                listening.remove(channel)


class MemoryChannel:
    """One party's channel on a switchboard.

    Args:
        board: the switchboard.
        name: the party.
        peers: the tokens of those it may deal with.
    """

    def __init__(self, board: Switchboard, name: str, peers: tuple[str, ...]) -> None:
        self._board = board
        self.name = name
        self.token = token(name)
        self.peers = peers
        self.label = f"{name}'s channel"
        self.cut = False
        """While it is cut, nothing gets out or in."""
        self._waiting: asyncio.Queue[Letter] = asyncio.Queue()
        self._hearing: asyncio.Task[None] | None = None

    async def open(self, hear: Hear, *, as_learner: bool, patience: float, say: Say) -> None:
        """Begin to hear what is sent to this party."""

        async def listen() -> None:
            while True:
                await hear(await self._waiting.get())

        self._hearing = asyncio.create_task(listen())
        self._board.listen(self, ("answer", "ready") if as_learner else ("query", "call"))

    async def send(self, letter: Letter) -> None:
        """Send a letter; in one's own name, whatever the letter says."""
        if self.cut:
            raise Unsent
        mine = (
            {"learner": self.token} if letter.kind in ("query", "call") else {"owner": self.token}
        )
        self._board.carry(replace(letter, **mine))
        await asyncio.sleep(0)

    def take(self, letter: Letter) -> None:
        """Put a letter where it is heard."""
        if not self.cut:
            self._waiting.put_nowait(letter)

    async def close(self) -> None:
        """Hear nothing more."""
        self._board.leave(self)
        if self._hearing is not None:
            self._hearing.cancel()
