"""The learner's side: asks owners over the network what its learner wants to know, and never forgets.

The learner object is the very one that trains in a process and in simulations. Here a driver carries its
questions to the owners and their answers back, through cuts, crashes and repetitions.
"""

import asyncio
import itertools
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import numpy as np
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.federation import messages, subjects
from treaty.federation.authority import Credential
from treaty.federation.connection import Told, connect
from treaty.federation.journal import Journal, Round
from treaty.federation.messages import Answer, Call, Malformed, Meeting, Query, Ready, Refused
from treaty.learners import Bloc, Learner, Plan, blocs_of
from treaty.logbook import Unwritable

PATIENCE = 2.0
"""Seconds after which an unanswered question is put again; owners answer it only once."""
SILENCE = 5.0
"""Seconds without an answer after which that is said."""
UNBELIEVABLE = 1e-12
"""An honest owner's answer is refused with less than this probability."""


@dataclass(frozen=True)
class Manner:
    """How a learner deals with owners.

    Args:
        meeting: for asynchronous methods: whether it calls for every round, or owners request.
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
class Progress:
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


Watch = Callable[[Progress], None]


@dataclass(frozen=True, eq=False)
class Outcome:
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
        plan: its plan.
        learner: a new learner, without a run axis.
        credential: who asks.
        journal: where everything heard is kept.
        manner: how it deals with owners.
        watch: is shown the progress after every round.
        told: is told in words what happens.
    """

    def __init__(
        self,
        treaty: str,
        plan: Plan,
        learner: Learner,
        credential: Credential,
        journal: Journal,
        *,
        manner: Manner | None = None,
        watch: Watch | None = None,
        told: Told | None = None,
    ) -> None:
        self._treaty, self._plan, self._learner = treaty, plan, learner
        self._credential, self._journal = credential, journal
        self._manner = manner or Manner()
        self._watch: Watch = watch or (lambda progress: None)
        self._told: Told = told or (lambda text: None)
        self._blocs = blocs_of(plan, synchronous=learner.synchronous)
        self._tokens = [subjects.token(party.name) for party in plan.parties]
        self._index = {token: i for i, token in enumerate(self._tokens)}
        self._given = [0] * len(plan.parties)
        self._awaited: _Awaited | None = None
        self._ready: dict[int, int] = {}
        self._order = itertools.count()
        self._refusals: dict[int, str] = {}
        self._largest = [_largest_answer(plan, scale) for scale in plan.scales]
        self._lost_said = -math.inf
        self._late: dict[int, float] = {}
        self._called = -math.inf
        self._somebody = asyncio.Event()
        quorum = self._manner.quorum
        if quorum is not None and not 1 <= quorum <= len(plan.parties):
            raise TreatyError(
                f"--quorum must be between 1 and {len(plan.parties)} owners, not {quorum}"
            )
        unable = [t for t in self._tokens if t not in credential.learners]
        if unable:
            name = plan.parties[self._tokens.index(unable[0])].name
            raise TreatyError(
                f"{name} is not in this federation: {credential.folder} does not know it"
            )

    async def run(self) -> Outcome:
        """Train to the end.

        Raises:
            TreatyError: an owner refuses and the round cannot do without it, or there is no server.
        """
        self._replay()
        learner = self._learner
        if learner.finished:
            return self._outcome(False)
        me = self._credential.token
        connection = await connect(self._credential, told=self._told)
        try:
            await connection.subscribe(subjects.answer(me, "*"), cb=self._on_answer)
            await connection.subscribe(subjects.lost(me), cb=self._on_lost)
            if not learner.synchronous:
                await connection.subscribe(subjects.ready(me, "*"), cb=self._on_ready)
            await connection.flush()
            while not learner.finished:
                index = await self._meeting(connection)
                if index is None:
                    return self._outcome(True)
                await self._round(connection, index)
        finally:
            await connection.close()
        return self._outcome(False)

    def _outcome(self, early: bool) -> Outcome:
        names = [party.name for party in self._plan.parties]
        return Outcome(self._learner.model, dict(zip(names, self._given, strict=True)), early)

    def _replay(self) -> None:
        """Tell the learner everything the journal holds."""
        for past in self._journal.rounds():
            if past.number != self._learner.round:
                raise TreatyError(f"{self._journal.path}: round {self._learner.round} is missing")
            self._check_past(past)
            self._learner.ask(past.bloc)
            self._tell(past)

    def _check_past(self, past: Round) -> None:
        """Refuse a round of the journal that this learner cannot have had."""
        dimension = self._plan.problem.dimension
        sound = 0 <= past.bloc < len(self._blocs) and past.answers
        if not sound or not past.answers.keys() <= set(self._blocs[past.bloc].members):
            raise TreatyError(f"{self._journal.path}: round {past.number} is with nobody")
        for values in past.answers.values():
            if len(values) != dimension or not all(math.isfinite(value) for value in values):
                raise TreatyError(f"{self._journal.path}: round {past.number} holds no gradient")

    def _tell(self, past: Round) -> None:
        bloc = self._blocs[past.bloc]
        for owner in past.answers:
            self._given[owner] += 1
        self._learner.tell(past.bloc, mean_answer(bloc, past.answers))

    async def _round(self, connection: Client, index: int) -> None:
        """Ask one bloc, wait, write down what it said, and tell the learner."""
        bloc, learner = self._blocs[index], self._learner
        theta = tuple(float(value) for value in learner.ask(index))
        query = messages.encode(Query(self._treaty, self._journal.run, learner.round, theta))
        awaited = _Awaited(learner.round, set(bloc.members))
        self._awaited = awaited
        loop = asyncio.get_running_loop()
        began = said = loop.time()
        asked = -math.inf
        while awaited.missing:
            if loop.time() - asked >= self._manner.patience:
                asked = loop.time()
                me = self._credential.token
                for owner in awaited.missing:
                    subject = subjects.query(me, self._tokens[owner])
                    # Nobody replies there but the server, and only if no stream keeps the query.
                    await self._publish(connection, subject, query, reply=subjects.lost(me))
                self._show(awaited)
            if loop.time() - said >= SILENCE:
                said = loop.time()
                self._told(
                    f"no answer from {self._names(awaited.missing)} for {said - began:,.0f} s: is the "
                    "agent running, and is there room for queries on the server's disk?"
                )
            awaited.changed.clear()
            if awaited.missing:
                left = began + self._manner.deadline - loop.time()
                wait = min(self._manner.patience, SILENCE)
                await _within(awaited.changed.wait(), min(left, wait) if left > 0 else wait)
            waited = loop.time() - began
            if self._enough(awaited, waited):
                break
            if awaited.missing and not learner.synchronous and waited >= self._manner.deadline:
                await self._give_up(awaited, loop.time())
                return
        if awaited.refusals and not learner.synchronous:
            self._refusals |= awaited.refusals
            await self._give_up(awaited, loop.time())
            return
        self._check_refusals(awaited)
        self._awaited = None
        past = Round(learner.round, index, dict(awaited.answers))
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
                    self._told(f"{said}; waiting for room")
            await asyncio.sleep(min(1.0, self._manner.patience))

    async def _give_up(self, awaited: _Awaited, now: float) -> None:
        """Leave an asynchronous round to somebody else; who was late is left alone for a while."""
        self._awaited = None
        await self._kept(lambda: self._journal.part(awaited.round))
        for owner in awaited.missing:
            self._late[owner] = now + 10 * self._manner.deadline
        names = self._names(awaited.owners)
        self._told(f"round {awaited.round} goes to somebody else than {names}")

    def _names(self, owners: set[int]) -> str:
        return ", ".join(self._plan.parties[i].name for i in sorted(owners))

    def _enough(self, awaited: _Awaited, waited: float) -> bool:
        quorum = self._manner.quorum
        if quorum is None or not self._learner.synchronous:
            return False
        return waited >= self._manner.deadline and len(awaited.answers) >= quorum

    def _check_refusals(self, awaited: _Awaited) -> None:
        quorum = self._manner.quorum
        if not awaited.refusals:
            return
        if quorum is not None and self._learner.synchronous and len(awaited.answers) >= quorum:
            return
        owner, reason = next(iter(awaited.refusals.items()))
        raise TreatyError(
            f"{self._plan.parties[owner].name} refuses round {awaited.round}: {reason}"
        )

    async def _meeting(self, connection: Client) -> int | None:
        """Return whom the next round is with; None when nobody has an answer left."""
        learner = self._learner
        if learner.synchronous:
            return 0
        settled = self._journal.met(learner.round)
        if settled is not None:
            return settled
        index = await self._first_ready(connection)
        if index is not None:
            await self._kept(lambda: self._journal.meet(learner.round, index))
        return index

    async def _first_ready(self, connection: Client) -> int | None:
        """Wait for the first bloc whose members are all ready."""
        by_call = self._manner.meeting == "broadcast"
        number = self._learner.round if by_call else 0
        if by_call:
            self._ready.clear()
        call = messages.encode(Call(self._treaty, self._journal.run, number, self._manner.meeting))
        now = asyncio.get_running_loop().time
        if by_call:
            self._called = -math.inf
        began = now()
        while True:
            self._somebody.clear()
            if not any(self._has_answers(bloc) for bloc in self._blocs):
                if self._refusals:
                    owner, reason = next(iter(self._refusals.items()))
                    raise TreatyError(f"{self._plan.parties[owner].name} refuses: {reason}")
                return None
            if now() - began >= SILENCE:
                began = now()
                self._told(
                    "nobody is ready: have the owners ratified, and are their agents running?"
                )
            ready = sorted(
                (max(self._ready[i] for i in bloc.members), index)
                for index, bloc in enumerate(self._blocs)
                if self._has_answers(bloc)
                and all(i in self._ready for i in bloc.members)
                and all(self._late.get(i, 0.0) <= now() for i in bloc.members)
            )
            if now() - self._called >= self._manner.patience:
                # Called again and again: who came late or was not heard is heard then.
                self._called = now()
                await self._publish(connection, subjects.call(self._credential.token), call)
            if ready:
                index = ready[0][1]
                for member in self._blocs[index].members:
                    del self._ready[member]
                return index
            await _within(self._somebody.wait(), self._manner.patience)

    def _has_answers(self, bloc: Bloc) -> bool:
        parties = self._plan.parties
        return all(
            i not in self._refusals and self._given[i] < self._plan.answers(parties[i])
            for i in bloc.members
        )

    async def _publish(
        self, connection: Client, subject: str, data: bytes, *, reply: str = ""
    ) -> None:
        try:
            await connection.publish(subject, data, reply=reply)
        except NatsError as error:
            # The connection is coming back; the question will be put again.
            self._told(f"not sent ({type(error).__name__})")

    async def _on_answer(self, message: Msg) -> None:
        """Take an answer to what is being asked; everything else is dropped."""
        awaited = self._awaited
        token = subjects.answering(message.subject, self._credential.token)
        owner = None if token is None else self._index.get(token)
        if awaited is None or owner is None or owner not in awaited.missing:
            return
        try:
            reply = messages.decode(message.data)
        except Malformed as error:
            self._told(f"{self._plan.parties[owner].name} sent what is no message: {error}")
            return
        if not isinstance(reply, Answer | Refused):
            return
        asked = (self._treaty, self._journal.run, awaited.round)
        if (reply.treaty, reply.run, reply.round) != asked:
            return
        if isinstance(reply, Refused):
            awaited.refusals[owner] = reply.reason
            self._told(f"{self._plan.parties[owner].name} refuses: {reply.reason}")
        elif len(reply.gradient) != self._plan.problem.dimension or not all(
            math.isfinite(value) for value in reply.gradient
        ):
            self._told(f"{self._plan.parties[owner].name} sent what is no gradient")
            return
        elif (most := max(abs(value) for value in reply.gradient)) > self._largest[owner]:
            reason = (
                f"its answer of size {most:.3g} is none: bound and noise allow an honest owner at most "
                f"{self._largest[owner]:.3g}"
            )
            awaited.refusals[owner] = reason
            self._told(f"{self._plan.parties[owner].name} is refused: {reason}")
        else:
            awaited.answers[owner] = reply.gradient
        awaited.changed.set()

    async def _on_lost(self, message: Msg) -> None:
        """The server says that nobody keeps a query; only it can speak on this subject."""
        now = asyncio.get_running_loop().time()
        if now - self._lost_said >= SILENCE:
            self._lost_said = now
            self._told(
                "the server has lost the stream that keeps queries, so that nobody hears them: "
                "whoever runs it can make it again with treaty federation prepare"
            )

    async def _on_ready(self, message: Msg) -> None:
        token = subjects.getting_ready(message.subject, self._credential.token)
        owner = None if token is None else self._index.get(token)
        try:
            ready = messages.decode(message.data)
        except Malformed:
            return
        if owner is None or not isinstance(ready, Ready):
            return
        number = self._learner.round if self._manner.meeting == "broadcast" else 0
        if (ready.treaty, ready.run) != (self._treaty, self._journal.run):
            return
        if ready.round != number:
            return
        self._ready.setdefault(owner, next(self._order))
        self._somebody.set()

    def _show(self, awaited: _Awaited | None) -> None:
        names = [party.name for party in self._plan.parties]
        self._watch(
            Progress(
                round=self._learner.round,
                rounds=self._learner.rounds,
                given=dict(zip(names, self._given, strict=True)),
                waiting=() if awaited is None else tuple(names[i] for i in sorted(awaited.missing)),
                model=self._learner.model,
            )
        )


def _largest_answer(plan: Plan, scale: float) -> float:
    """Return the size that no coordinate of an honest owner's answer exceeds, but by a rare chance."""
    bound = plan.problem.gradient_bound(plan.mechanism.norm)
    dimension = plan.problem.dimension
    noise = plan.mechanism.reach(scale, dimension, UNBELIEVABLE) if scale > 0 else 0.0
    return (bound + noise) * (1 + 1e-9)


def mean_answer(bloc: Bloc, answers: dict[int, tuple[float, ...]]) -> FloatArray:
    """Return the mean of a bloc's answers by its shares; of those that came, where some are missing."""
    present = [i for i in bloc.members if i in answers]
    shares = np.array([bloc.shares[bloc.members.index(i)] for i in present])
    if len(present) < len(bloc.members):
        shares = shares / shares.sum()
    return np.einsum("i,ij->j", shares, np.array([answers[i] for i in present]))


async def _within(waiting: Awaitable[object], seconds: float) -> None:
    try:
        await asyncio.wait_for(waiting, seconds)
    except TimeoutError:
        return
