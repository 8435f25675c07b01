"""A minute of damaged messages and damaged files: one sentence each, and nothing spent.

Messages go to an owner's agent as bytes. Files are those a person hands to a command: treaty, policy,
owner.toml, key, mark, ledger, backup, journal, model, party.toml, certificate, export, CSV and Parquet.
Each is damaged (flipped, cut, spliced, repeated, nested deeply) and the command that reads it is run in
this process. `tracebacks`: exceptions other than the one sentence with exit code 2. `spent`: answers in
the ledgers that no sound query asked for.
"""

import argparse
import contextlib
import io
import math
import random
import shutil
import struct
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import msgpack
import numpy as np
import polars as pl

from bench.consortium import Consortium, consortium
from bench.report import finish
from treaty.arrays import FloatArray
from treaty.cli.main import main as command
from treaty.errors import TreatyError
from treaty.federation import messages
from treaty.federation.agent import Agent
from treaty.federation.messages import Answer, Call, Query, Ready, Refused
from treaty.federation.nats import connection
from treaty.federation.training import FederatedTraining
from treaty.models import Model
from treaty.owner import Home
from treaty.privacy import DurableLedger
from treaty.records import probing
from treaty.terms import dumps, model_of, plan_of
from treaty.terms.names import token

Dice = random.Random
SAVED = "saved"


def damaged(dice: Dice, data: bytes) -> bytes:
    """Return bytes with something wrong about them."""
    made = bytearray(data)
    for _ in range(1 + dice.randrange(3)):
        at = dice.randrange(len(made)) if made else 0
        way = dice.randrange(8)
        if way == 0 and made:
            made[at] ^= 1 << dice.randrange(8)
        elif way == 1 and made:
            made[at] = dice.randrange(256)
        elif way == 2:
            made = made[:at]
        elif way == 3:
            start = dice.randrange(len(made)) if made else 0
            made[at:at] = made[start : start + dice.randrange(200)]
        elif way == 4 and made:
            del made[at : at + dice.randrange(1, 60)]
        elif way == 5:
            made[at:at] = dice.choice(
                (
                    b"\x00",
                    b"\xff",
                    b"[" * 5000,
                    b"{" * 5000,
                    b'{"a":' * 3000,
                    b"9" * 5000,
                    b"nan",
                    b"-1",
                )
            )
        elif way == 6 and made:
            made[at : at + 8] = struct.pack("<d", dice.choice((math.nan, math.inf, -1e308, 5e-324)))
        else:
            words = bytes(made).split(b" ")
            dice.shuffle(words)
            made = bytearray(b" ".join(words)) if dice.random() < 0.3 else made
    return bytes(made)


class Messages:
    """Bytes to an owner's agent."""

    def __init__(self, made: Consortium) -> None:
        self._made = made
        name = made.names[0]
        self._agent = Agent(made.home(name), made.channel(name))
        zero = (0.0,) * plan_of(made.treaty).problem.dimension
        key = (made.fingerprint, "run", 1)
        sound = [Query(*key, zero), Answer(*key, zero), Refused(*key, "no"), Ready(*key)]
        self._seeds = [messages.encode(one) for one in [*sound, Call(*key, "request")]]
        self._learners = [*made.credential(name).learners, "somebody", ""]
        self._sound = 0

    def once(self, dice: Dice) -> None:
        """Send one damaged message, or one with random fields in a sound frame."""
        data = damaged(dice, dice.choice(self._seeds))
        if dice.random() < 0.3:
            numbers = (0.0, math.nan, math.inf, 1e308, 5e-324, 5.0000001)
            plain = {
                "v": dice.choice((1, 1, 1, 2, "1", None)),
                "kind": dice.choice(("query", "query", "call", "ready", "answer", "order")),
                "treaty": dice.choice((self._made.fingerprint, "x", "../..", "\x00", "a" * 512)),
                "run": dice.choice(("run", "\n", "r" * 512)),
                "round": dice.choice((0, -1, 1 << 40, 3.5, None)),
                "theta": b"".join(struct.pack("<d", dice.choice(numbers)) for _ in range(3)),
            }
            data = msgpack.packb(plain)
        learner = dice.choice(self._learners)
        reply = self._agent.answer(learner, data)
        if isinstance(reply, Answer):
            # A damaged message may still be a sound query, and is then answered as one.
            query = messages.decode(data)
            if not isinstance(query, Query) or learner != token("learner"):
                raise AssertionError("answered what was no query of the learner's")
            self._sound += 1

    def spent(self) -> int:
        """Return how many answers there are that no sound query asked for."""
        ledger = self._agent._home.ledger
        ledger.verify()
        given = ledger.answers_given(self._made.fingerprint)
        grant = ledger.granted(self._made.fingerprint)
        assert grant is not None
        self._agent._home.close()
        return max(0, given - min(self._sound, grant.answers))


class Files:
    """Files that commands read, kept sound in one folder and damaged in another."""

    def __init__(self, made: Consortium, folder: Path) -> None:
        self._sound, self._work = folder / SAVED, folder / "work"
        self._sound.mkdir()
        name = made.names[1]
        shutil.copytree(made.home(name).folder, self._sound / "home")
        shutil.copytree(made.credential(name).folder, self._sound / "owner")
        shutil.copytree(made.credential("learner").folder, self._sound / "learner")
        (self._sound / "treaty.toml").write_text(dumps(made.treaty))
        data = made.folder / f"{token(name)}.parquet"
        shutil.copy(data, self._sound / "rows.parquet")
        pl.read_parquet(data).write_csv(self._sound / "rows.csv")
        model_of(made.treaty, _zeros(made)).save(self._sound / "model.json")
        ledger = made.home(name).ledger()
        ledger.backup(self._sound / "backup.sqlite")
        ledger.close()
        FederatedTraining(made.treaty, made.channel("learner"), self._sound / "run.journal")
        work = str(self._work)
        ratify = ["ratify", f"{work}/treaty.toml", "--name", name, "--epsilon", "1", "--yes"]
        train = ["train", f"{work}/treaty.toml", "--owner", f"{name}={work}/rows.parquet"]
        home, rows = f"{work}/home", f"{work}/rows.parquet"
        learn = ["learn", f"{work}/treaty.toml", "--credential", f"{work}/learner"]
        learn += ["--journal", f"{work}/run.journal", "--model", f"{work}/out.json"]
        self._cases: list[tuple[str, Callable[[], object]]] = [
            ("treaty.toml", _command(*ratify, "--data", rows, "--home", f"{work}/fresh")),
            ("treaty.toml", _command(*train)),
            ("rows.parquet", _command(*ratify, "--data", rows, "--home", f"{work}/fresh")),
            (
                "rows.csv",
                _command(*ratify, "--data", f"{work}/rows.csv", "--home", f"{work}/fresh"),
            ),
            ("home/policy.toml", _command(*ratify, "--data", rows, "--home", home)),
            ("home/owner.toml", _command(*ratify, "--data", rows, "--home", home)),
            ("home/ledger.sqlite", _command("ledger", "--home", home)),
            ("home/ledger.mark", _command("ledger", "--home", home)),
            ("home/ledger.sqlite", self._opened),
            ("home/records.key", self._opened),
            ("home/policy.toml", self._opened),
            ("home/owner.toml", self._opened),
            (
                "backup.sqlite",
                _command("ledger", "--home", home, "--restore", f"{work}/backup.sqlite"),
            ),
            ("model.json", self._model),
            ("run.journal", self._journal),
            ("run.journal", _command(*learn, stopped=True)),
            ("learner/party.toml", _command(*learn, stopped=True)),
            ("learner/certificate.pem", _command(*learn, stopped=True)),
            (
                "owner/party.toml",
                _command("owner", "--credential", f"{work}/owner", "--home", f"{work}/no"),
            ),
            ("treaty.toml", _command("ledger", "--check", f"{work}/treaty.toml")),
        ]
        self._made = made
        self.seen: Counter[str] = Counter()

    def _opened(self) -> None:
        Home(self._work / "home").open().close()

    def _model(self) -> None:
        Model.load(self._work / "model.json").to_sklearn()

    def _journal(self) -> None:
        learner = self._made.channel("learner")
        FederatedTraining(self._made.treaty, learner, self._work / "run.journal")

    def once(self, dice: Dice) -> None:
        """Damage one file and run what reads it."""
        file, work = dice.choice(self._cases)
        shutil.rmtree(self._work, ignore_errors=True)
        shutil.copytree(self._sound, self._work)
        path = self._work / file
        path.write_bytes(damaged(dice, path.read_bytes()))
        self.seen[file] += 1
        # A child process that reads a sound file first takes a second, and finds nothing.
        kept = probing.probe
        if file != "rows.parquet":
            probing.probe = lambda path: None
        try:
            work()
        finally:
            probing.probe = kept
            self._check(file)

    def _check(self, file: str) -> None:
        """Whatever was damaged, the sound ledger in the same folder has spent nothing."""
        path = self._work / "home" / "ledger.sqlite"
        if file in ("home/ledger.sqlite", "home/ledger.mark", "backup.sqlite"):
            return
        ledger = DurableLedger(path)
        given = sum(given for _, given in ledger.grants())
        ledger.close()
        if given:
            raise Spent(f"{given} answers after {file} was damaged")


class Spent(Exception):
    """Budget was spent."""


def _zeros(made: Consortium) -> FloatArray:
    return np.zeros(plan_of(made.treaty).problem.dimension)


def _command(*words: str, stopped: bool = False) -> Callable[[], None]:
    """Return a command as a person types it; with `stopped`, without a server it would wait for."""

    def run() -> None:
        kept, kept_connect = sys.argv, connection.Client.connect
        sys.argv = ["treaty", *words]
        if stopped:
            connection.Client.connect = _no_server
        try:
            with (
                contextlib.redirect_stdout(io.StringIO()),
                contextlib.redirect_stderr(io.StringIO()),
            ):
                command()
        except SystemExit as ended:
            if ended.code not in (0, 2, None):
                raise AssertionError(f"exit code {ended.code}") from ended
        finally:
            sys.argv, connection.Client.connect = kept, kept_connect

    return run


async def _no_server(*_: object, **__: object) -> None:
    raise TreatyError("there is no server")


def fuzz(seconds: float, seed: int) -> dict[str, int]:
    """Damage messages for half of the time and files for the other."""
    dice = Dice(seed)
    cases = tracebacks = spent = 0
    with (
        consortium(2, 200, 2, "squared", "averaged-subgradient", 6) as made,
        tempfile.TemporaryDirectory() as folder,
    ):
        files, sent = Files(made, Path(folder)), Messages(made)
        for many, half in ((50, sent.once), (1, files.once)):
            end = time.monotonic() + seconds / 2
            while time.monotonic() < end:
                for _ in range(many):
                    cases += 1
                    try:
                        half(dice)
                    except Spent as error:
                        spent += 1
                        print(error)
                    except BaseException as error:
                        if isinstance(error, KeyboardInterrupt):
                            raise
                        if not isinstance(error, TreatyError):
                            tracebacks += 1
                            traceback.print_exc()
        spent += sent.spent()
        print(f"files: {dict(files.seen)}")
    return {"cases": cases, "tracebacks": tracebacks, "spent": spent}


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--seconds", type=float, default=60.0)
    options.add_argument("--seed", type=int, default=0)
    chosen = options.parse_args()
    warnings.simplefilter("ignore")
    finish(**fuzz(chosen.seconds, chosen.seed))


if __name__ == "__main__":
    main()
