"""A party's channel over NATS: who a letter is from is what the server vouches for."""

import asyncio
import contextlib
import math

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from treaty.federation.channel import Hear, Letter, Say, Unsent
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

        async def on_answer(message: Msg) -> None:
            owner = subjects.answering(message.subject, me)
            await hear(Letter("answer", me, owner, message.data, message.subject))

        async def on_ready(message: Msg) -> None:
            owner = subjects.getting_ready(message.subject, me)
            await hear(Letter("ready", me, owner, message.data, message.subject))

        async def on_query(message: Msg) -> None:
            # Only a query's own subject says who asks, and whom.
            learner = subjects.asking(message.subject, me)
            await hear(Letter("query", learner, me, message.data, message.subject))

        async def on_call(message: Msg) -> None:
            learner = subjects.calling(message.subject)
            await hear(Letter("call", learner, None, message.data, message.subject))

        try:
            if as_learner:
                await connection.subscribe(subjects.answer(me, "*"), cb=on_answer)
                await connection.subscribe(subjects.lost(me), cb=self._on_lost)
                await connection.subscribe(subjects.ready(me, "*"), cb=on_ready)
            else:
                await connection.subscribe(subjects.call("*"), cb=on_call)
                await connection.subscribe(subjects.delivery(me), cb=on_query)
            await connection.flush()
        except NatsError:
            # A cut just now; what is subscribed to is subscribed to again when the connection is back.
            say("the connection is cut")

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
