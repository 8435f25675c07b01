"""The learner's side: asks owners over the network what its learner wants to know, and never forgets.

The driver and its learner are the very ones that train in a process and in simulations. Here questions
and answers are carried over a channel, through cuts, crashes and repetitions.
"""

import asyncio
import itertools
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.federation import messages
from treaty.federation.channel import Channel, Letter, LetterKind, Say, Unsent
from treaty.federation.journal import Journal, Round
from treaty.federation.messages import Answer, Call, Malformed, Meeting, Ready, Refused
from treaty.logbook import Unwritable
from treaty.owner import Query
from treaty.plans import Bloc, Driver
from treaty.terms.names import token

PATIENCE = 2.0
"""Seconds after which an unanswered question is put again; owners answer it only once."""
SILENCE = 5.0
"""Seconds without an answer after which that is said."""
OPENING = 20.0
"""Seconds to wait for the channel at first."""
UNBELIEVABLE = 1e-12
"""An honest owner's answer is refused with less than this probability."""


@dataclass(frozen=True)
class Manner:
    """How a learner deals with owners.

    Args:
        meeting: for asynchronous methods: with "broadcast" the learner announces every round; with
            "request" it announces the run, and owners say after each answer when they are ready.
        quorum: for synchronous methods: with how many answers a round may end after the deadline;
            None waits for everybody.
        deadline: seconds that a synchronous round waits for everybody before a quorum is enough, and
            an asynchronous one for its owner before it is given to another.
        patience: seconds after which a question is put again.
    """

    meeting: Meeting = "broadcast"
    quorum: int | None = None
    deadline: float = 60.0
    patience: float = PATIENCE


@dataclass
class Snapshot:
    """What a training looks like while it goes on.

    Args:
        round: the round it is in.
        rounds: how many there are.
        given: answers by owner.
        waiting: the owners whose answers are awaited.
        model: the model so far.
    """

    round: int
    rounds: int
    given: dict[str, int]
    waiting: tuple[str, ...]
    model: FloatArray


Watch = Callable[[Snapshot], None]


@dataclass(frozen=True, eq=False)
class Ending:
    """What a training over the network came to.

    Args:
        theta: the model.
        given: how many answers each owner has given.
        ended_early: whether owners ran out of answers before the last round.
    """

    theta: FloatArray
    given: dict[str, int]
    ended_early: bool


@dataclass(eq=False)
class _Awaited:
    """One round's answers as they come in."""

    round: int
    owners: set[int]
    answers: dict[int, tuple[float, ...]] = field(default_factory=dict[int, tuple[float, ...]])
    refusals: dict[int, str] = field(default_factory=dict[int, str])
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def missing(self) -> set[int]:
        return self.owners - self.answers.keys() - self.refusals.keys()


class Conductor:
    """Drives one learner over a federation to its end; after a crash, from where it was.

    Args:
        treaty: under what it asks.
        driver: of its plan, without a run axis.
        channel: its way to the owners.
        journal: where everything heard is kept.
        manner: how it deals with owners.
        watch: is shown the progress after every round.
        say: is told in words what happens.
    """

    def __init__(
        self,
        treaty: str,
        driver: Driver,
        channel: Channel,
        journal: Journal,
        *,
        manner: Manner | None = None,
        watch: Watch | None = None,
        say: Say | None = None,
    ) -> None:
        plan = driver.plan
        self._treaty, self._driver, self._plan = treaty, driver, plan
        self._channel, self._journal = channel, journal
        self._manner = manner or Manner()
        self._watch: Watch = watch or (lambda progress: None)
        self._say: Say = say or (lambda text: None)
        self._tokens = [token(party.name) for party in plan.parties]
        self._index = {token: i for i, token in enumerate(self._tokens)}
        self._given = [0] * len(plan.parties)
        self._awaited: _Awaited | None = None
        self._ready: dict[int, int] = {}
        self._order = itertools.count()
        self._refusals: dict[int, str] = {}
        self._largest = [release.reach(UNBELIEVABLE) for release in plan.releases]
        self._late: dict[int, float] = {}
        self._called = -math.inf
        self._somebody = asyncio.Event()
        quorum = self._manner.quorum
        if quorum is not None and not 1 <= quorum <= len(plan.parties):
            raise TreatyError(
                f"`quorum` must be between 1 and {len(plan.parties)} owners, not {quorum}"
            )
        if quorum is not None and plan.learner_class.needs_everybody:
            raise TreatyError(f"{plan.method} needs everybody's answer: leave `quorum` out")
        unable = [t for t in self._tokens if t not in channel.peers]
        if unable:
            name = plan.parties[self._tokens.index(unable[0])].name
            raise TreatyError(f"{name} is not in this federation: {channel.label} does not know it")

    async def run(self) -> Ending:
        """Train to the end.

        Raises:
            TreatyError: an owner refuses and the round cannot do without it, or there is no server.
        """
        self._replay()
        if self._driver.learner.finished:
            self._say(
                f"This run was over before: its model is read from {self._journal.path} once more, with "
                "the public rows of this command, and nobody is asked."
            )
            return self._ending(False)
        try:
            await self._channel.open(self._hear, as_learner=True, patience=OPENING, say=self._say)
            for _ in self._driver.rounds():
                index = await self._meeting()
                if index is None:
                    return self._ending(True)
                await self._round(index)
        finally:
            await self._channel.close()
        return self._ending(False)

    def _ending(self, early: bool) -> Ending:
        names = [party.name for party in self._plan.parties]
        return Ending(self._driver.model, dict(zip(names, self._given, strict=True)), early)

    def _replay(self) -> None:
        """Tell the learner everything the journal holds."""
        for past in self._journal.rounds():
            if past.number != self._driver.round:
                raise TreatyError(f"{self._journal.path}: round {self._driver.round} is missing")
            self._check_past(past)
            self._driver.ask(past.bloc)
            self._tell(past)

    def _check_past(self, past: Round) -> None:
        """Refuse a round of the journal that this learner cannot have had."""
        blocs = self._driver.blocs
        sound = 0 <= past.bloc < len(blocs) and past.answers
        if not sound or not past.answers.keys() <= set(blocs[past.bloc].members):
            raise TreatyError(f"{self._journal.path}: round {past.number} is with nobody")
        for values in past.answers.values():
            if not self._is_vector(values):
                raise TreatyError(f"{self._journal.path}: round {past.number} holds no answer")

    def _is_vector(self, values: tuple[float, ...]) -> bool:
        """Whether numbers can be an answer at all: as many as were asked for, and finite."""
        length = self._plan.releases[0].length
        return len(values) == length and all(math.isfinite(value) for value in values)

    def _tell(self, past: Round) -> None:
        for owner in past.answers:
            self._given[owner] += 1
        self._driver.tell(past.bloc, past.answers)

    async def _round(self, index: int) -> None:
        """Ask one bloc, wait, write down what it said, and tell the learner."""
        driver, number = self._driver, self._driver.round
        question = driver.ask(index)
        query = messages.encode(Query.of(self._treaty, self._journal.run, number, question))
        awaited = _Awaited(number, set(driver.blocs[index].members))
        synchronous = self._plan.synchronous
        self._awaited = awaited
        loop = asyncio.get_running_loop()
        began = said = loop.time()
        asked = -math.inf
        while awaited.missing:
            if loop.time() - asked >= self._manner.patience:
                asked = loop.time()
                for owner in awaited.missing:
                    await self._send("query", query, self._tokens[owner])
                self._show(awaited)
            if loop.time() - said >= SILENCE:
                said = loop.time()
                self._say(
                    f"no answer from {self._names(awaited.missing)} for {said - began:,.0f} s: is the "
                    "agent running, and is there room for queries on the server's disk?"
                )
            awaited.changed.clear()
            if awaited.missing:
                left = began + self._manner.deadline - loop.time()
                wait = min(self._manner.patience, SILENCE)
                await _within(awaited.changed.wait(), min(left, wait) if left > 0 else wait)
            waited = loop.time() - began
            if self._enough(awaited, waited) or self._hopeless(awaited):
                break
            if awaited.missing and not synchronous and waited >= self._manner.deadline:
                await self._give_up(awaited, loop.time())
                return
        if awaited.refusals and not synchronous:
            self._refusals |= awaited.refusals
            await self._give_up(awaited, loop.time())
            return
        self._check_refusals(awaited)
        self._awaited = None
        past = Round(number, index, dict(awaited.answers))
        await self._kept(lambda: self._journal.hear(past))
        self._tell(past)
        self._show(None)

    async def _kept(self, write: Callable[[], None]) -> None:
        """Write into the journal; without room on the disk, wait for it."""
        said = ""
        while True:
            try:
                return write()
            except Unwritable as error:
                if str(error) != said:
                    said = str(error)
                    self._say(f"{said}; waiting for room")
            await asyncio.sleep(min(1.0, self._manner.patience))

    async def _give_up(self, awaited: _Awaited, now: float) -> None:
        """Leave an asynchronous round to somebody else; who was late is left alone for a while."""
        self._awaited = None
        await self._kept(lambda: self._journal.part(awaited.round))
        for owner in awaited.missing:
            self._late[owner] = now + 10 * self._manner.deadline
        names = self._names(awaited.owners)
        self._say(f"round {awaited.round} goes to somebody else than {names}")

    def _names(self, owners: set[int]) -> str:
        return ", ".join(self._plan.parties[i].name for i in sorted(owners))

    def _enough(self, awaited: _Awaited, waited: float) -> bool:
        quorum = self._manner.quorum
        if quorum is None or not self._plan.synchronous:
            return False
        return waited >= self._manner.deadline and len(awaited.answers) >= quorum

    def _hopeless(self, awaited: _Awaited) -> bool:
        """Whether so many refuse that a synchronous round cannot end well, whatever others answer."""
        if not self._plan.synchronous or not awaited.refusals:
            return False
        willing = len(awaited.owners) - len(awaited.refusals)
        return willing < (self._manner.quorum or len(awaited.owners))

    def _check_refusals(self, awaited: _Awaited) -> None:
        quorum = self._manner.quorum
        if not awaited.refusals:
            return
        if quorum is not None and self._plan.synchronous and len(awaited.answers) >= quorum:
            return
        owner, reason = next(iter(awaited.refusals.items()))
        raise TreatyError(
            f"{self._plan.parties[owner].name} refuses round {awaited.round}: {reason}"
        )

    async def _meeting(self) -> int | None:
        """Return whom the next round is with; None when nobody has an answer left."""
        if self._plan.synchronous:
            return 0
        number = self._driver.round
        settled = self._journal.met(number)
        if settled is not None:
            return settled
        index = await self._first_ready()
        if index is not None:
            await self._kept(lambda: self._journal.meet(number, index))
        return index

    async def _first_ready(self) -> int | None:
        """Wait for the first bloc whose members are all ready."""
        by_call = self._manner.meeting == "broadcast"
        number = self._driver.round if by_call else 0
        if by_call:
            self._ready.clear()
        call = messages.encode(Call(self._treaty, self._journal.run, number, self._manner.meeting))
        now = asyncio.get_running_loop().time
        if by_call:
            self._called = -math.inf
        began = now()
        while True:
            self._somebody.clear()
            if not any(self._has_answers(bloc) for bloc in self._driver.blocs):
                if self._refusals:
                    owner, reason = next(iter(self._refusals.items()))
                    raise TreatyError(f"{self._plan.parties[owner].name} refuses: {reason}")
                return None
            if now() - began >= SILENCE:
                began = now()
                self._say(
                    "nobody is ready: have the owners ratified, and are their agents running?"
                )
            ready = sorted(
                (max(self._ready[i] for i in bloc.members), index)
                for index, bloc in enumerate(self._driver.blocs)
                if self._has_answers(bloc)
                and all(i in self._ready for i in bloc.members)
                and all(self._late.get(i, 0.0) <= now() for i in bloc.members)
            )
            if now() - self._called >= self._manner.patience:
                # Called again and again: who came late or was not heard is heard then.
                self._called = now()
                await self._send("call", call, None)
            if ready:
                index = ready[0][1]
                for member in self._driver.blocs[index].members:
                    del self._ready[member]
                return index
            await _within(self._somebody.wait(), self._manner.patience)

    def _has_answers(self, bloc: Bloc) -> bool:
        parties = self._plan.parties
        return all(
            i not in self._refusals and self._given[i] < self._plan.answers(parties[i])
            for i in bloc.members
        )

    async def _send(self, kind: LetterKind, data: bytes, owner: str | None) -> None:
        try:
            await self._channel.send(Letter(kind, self._channel.token, owner, data))
        except Unsent as error:
            # The channel is coming back; the question will be put again.
            self._say(f"not sent ({error})")

    async def _hear(self, letter: Letter) -> None:
        """Take an answer to what is being asked, or that somebody is ready; all else is dropped."""
        owner = None if letter.owner is None else self._index.get(letter.owner)
        if owner is None:
            return
        if letter.kind == "answer":
            self._on_answer(owner, letter.data)
        elif letter.kind == "ready" and not self._plan.synchronous:
            self._on_ready(owner, letter.data)

    def _on_answer(self, owner: int, data: bytes) -> None:
        awaited = self._awaited
        if awaited is None or owner not in awaited.missing:
            return
        try:
            reply = messages.decode(data)
        except Malformed as error:
            self._say(f"{self._plan.parties[owner].name} sent what is no message: {error}")
            return
        if not isinstance(reply, Answer | Refused):
            return
        asked = (self._treaty, self._journal.run, awaited.round)
        if (reply.treaty, reply.run, reply.round) != asked:
            return
        if isinstance(reply, Refused):
            awaited.refusals[owner] = reply.reason
            self._say(f"{self._plan.parties[owner].name} refuses: {reply.reason}")
        elif not self._is_vector(reply.values):
            self._say(f"{self._plan.parties[owner].name} sent what is no answer to the question")
            return
        elif (most := max(abs(value) for value in reply.values)) > self._largest[owner]:
            reason = (
                f"its answer of size {most:.3g} is none: bound and noise allow an honest owner at most "
                f"{self._largest[owner]:.3g}"
            )
            awaited.refusals[owner] = reason
            self._say(f"{self._plan.parties[owner].name} is refused: {reason}")
        else:
            awaited.answers[owner] = reply.values
        awaited.changed.set()

    def _on_ready(self, owner: int, data: bytes) -> None:
        try:
            ready = messages.decode(data)
        except Malformed:
            return
        if not isinstance(ready, Ready):
            return
        number = self._driver.round if self._manner.meeting == "broadcast" else 0
        if (ready.treaty, ready.run) != (self._treaty, self._journal.run):
            return
        if ready.round != number:
            return
        self._ready.setdefault(owner, next(self._order))
        self._somebody.set()

    def _show(self, awaited: _Awaited | None) -> None:
        names = [party.name for party in self._plan.parties]
        self._watch(
            Snapshot(
                round=self._driver.round,
                rounds=self._driver.learner.rounds,
                given=dict(zip(names, self._given, strict=True)),
                waiting=() if awaited is None else tuple(names[i] for i in sorted(awaited.missing)),
                model=self._driver.model,
            )
        )


async def _within(waiting: Awaitable[object], seconds: float) -> None:
    try:
        await asyncio.wait_for(waiting, seconds)
    except TimeoutError:
        return
