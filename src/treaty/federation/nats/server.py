"""The server between the parties: an embedded nats-server, and what any must be prepared with."""

import asyncio
import shutil
import subprocess
import sys
from pathlib import Path

from nats.js.api import (
    AckPolicy,
    ConsumerConfig,
    DeliverPolicy,
    DiscardPolicy,
    RetentionPolicy,
    StorageType,
    StreamConfig,
)

from treaty.errors import TreatyError
from treaty.federation.channel import Say
from treaty.federation.messages import LONGEST
from treaty.federation.nats import subjects
from treaty.federation.nats.authority import Credential
from treaty.federation.nats.children import start_child
from treaty.federation.nats.connection import connect
from treaty.terms.names import LEARNER, token

LARGEST = 1 << 30
"""Bytes of queries that are kept in all."""
KEPT = 7 * 86_400.0
"""Seconds for which a query waits for an owner."""


def start_server(folder: str | Path, *, log: Path | None = None) -> "subprocess.Popen[bytes]":
    """Start the embedded nats-server with the configuration of a federation's `server` folder.

    It ends with this process, even if this one is killed.
    """
    program = shutil.which("nats-server", path=str(Path(sys.executable).parent)) or shutil.which(
        "nats-server"
    )
    if program is None:
        raise TreatyError("there is no nats-server: pip install 'treaty[federation]'")
    folder = Path(folder)
    if not (folder / "nats.conf").is_file():
        raise TreatyError(f"{folder}: there is no nats.conf in it")
    output = subprocess.DEVNULL if log is None else log.open("ab")
    try:
        return start_child([program, "--config", "nats.conf"], cwd=folder, output=output)
    finally:
        if log is not None and not isinstance(output, int):
            output.close()


async def prepare(operator: Credential, *, patience: float = 20.0) -> None:
    """Make the stream that keeps queries, and every owner's access to its own; once is enough.

    Of each learner's queries to an owner only the newest is kept: what has been overtaken must not cost
    budget any more.

    Args:
        operator: the operator's credential.
        patience: how many seconds to wait for the server.
    """
    connection = await connect(operator, patience=patience)
    try:
        stream = connection.jetstream()
        await stream.add_stream(
            StreamConfig(
                name=subjects.STREAM,
                subjects=[subjects.QUERIES],
                retention=RetentionPolicy.LIMITS,
                storage=StorageType.FILE,
                max_msgs_per_subject=1,
                discard=DiscardPolicy.OLD,
                max_age=KEPT,
                max_bytes=LARGEST,
                max_msg_size=LONGEST,
                # A server that acknowledged would send to whatever subject a publisher names for it.
                no_ack=True,
                deny_delete=True,
                deny_purge=True,
            )
        )
        owners = [one for one in operator.learners if one != token(LEARNER)]
        for owner in owners:
            await stream.add_consumer(
                subjects.STREAM,
                ConsumerConfig(
                    durable_name=owner,
                    filter_subject=subjects.query("*", owner),
                    deliver_subject=subjects.delivery(owner),
                    deliver_policy=DeliverPolicy.ALL,
                    ack_policy=AckPolicy.NONE,
                ),
            )
    finally:
        await connection.close()


def stop_server(server: "subprocess.Popen[bytes]") -> None:
    """Stop a server that was started here."""
    server.terminate()
    try:
        server.wait(10)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def serve(folder: str | Path, say: Say) -> None:
    """Run the embedded server of a federation until it ends, prepared for its owners."""
    folder = Path(folder)
    operator = Credential.load(folder / "operator")
    server = start_server(folder / "server")
    try:
        asyncio.run(prepare(operator))
        if server.poll() is not None:
            raise TreatyError(f"{operator.server}: the server ended at once: is there one already?")
        say(f"serving at {operator.server}")
        server.wait()
    finally:
        stop_server(server)
