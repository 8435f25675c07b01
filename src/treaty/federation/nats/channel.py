"""A party's channel over NATS: who a letter is from is what the server vouches for."""

import asyncio
import contextlib
import math
from collections.abc import Awaitable, Callable

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from treaty.federation.channel import Hear, Letter, LetterKind, Say, Unsent
from treaty.federation.nats import subjects
from treaty.federation.nats.authority import Credential
from treaty.federation.nats.connection import connect

SAID_AGAIN = 5.0
"""Seconds after which it is said again that the server keeps no queries."""


class NatsChannel:
    """A party's channel.

    Args:
        credential: who it is, and where the server is.
    """

    def __init__(self, credential: Credential) -> None:
        self._credential = credential
        self.name = credential.name
        self.token = credential.token
        self.peers = credential.learners
        self.label = str(credential.folder)
        self._connection: Client | None = None
        self._say: Say = lambda text: None
        self._lost_said = -math.inf

    async def open(self, hear: Hear, *, as_learner: bool, patience: float, say: Say) -> None:
        """Connect, and subscribe to what is sent to this party."""
        self._say, me = say, self.token
        connection = await connect(self._credential, patience=patience, say=say)
        self._connection = connection

        def hand_over(kind: LetterKind) -> Callable[[Msg], Awaitable[None]]:
            async def on_message(message: Msg) -> None:
                await hear(self.letter(kind, message))

            return on_message

        try:
            if as_learner:
                await connection.subscribe(subjects.answer(me, "*"), cb=hand_over("answer"))
                await connection.subscribe(subjects.lost(me), cb=self._on_lost)
                await connection.subscribe(subjects.ready(me, "*"), cb=hand_over("ready"))
            else:
                await connection.subscribe(subjects.call("*"), cb=hand_over("call"))
                await connection.subscribe(subjects.delivery(me), cb=hand_over("query"))
            await connection.flush()
        except NatsError:
            # A cut just now; what is subscribed to is subscribed to again when the connection is back.
            say("the connection is cut")

    def letter(self, kind: LetterKind, message: Msg) -> Letter:
        """Return a message as a letter: only its subject says who sent it, and to whom."""
        me, subject, data = self.token, message.subject, message.data
        if kind == "query":
            return Letter(kind, subjects.asking(subject, me), me, data, subject)
        if kind == "call":
            return Letter(kind, subjects.calling(subject), None, data, subject)
        of = subjects.answering if kind == "answer" else subjects.getting_ready
        return Letter(kind, me, of(subject, me), data, subject)

    async def send(self, letter: Letter) -> None:
        """Publish a letter on the subject that is this party's to speak on."""
        assert self._connection is not None
        me, reply = self.token, ""
        if letter.kind == "query":
            subject = subjects.query(me, str(letter.owner))
            # Nobody replies there but the server, and only if no stream keeps the query.
            reply = subjects.lost(me)
        elif letter.kind == "call":
            subject = subjects.call(me)
        elif letter.kind == "answer":
            subject = subjects.answer(str(letter.learner), me)
        else:
            subject = subjects.ready(str(letter.learner), me)
        try:
            await self._connection.publish(subject, letter.data, reply=reply)
        except NatsError as error:
            raise Unsent(type(error).__name__) from error

    async def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            with contextlib.suppress(NatsError):
                await self._connection.close()

    async def _on_lost(self, message: Msg) -> None:
        """The server says that nobody keeps a query; only it can speak on this subject."""
        now = asyncio.get_running_loop().time()
        if now - self._lost_said >= SAID_AGAIN:
            self._lost_said = now
            self._say(
                "the server has lost the stream that keeps queries, so that nobody hears them: "
                "whoever runs it can make it again with treaty federation prepare"
            )
