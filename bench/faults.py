"""Sixty seconds of SIGKILLs: owners, learner and server, at random, while three trainings go on.

Afterwards the trainings are left to end. `overspends`: owners whose ledger holds more than was granted,
or other than one spend for each distinct question; `double_noise`: questions answered with different
noise, on the wire or between wire and ledger; `mismatches`: models that are not, bit for bit, those of
the answers in the ledgers.
"""

import argparse
import asyncio
import contextlib
import random
import signal
import subprocess
import sys
import time
from fractions import Fraction

from nats.aio.msg import Msg

from bench.consortium import Consortium, consortium
from bench.report import finish
from treaty.errors import TreatyError
from treaty.federation import messages, subjects
from treaty.federation.connection import connect
from treaty.federation.replay import replayed
from treaty.federation.server import prepare
from treaty.federation.training import FederatedTraining
from treaty.fitness.model import Model
from treaty.learners import learner_for
from treaty.terms import plan_of

TRAININGS = (
    ("averaged-subgradient", 2001, "broadcast"),
    ("one-at-a-time", 2000, "broadcast"),
    ("one-at-a-time", 2000, "request"),
)
BETWEEN = 0.7
"""Seconds between kills, on average."""


class Theatre:
    """The processes of one training, killed and started again."""

    def __init__(self, made: Consortium, meeting: str) -> None:
        self._made, self._meeting = made, meeting
        self.running = {"server": made.start_server()}
        asyncio.run(prepare(made.credential("operator")))
        self.running |= {name: made.start_owner(name) for name in made.names}
        self.running["learner"] = self._learner()
        self.heard: dict[tuple[str, str, int], set[bytes]] = {}
        self.kills = 0

    def _learner(self) -> "subprocess.Popen[bytes]":
        made = self._made
        command = [
            sys.executable,
            "-m",
            "treaty",
            "learn",
            str(made.folder / "treaty.toml"),
            "--json",
        ]
        command += ["--credential", str(made.credential("learner").folder)]
        command += ["--model", str(made.folder / "model.json"), "--meet", self._meeting]
        with (made.folder / "learner.log").open("ab") as log:
            return subprocess.Popen(command, stdout=log, stderr=log)

    def _start(self, who: str) -> "subprocess.Popen[bytes]":
        if who == "server":
            return self._made.start_server()
        return self._learner() if who == "learner" else self._made.start_owner(who)

    async def listen(self) -> None:
        """Hear every answer that goes to the learner."""
        learner = self._made.credential("learner")
        connection = await connect(learner)

        async def take(message: Msg) -> None:
            answer = messages.decode(message.data)
            if isinstance(answer, messages.Answer):
                owner = subjects.answering(message.subject, learner.token) or ""
                key = (owner, answer.run, answer.round)
                self.heard.setdefault(key, set()).add(message.data)

        await connection.subscribe(subjects.answer(learner.token, "*"), cb=take)
        try:
            await asyncio.sleep(3600)
        finally:
            await connection.close()

    async def disturb(self, seconds: float, dice: random.Random) -> None:
        """Kill somebody every now and then, and let everybody go on to the end."""
        listening = asyncio.create_task(self.listen())
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.running["learner"].poll() is None:
            await asyncio.sleep(dice.expovariate(1 / BETWEEN))
            who = dice.choice(list(self.running))
            if self.running[who].poll() is not None:
                continue
            self.running[who].send_signal(signal.SIGKILL)
            self.running[who].wait()
            self.running[who] = self._start(who)
            self.kills += 1
        while self.running["learner"].poll() is None:
            await asyncio.sleep(0.2)
        listening.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await listening

    def stop(self) -> None:
        """Stop everybody."""
        for process in self.running.values():
            process.kill()
            process.wait()


def judged(made: Consortium, heard: dict[tuple[str, str, int], set[bytes]]) -> dict[str, int]:
    """Compare ledgers, wire and model."""
    plan = plan_of(made.treaty)
    ledgers = [made.home(party.name).ledger() for party in plan.parties]
    answered = overspends = double = 0
    for party, ledger in zip(plan.parties, ledgers, strict=True):
        ledger.verify()
        entries = [event.body for event in ledger.events() if event.kind == "answer"]
        answered += len(entries)
        distinct = {(body["run"], body["round"]) for body in entries}
        grant, given = ledger.grants()[0]
        spent = Fraction(grant.budget.epsilon) * len(distinct) / grant.answers
        wrong = given != len(distinct) or len(entries) != len(distinct) or ledger.spent() != spent
        overspends += wrong or spent > Fraction(grant.budget.epsilon)
        for (owner, run, k), said in heard.items():
            if owner != subjects.token(party.name):
                continue
            entry = ledger.entry(made.fingerprint, run, k)
            written = messages.Answer(
                made.fingerprint, run, k, () if entry is None else entry.answer
            )
            double += said != {messages.encode(written)}
    training = FederatedTraining(
        made.treaty, made.credential("learner"), made.folder / "model.journal"
    )
    try:
        again = replayed(learner_for(plan), plan, ledgers, made.fingerprint, training.run_name)
        same = tuple(again.tolist()) == Model.load(made.folder / "model.json").theta
    except TreatyError as error:
        print(f"not to be replayed: {error}")
        same = False
    for ledger in ledgers:
        ledger.close()
    return {
        "answered": answered,
        "overspends": overspends,
        "double_noise": double,
        "mismatches": 0 if same else 1,
    }


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--seconds", type=float, default=60.0)
    options.add_argument("--seed", type=int, default=0)
    chosen = options.parse_args()
    dice = random.Random(chosen.seed)
    figures = {"kills": 0, "answered": 0, "overspends": 0, "double_noise": 0, "mismatches": 0}
    for method, horizon, meeting in TRAININGS:
        with consortium(3, 500, 10, "logistic", method, horizon) as made:
            theatre = Theatre(made, meeting)
            began = time.monotonic()
            try:
                asyncio.run(theatre.disturb(chosen.seconds / len(TRAININGS), dice))
            finally:
                theatre.stop()
            found = judged(made, theatre.heard)
            print(
                f"{method}, {meeting}: {theatre.kills} kills, ended after "
                f"{time.monotonic() - began:.0f} s, {found}"
            )
            sys.stdout.flush()
            figures["kills"] += theatre.kills
            for key, value in found.items():
                figures[key] += value
    finish(**figures)


if __name__ == "__main__":
    main()
