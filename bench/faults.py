"""Two minutes of faults while three trainings go on.

SIGKILLs of owners, learner and server, lost write-ahead files, restored backups, flipped bits in ledgers
and journals, and disks without room.

Afterwards the trainings are left to end. `overspends`: owners whose ledger holds more than was granted,
or other than one spend for each distinct question; `double_noise`: questions answered with different
noise, on the wire or between wire and ledger; `mismatches`: models that are not, bit for bit, those of
the answers in the ledgers; `silent`: faults that changed what a file says, or took room away, and went
unnoticed.
"""

import argparse
import asyncio
import contextlib
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path

from nats.aio.msg import Msg

from bench.consortium import Consortium, consortium
from bench.report import finish
from treaty.errors import TreatyError
from treaty.federation import messages
from treaty.federation.nats import subjects
from treaty.federation.nats.connection import connect
from treaty.federation.nats.server import prepare
from treaty.federation.replay import replayed
from treaty.federation.training import FederatedTraining
from treaty.logbook.logbook import beside
from treaty.models import Model
from treaty.plans import Driver
from treaty.terms import plan_of
from treaty.terms.names import token

TRAININGS = (
    ("averaged-subgradient", 2001, "broadcast"),
    ("one-at-a-time", 2000, "broadcast"),
    ("one-at-a-time", 2000, "request"),
)
BETWEEN = 0.5
"""Seconds between faults, on average."""
ENDING = 300.0
"""Seconds that a training may take to its end once nothing happens any more."""
PATIENCE = 60.0
"""Seconds that a process may take to say that it is ready, or why not."""
ROOM = "64m"
"""The size of each owner's disk."""


class Theatre:
    """The processes of one training, with everything that happens to them."""

    def __init__(self, made: Consortium, meeting: str, disks: Path) -> None:
        self._made, self._meeting = made, meeting
        self._disks = {
            name: _own_disk(made, name, disks / str(i)) for i, name in enumerate(made.names)
        }
        self._backups: dict[str, list[Path]] = {name: [] for name in made.names}
        self.running = {"server": made.start_server()}
        asyncio.run(prepare(made.credential("operator")))
        self.running |= {name: self._owner(name) for name in made.names}
        self.running["learner"] = self._learner()
        self.heard: dict[tuple[str, str, int], set[bytes]] = {}
        self.faults: Counter[str] = Counter()
        self.noticed: Counter[str] = Counter()
        self.silent = 0

    def _log(self, who: str) -> Path:
        return self._made.folder / f"{token(who)}.log"

    def _learner(self) -> "subprocess.Popen[bytes]":
        made = self._made
        command = [sys.executable, "-m", "treaty", "learn", str(made.folder / "treaty.toml")]
        command += ["--credential", str(made.credential("learner").folder)]
        command += ["--model", str(made.folder / "model.json"), "--meet", self._meeting]
        with self._log("learner").open("ab") as log:
            return subprocess.Popen(command, stdout=log, stderr=log)

    def _owner(self, name: str) -> "subprocess.Popen[bytes]":
        return self._made.start_owner(name, self._log(name))

    def _start(self, who: str) -> "subprocess.Popen[bytes]":
        if who == "server":
            return self._made.start_server()
        return self._learner() if who == "learner" else self._owner(who)

    def _kill(self, who: str) -> None:
        self.running[who].send_signal(signal.SIGKILL)
        self.running[who].wait()

    async def listen(self) -> None:
        """Hear every answer that goes to the learner."""
        learner = self._made.credential("learner")
        connection = await connect(learner)

        async def take(message: Msg) -> None:
            answer = messages.decode(message.data)
            if isinstance(answer, messages.Answer):
                owner = subjects.answering(message.subject, learner.token) or ""
                self.heard.setdefault((owner, answer.run, answer.round), set()).add(message.data)

        await connection.subscribe(subjects.answer(learner.token, "*"), cb=take)
        try:
            await asyncio.sleep(3600)
        finally:
            await connection.close()

    async def disturb(self, seconds: float, dice: random.Random) -> None:
        """Let something happen every now and then, and let everybody go on to the end."""
        listening = asyncio.create_task(self.listen())
        kinds = [
            self.killed,
            self.killed,
            self.killed,
            self.lost,
            self.restored,
            self.flipped,
            self.full,
        ]
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.running["learner"].poll() is None:
            await asyncio.sleep(dice.expovariate(1 / BETWEEN))
            await dice.choice(kinds)(dice)
        last = time.monotonic() + ENDING
        while self.running["learner"].poll() is None:
            await asyncio.sleep(0.2)
            for name in self._made.names:
                if self.running[name].poll() is not None:
                    # It should have stayed up, or said why not to whoever started it.
                    print(self._log(name).read_bytes()[-400:].decode(errors="replace"))
                    self.silent += 1
                    self.running[name] = self._owner(name)
            if time.monotonic() > last:
                raise SystemExit(
                    f"the training did not end within {ENDING:.0f} s of the last fault"
                )
        listening.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await listening

    async def killed(self, dice: random.Random) -> None:
        """Somebody is killed, and starts again."""
        who = dice.choice(list(self.running))
        if self.running[who].poll() is None:
            self.faults["killed"] += 1
            self._kill(who)
            self.running[who] = self._start(who)

    async def lost(self, dice: random.Random) -> None:
        """An owner is killed, and SQLite's files beside its ledger are gone."""
        name = dice.choice(self._made.names)
        self.faults["lost"] += 1
        self._kill(name)
        ledger = self._made.home(name).ledger_file
        aside = [(file, file.read_bytes()) for file in beside(ledger) if file.exists()]
        for file, _ in aside:
            file.unlink()
        if not await self._starts(name):
            # Killed while the one file was being written: that is noticed, and the file is found again.
            self.noticed["lost"] += 1
            for file, content in aside:
                file.write_bytes(content)
            self.running[name] = self._owner(name)

    async def restored(self, dice: random.Random) -> None:
        """A backup of a running owner is made; an older one is put back in place of its ledger."""
        name = dice.choice(self._made.names)
        ledger = self._made.home(name).ledger_file
        copies = self._backups[name]
        copies.append(self._made.folder / f"{token(name)}-{len(copies)}.backup")
        command = [sys.executable, "-m", "treaty", "ledger", "--home", str(ledger.parent)]
        made = subprocess.run(
            [*command, "--events", "0", "--backup", str(copies[-1])],
            check=False,
            capture_output=True,
        )
        if made.returncode != 0:
            raise SystemExit(f"no backup: {made.stderr.decode()}")
        await asyncio.sleep(dice.uniform(0.0, 1.0))
        self._kill(name)
        present, older = _says(ledger), dice.choice(copies)
        with _aside(ledger):
            shutil.copy(older, ledger)
            behind = _says(ledger) != present
            if behind:
                self.faults["restored"] += 1
                if await self._starts(name):
                    self.silent += 1
                    self._kill(name)
                else:
                    self.noticed["restored"] += 1
        self.running[name] = self._owner(name)

    async def flipped(self, dice: random.Random) -> None:
        """A bit of a ledger or of the journal is flipped while its process is down."""
        who = dice.choice([*self._made.names, "learner", "learner"])
        if self.running[who].poll() is not None:
            return
        self._kill(who)
        file = self._made.folder / "model.journal"
        if who != "learner":
            file = self._made.home(who).ledger_file
        if not file.exists():
            self.running[who] = self._start(who)
            return
        present = _says(file)
        with _aside(file):
            _settled(file)
            data = bytearray(file.read_bytes())
            data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
            file.write_bytes(data)
            if _says(file) != present:
                self.faults["flipped"] += 1
                if await self._starts(who):
                    self.silent += 1
                    self._kill(who)
                else:
                    self.noticed["flipped"] += 1
        self.running[who] = self._start(who)

    async def full(self, dice: random.Random) -> None:
        """An owner's disk has no room for a while; it says so, stays up, and goes on."""
        name = dice.choice(self._made.names)
        disk = self._disks[name]
        if disk is None or self.running[name].poll() is not None:
            return
        log = self._log(name)
        before = log.stat().st_size
        given = self._given(name)
        ballast = disk / "ballast"
        with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(bytes(4096)):
                pass
        end = time.monotonic() + 5.0
        told = False
        while not told and time.monotonic() < end:
            await asyncio.sleep(0.05)
            told = b"cannot be written" in log.read_bytes()[before:]
        up = self.running[name].poll() is None
        ballast.unlink()
        if told or not up:
            self.faults["full"] += 1
            self.noticed["full"] += told
            self.silent += not told
            if not (told and up):
                print(log.read_bytes()[before:].decode())
        elif self._given(name) > given + 200:
            raise SystemExit("a full disk took two hundred answers")
        if not up:
            self.running[name] = self._owner(name)

    def _given(self, name: str) -> int:
        ledger = self._made.home(name).ledger()
        try:
            return ledger.answers_given(self._made.fingerprint)
        finally:
            ledger.close()

    async def _starts(self, who: str) -> bool:
        """Start a process; return whether it gets to work. It may also say in a sentence why not."""
        log = self._log(who)
        before = log.stat().st_size
        self.running[who] = self._start(who)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            said = log.read_bytes()[before:]
            code = self.running[who].poll()
            if code is not None and not (who == "learner" and code == 0):
                if code != 2 or b"Traceback" in said:
                    print(said.decode())
                    raise SystemExit(f"{who} ended with {code} instead of a sentence")
                return False
            working = b" ready" in said if who != "learner" else _in_use(self._made.folder)
            if working or code == 0:
                return True
            await asyncio.sleep(0.05)
        raise SystemExit(f"{who} neither works nor ends")

    def stop(self) -> None:
        """Stop everybody, and give the disks back."""
        for process in self.running.values():
            process.kill()
            process.wait()
        for disk in self._disks.values():
            if disk is not None:
                subprocess.run(["umount", "-l", str(disk)], check=False)


def _own_disk(made: Consortium, name: str, disk: Path) -> Path | None:
    """Put an owner's folder on a small disk of its own; None where nothing may be mounted."""
    disk.mkdir(parents=True)
    words = ["mount", "-t", "tmpfs", "-o", f"size={ROOM}", "none", str(disk)]
    if subprocess.run(words, check=False, capture_output=True).returncode != 0:
        return None
    home = made.home(name).folder
    shutil.copytree(home, disk / "home")
    shutil.rmtree(home)
    home.symlink_to(disk / "home")
    return disk


def _in_use(folder: Path) -> bool:
    """Whether a learner has verified its journal and holds it."""
    file = folder / "model.journal"
    try:
        with contextlib.closing(
            sqlite3.connect(f"file:{file}?mode=rw", uri=True, timeout=0)
        ) as opened:
            opened.execute("SELECT 1 FROM events LIMIT 1").fetchone()
            return False
    except sqlite3.OperationalError as error:
        return "locked" in str(error)
    except sqlite3.DatabaseError:
        return False


def _settled(file: Path) -> None:
    """Move what a killed process left in the write-ahead file into the one file, as an opening would."""
    with contextlib.closing(sqlite3.connect(file)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _says(file: Path) -> object:
    """Return everything a logbook says; None if it cannot be read."""
    try:
        with contextlib.closing(sqlite3.connect(file)) as database:
            names = database.execute("SELECT name, sql FROM sqlite_schema ORDER BY name").fetchall()
            marks = [
                database.execute(f"PRAGMA {m}").fetchone()
                for m in ("application_id", "user_version")
            ]
            tables = [n for n, sql in names if str(sql).startswith("CREATE TABLE")]
            return names, marks, [database.execute(f"SELECT * FROM {t}").fetchall() for t in tables]
    except (sqlite3.Error, UnicodeDecodeError):
        return None


@contextlib.contextmanager
def _aside(file: Path):
    """Keep a file and what lies beside it, and put everything back at the end."""
    files = [file, *beside(file), file.with_name(file.stem + ".mark")]
    kept = [(path, path.read_bytes()) for path in files if path.exists()]
    for path in beside(file):
        path.unlink(missing_ok=True)
    _put(kept[:1])
    try:
        yield
    finally:
        for path in files:
            path.unlink(missing_ok=True)
        _put(kept)


def _put(kept: list[tuple[Path, bytes]]) -> None:
    for path, content in kept:
        path.write_bytes(content)
        path.chmod(0o600)


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
        wrong = given != len(distinct) or len(entries) != len(distinct) or ledger.charged() != spent
        overspends += wrong or spent > Fraction(grant.budget.epsilon)
        for (owner, run, k), said in heard.items():
            if owner != token(party.name):
                continue
            entry = ledger.entry(made.fingerprint, run, k)
            written = messages.Answer(
                made.fingerprint, run, k, () if entry is None else entry.answer
            )
            double += said != {messages.encode(written)}
    training = FederatedTraining(
        made.treaty, made.channel("learner"), made.folder / "model.journal"
    )
    try:
        again = replayed(Driver(plan), ledgers, made.fingerprint, training.run_name)
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
    options.add_argument("--seconds", type=float, default=120.0)
    options.add_argument("--seed", type=int, default=0)
    chosen = options.parse_args()
    dice = random.Random(chosen.seed)
    figures = {"answered": 0, "overspends": 0, "double_noise": 0, "mismatches": 0, "silent": 0}
    faults: Counter[str] = Counter()
    for method, horizon, meeting in TRAININGS:
        with consortium(3, 500, 10, "logistic", method, horizon) as made:
            theatre = Theatre(made, meeting, made.folder / "disks")
            began = time.monotonic()
            try:
                asyncio.run(theatre.disturb(chosen.seconds / len(TRAININGS), dice))
                found = judged(made, theatre.heard) | {"silent": theatre.silent}
            finally:
                theatre.stop()
            print(
                f"{method}, {meeting}: {dict(theatre.faults)}, noticed {dict(theatre.noticed)}, ended "
                f"after {time.monotonic() - began:.0f} s, {found}"
            )
            sys.stdout.flush()
            faults += theatre.faults
            for key, value in found.items():
                figures[key] += value
    finish(faults=dict(faults), **figures)


if __name__ == "__main__":
    main()
