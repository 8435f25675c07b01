"""treaty owner: the agent that answers for an owner."""

import asyncio
import signal
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from treaty.cli.options import CredentialFolder, HomeFolder
from treaty.cli.output import quiet_asyncio

PAUSE = 1.0
"""Seconds between looks whether a full disk has room again."""


def owner(credential: CredentialFolder, home: HomeFolder = Path("treaty-owner")) -> None:
    """Answer what is asked under ratified treaties, within their budgets, until stopped.

    Dials out to the federation's server; nothing listens here. Reconnects by itself, works off what
    waited while it was away, and stops if the records change. Runs as a service as it is.

    Example:

        treaty owner --credential banks/federation/owners/north-bank-1a6be436c0 --home banks/north-bank
    """
    from treaty.federation.agent import Agent
    from treaty.federation.nats.authority import Credential
    from treaty.federation.nats.channel import NatsChannel
    from treaty.logbook import NoRoom
    from treaty.owner.home import Home
    from treaty.records.probing import probe

    quiet_asyncio()

    def tell(text: str) -> None:
        now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S")
        sys.stdout.write(f"{now} {text}\n")
        sys.stdout.flush()

    channel, folder = NatsChannel(Credential.load(credential)), Home(home)
    if folder.owner_file.exists():
        probe(folder.records())

    def opened() -> Agent:
        """Open the owner's folder, as soon as there is room on the disk for it."""
        told = False
        while True:
            try:
                return Agent(folder, channel, say=tell)
            except NoRoom as error:
                if not told:
                    tell(f"{error}; waiting for room")
                told = True
                time.sleep(PAUSE)

    async def run() -> None:
        agent = opened()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, agent.stop)
        await agent.run()

    asyncio.run(run())
