"""The owner's agent: dials out, receives what it is asked, answers within the budget, or refuses.

Nothing listens here and no code of a learner's runs here. For each query, in this order: the records are
checked, the answer is committed to the ledger together with what it spends, and it leaves. Killed at any
point, the agent goes on from the ledger: a learner without an answer asks again, and gets the stored
one.
"""

import asyncio
import contextlib
import math
import random
from datetime import UTC, datetime, timedelta

from treaty.errors import Refusal, TreatyError
from treaty.federation import messages
from treaty.federation.channel import Channel, Letter, Say, Unsent
from treaty.federation.messages import Answer, Call, Malformed, Query, Ready, Refused
from treaty.federation.refusals import Refusals
from treaty.logbook import Unwritable
from treaty.owner import Home, OpenHome


class Agent:
    """Answers for one owner until it is stopped.

    Args:
        home: the owner's folder.
        channel: its way to the learners.
        say: is told in words what happens.
    """

    def __init__(self, home: Home, channel: Channel, *, say: Say | None = None) -> None:
        self._home: OpenHome = home.open()
        if channel.name != self._home.name:
            self._home.close()
            raise TreatyError(
                f"the credential is {channel.name}'s, and {home.folder} is {self._home.name}'s"
            )
        self._channel = channel
        self._say: Say = say or (lambda text: None)
        self._stopped = asyncio.Event()
        self._failure: Exception | None = None
        self._refusals = Refusals()
        self._said_unwritable = ""
        self._recent = 0
        self._count_again = datetime.min.replace(tzinfo=UTC)
        self._open: dict[tuple[str, str], str] = {}
        self._ticking: dict[tuple[str, str], asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Work until stopped.

        Raises:
            TreatyError: the records have changed, or the server was not reached at all.
        """
        opening = asyncio.ensure_future(
            self._channel.open(self._hear, as_learner=False, patience=math.inf, say=self._say)
        )
        stopping = asyncio.ensure_future(self._stopped.wait())
        try:
            await asyncio.wait({opening, stopping}, return_when=asyncio.FIRST_COMPLETED)
            stopping.cancel()
            if opening.done():
                await opening
                self._say("ready")
                await self._stopped.wait()
            else:
                opening.cancel()
                await asyncio.wait({opening})
        finally:
            for task in self._ticking.values():
                task.cancel()
            await self._channel.close()
            self._home.close()
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """Stop working after what is being done."""
        self._stopped.set()

    async def _hear(self, letter: Letter) -> None:
        if letter.kind == "query":
            await self._on_query(letter)
        elif letter.kind == "call":
            try:
                self._on_call(letter)
            except Unwritable as error:
                self._wait_for_room(error)

    def _wait_for_room(self, error: Unwritable) -> None:
        """Say once that the ledger cannot be written; whoever asks will ask again."""
        if str(error) != self._said_unwritable:
            self._said_unwritable = str(error)
            self._say(f"{error}; nothing is answered until it can be")

    async def _on_query(self, letter: Letter) -> None:
        if self._stopped.is_set():
            return
        try:
            await self._answered(letter)
        except Unwritable as error:
            self._wait_for_room(error)
        except Exception as error:
            self._failure = error
            self.stop()

    async def _answered(self, letter: Letter) -> None:
        learner = letter.learner
        if learner is None or learner not in self._channel.peers:
            # Nobody vouches for who asks.
            what = f"a message on {letter.place!r:.100} is no query to this owner"
            self._write_refusal({"learner": "nobody", "reason": what})
            return
        wait = self._wait()
        if wait > 0:
            # The learner will ask again.
            self._say(f"not now: the policy allows no answer for {wait:,.0f} s")
            return
        reply = self.answer(learner, letter.data)
        if self._said_unwritable:
            self._said_unwritable = ""
            self._say("the ledger can be written again")
        if reply is not None:
            await self._send(learner, reply)
        if isinstance(reply, Answer) and self._open.get((learner, reply.treaty)) == reply.run:
            self._soon(learner, Ready(reply.treaty, reply.run, 0))

    def answer(self, learner: str, data: bytes) -> Answer | Refused | None:
        """Answer the bytes of a query, or refuse; None where there is nobody to refuse to.

        Args:
            learner: the token of who asks, as the server vouches for it.
            data: the message.

        Raises:
            TreatyError: the records have changed: nothing may be answered any more.
        """
        try:
            query = messages.decode(data)
            if not isinstance(query, Query):
                raise Malformed(f"a {messages.kind_of(query)} is not a query")
        except Malformed as error:
            self._write_refusal({"learner": learner, "reason": str(error)})
            return None
        self._home.check_records()
        try:
            owner = self._home.owner(query.treaty, learner)
            given = owner.answer(query)
        except Refusal as error:
            self._write_refusal(
                {
                    "learner": learner,
                    "treaty": query.treaty,
                    "run": query.run,
                    "round": query.round,
                    "reason": str(error),
                }
            )
            reason = str(error).encode()[:500].decode(errors="ignore")
            return Refused(query.treaty, query.run, query.round, reason)
        self._recent += 1
        return Answer(query.treaty, query.run, query.round, given)

    def _wait(self) -> float:
        """For how many seconds the policy allows no answer; the ledger is counted once a second."""
        now = datetime.now(UTC)
        if now >= self._count_again:
            self._recent = self._home.ledger.answers_since(now - timedelta(hours=1))
            self._count_again = now + timedelta(seconds=1)
        return self._home.policy.wait(self._recent, now)

    def _write_refusal(self, what: dict[str, object]) -> None:
        written = self._refusals.counted(what, datetime.now(UTC))
        if written is not None:
            self._say(f"refused: {written['reason']}")
            self._home.ledger.refused(written)

    async def _send(self, learner: str, reply: Answer | Refused) -> None:
        letter = Letter("answer", learner, self._channel.token, messages.encode(reply))
        try:
            await self._channel.send(letter)
        except Unsent as error:
            # What was answered is in the ledger; the learner will ask again and get it.
            self._say(f"not sent ({error})")

    def _on_call(self, letter: Letter) -> None:
        """Somebody calls: say, after a while of one's own, that one is ready, if one is."""
        learner = letter.learner
        try:
            call = messages.decode(letter.data)
        except Malformed:
            return
        if learner is None or learner not in self._channel.peers or not isinstance(call, Call):
            return
        if not self._willing(learner, call):
            return
        if call.meeting == "request":
            self._open[learner, call.treaty] = call.run
        self._soon(learner, Ready(call.treaty, call.run, call.round))

    def _willing(self, learner: str, call: Call) -> bool:
        ledger = self._home.ledger
        grant = ledger.granted(call.treaty)
        if grant is None or grant.revoked or ledger.answers_given(call.treaty) >= grant.answers:
            return False
        try:
            self._home.owner(call.treaty, learner)
        except TreatyError:
            return False
        return self._wait() == 0

    def _soon(self, learner: str, ready: Ready) -> None:
        """Let one's Poisson clock tick, then say that one is ready; one clock for each learner."""
        key = (learner, ready.treaty)
        if key in self._ticking and not self._ticking[key].done():
            self._ticking[key].cancel()
        rate = self._home.rate(ready.treaty) / self._home.policy.mean_pause

        async def tick() -> None:
            await asyncio.sleep(random.expovariate(rate))
            letter = Letter("ready", learner, self._channel.token, messages.encode(ready))
            with contextlib.suppress(Unsent):
                await self._channel.send(letter)

        self._ticking[key] = asyncio.ensure_future(tick())
