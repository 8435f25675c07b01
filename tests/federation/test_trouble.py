"""Trouble around a federation that is told, and gone on from: lost streams, full disks, orphans."""

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from treaty.federation.nats.demo import free_port
from treaty.federation.nats.server import stop_server
from treaty.logbook import Unwritable
from world import NAMES, World, run, treaty_text, until

TOLD_WITHIN = 10.0


@pytest.fixture
def world(tmp_path):
    made = World(tmp_path, treaty_text("averaged-subgradient", 5))
    made.start()
    yield made
    made.stop()


def test_a_lost_stream_is_told_and_can_be_made_again(world):
    """The server comes back without its store: nobody would ever hear a query."""

    async def train():
        await world.prepare()
        world.stop()
        shutil.rmtree(world.federation / "server" / "jetstream")
        world.start()
        said: list[str] = []
        async with world.agents():
            training = world.training(patience=2.0)
            training._conductor._say = said.append
            working = asyncio.create_task(training.run())
            loop = asyncio.get_running_loop()
            await until(lambda: training._conductor._awaited is not None)
            began = loop.time()
            await until(lambda: any("has lost the stream" in text for text in said))
            waited = loop.time() - began
            await world.prepare()
            await working
            return waited

    assert run(train()) <= TOLD_WITHIN
    assert set(world.given().values()) == {4}


@pytest.mark.parametrize("method", ["averaged-subgradient", "one-at-a-time"])
def test_silence_is_told_by_name_within_ten_seconds(tmp_path, method):
    world = World(tmp_path, treaty_text(method, 5))
    world.start()

    async def train():
        await world.prepare()
        said: list[str] = []
        training = world.training()
        training._conductor._say = said.append
        working = asyncio.create_task(training.run())
        loop = asyncio.get_running_loop()
        began = loop.time()
        await until(lambda: any("no answer from" in t or "nobody is ready" in t for t in said))
        waited = loop.time() - began
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working
        return waited, said

    try:
        waited, said = run(train())
    finally:
        world.stop()
    assert waited <= TOLD_WITHIN
    if method == "averaged-subgradient":
        assert any("North Bank, Old Bank, River Bank" in text for text in said)


def _set_room(logbook, pages: int) -> None:
    logbook._database.execute(f"PRAGMA max_page_count = {pages}")


def _pages(logbook) -> int:
    return logbook._database.execute("PRAGMA page_count").fetchone()[0]


def test_an_owner_without_room_says_so_stays_up_and_goes_on_when_there_is(world):
    async def train():
        await world.prepare()
        said: list[str] = []
        full = world.agent(NAMES[0], said.append)
        ledger = full._home.ledger
        _set_room(ledger, _pages(ledger))
        with contextlib.suppress(Unwritable):
            while True:
                ledger.refused({"reason": "the last free bytes of the last page"})
        working = asyncio.create_task(full.run())
        async with world.agents(*NAMES[1:]):
            training = asyncio.create_task(world.training().run())
            await until(lambda: any("disk is full" in text for text in said))
            assert not any("the server says" in text for text in said)
            assert not full._stopped.is_set()
            _set_room(ledger, 1_000_000)
            await training
        full.stop()
        await working
        return said

    said = run(train())
    assert sum("disk is full" in text for text in said) == 1
    assert "the ledger can be written again" in said
    assert set(world.given().values()) == {4}


def test_a_learner_without_room_waits_for_it(tmp_path):
    world = World(tmp_path, treaty_text("averaged-subgradient", 120))
    world.start()

    async def train():
        await world.prepare()
        async with world.agents():
            training = world.training()
            said: list[str] = []
            training._conductor._say = said.append
            _set_room(training._journal, _pages(training._journal))
            working = asyncio.create_task(training.run())
            await until(lambda: any("waiting for room" in text for text in said))
            assert not working.done()
            _set_room(training._journal, 1_000_000)
            return await working

    try:
        model = run(train(), 60)
    finally:
        world.stop()
    assert model.theta == world.from_ledgers(world.training().run_name)


def test_a_real_disk_without_room(tmp_path):
    """An owner's folder on a disk of its own that fills up while it is asked."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=400k", "none", str(disk)],
        check=False,
        capture_output=True,
    )
    if mounted.returncode != 0:
        if os.environ.get("CI"):
            pytest.fail(f"the disk was not mounted: {mounted.stderr.decode()}")
        pytest.skip("mounting a disk needs more rights than this process has")
    try:
        world = World(tmp_path, treaty_text("averaged-subgradient", 30))
        home = world.homes[NAMES[0]]
        shutil.copytree(home.folder, disk / "home")
        shutil.rmtree(home.folder)
        home.folder.symlink_to(disk / "home")
        world.start()
        said: list[str] = []

        async def train():
            await world.prepare()
            owner = world.agent(NAMES[0], said.append)
            working = asyncio.create_task(owner.run())
            async with world.agents(*NAMES[1:]):
                training = asyncio.create_task(world.training().run())
                await until(lambda: world.answered(NAMES[0]) >= 3)
                ballast = disk / "ballast"
                with ballast.open("wb", buffering=0) as file:
                    try:
                        while file.write(b"x" * 1024):
                            pass
                    except OSError:
                        pass
                await until(lambda: any("cannot be written" in text for text in said))
                ballast.unlink()
                model = await training
            owner.stop()
            await working
            return model

        try:
            model = run(train())
        finally:
            world.stop()
        assert model.theta == world.from_ledgers(world.training().run_name)
        assert set(world.given().values()) == {29}
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=False)


def _servers(port: int) -> list[int]:
    """The processes that were started with the configuration of this port's federation."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            command = (entry / "cmdline").read_bytes()
            inside = os.readlink(entry / "cwd")
            state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if b"nats-server" in command and str(port) in inside and state != "Z":
            found.append(int(entry.name))
    return found


def test_a_killed_serve_leaves_no_orphan(tmp_path):
    from treaty.federation.nats.authority import make_federation

    port = free_port()
    federation = make_federation(tmp_path / f"federation-{port}", NAMES, port=port)
    serving = subprocess.Popen(
        [sys.executable, "-m", "treaty", "federation", "serve", str(federation)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert serving.stdout is not None
        assert "serving at" in serving.stdout.readline()
        assert len(_servers(port)) == 1
        serving.send_signal(signal.SIGKILL)
        serving.wait()
        serving.stdout.close()
        run(until(lambda: not _servers(port)))
    finally:
        serving.kill()
        serving.wait()


def test_a_server_is_stopped_twice_without_harm(world):
    assert world.server is not None
    stop_server(world.server)
    stop_server(world.server)
