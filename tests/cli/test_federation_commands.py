"""The federation's commands as people type them: operator, owners, learner, auditor."""

import json
import signal
import subprocess
from pathlib import Path

import pytest
from test_commands import TREATY, run

from treaty.errors import TreatyError
from treaty.federation.nats.demo import BANKS, free_port, slug
from treaty.owner import Home
from treaty.terms.names import token


@pytest.mark.parametrize(
    "command",
    [
        ["ratify"],
        ["owner"],
        ["ledger"],
        ["revoke"],
        ["learn"],
        ["federation", "init"],
        ["federation", "serve"],
        ["federation", "prepare"],
        ["federation", "demo"],
    ],
)
def test_help_has_an_example(command):
    done = run(*command, "--help")
    assert done.returncode == 0
    assert "Example" in done.stdout


@pytest.fixture(scope="module")
def banks(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("banks")
    done = run("federation", "demo", "--keep", folder)
    assert done.returncode == 0, done.stderr
    for words in (
        "lets one learner ask about 6,000 records",
        "three owners are running",
        "Trained, round 19 of 19",
        "19 of 20 answers, ε 0.95 of 1 spent",
    ):
        assert words in " ".join(done.stdout.split())
    assert done.stderr == ""
    return folder


def test_the_ledger_is_shown_exported_and_checked(banks, tmp_path):
    home = banks / slug("North Bank")
    done = run("ledger", "--home", home, "--export", tmp_path / "audit.jsonl")
    assert done.returncode == 0, done.stderr
    assert "19 of 20" in done.stdout
    assert "Unbroken; the last hash is" in done.stdout
    head = done.stdout.split()[-1]
    checked = run("ledger", "--check", tmp_path / "audit.jsonl")
    assert head in checked.stdout
    lines = (tmp_path / "audit.jsonl").read_text().splitlines()
    lines[5] = lines[5].replace('"round": ', '"round": 1')
    (tmp_path / "audit.jsonl").write_text("\n".join(lines))
    broken = run("ledger", "--check", tmp_path / "audit.jsonl")
    assert broken.returncode == 2
    assert "event 6 of the ledger is not what was written" in broken.stderr
    told = json.loads(run("ledger", "--home", home, "--json").stdout)
    assert told["charged"] == pytest.approx(0.95)
    assert told["treaties"][0]["given"] == 19
    assert told["head"] == head


def test_a_ledger_is_backed_up_and_restored(banks, tmp_path):
    home = banks / slug("River Bank")
    file = tmp_path / "backup.sqlite"
    done = run("ledger", "--home", home, "--backup", file, "--events", 0, "--json")
    assert json.loads(done.stdout)["treaties"][0]["given"] == 19
    assert file.stat().st_mode & 0o777 == 0o600
    again = run("ledger", "--home", home, "--backup", file)
    assert again.returncode == 2
    assert "a backup is never written over" in again.stderr
    alone = run("ledger", "--home", home, "--new-key")
    assert alone.returncode == 2
    assert "--new-key and --data go with --restore" in alone.stderr
    _a_lost_laptop(home, file, tmp_path)
    restored = run("ledger", "--home", home, "--restore", file)
    assert restored.returncode == 0, restored.stderr
    assert "No grant of before is open any more, and ε = 0.05" in " ".join(restored.stdout.split())
    assert "restoration" in restored.stdout
    assert "20 of 20" in restored.stdout


def _a_lost_laptop(home, backup, tmp_path):
    """On a new machine one command brings policy, source, treaties and ledger back."""
    new = tmp_path / "new machine"
    words = ("ledger", "--home", new, "--restore", backup)
    told = run(*words)
    assert told.returncode == 2
    assert (
        "If the records are the very ones that the backup guards, say so with --new-key"
        in " ".join(told.stderr.split())
    )
    restored = run(*words, "--new-key", "--json")
    assert restored.returncode == 0, restored.stderr
    known = json.loads(restored.stdout)
    assert known["treaties"][0]["given"] == 20
    # Nothing tells how far the lost ledger had come, so all that its cap allowed counts as spent.
    assert known["charged"] == known["cap"]
    assert (new / "policy.toml").read_bytes() == (home / "policy.toml").read_bytes()
    assert list((new / "treaties").iterdir())
    with pytest.raises(TreatyError, match="treaty ledger --restore BACKUP brings it back"):
        Home(tmp_path / "empty").records()


def test_a_training_from_init_to_revocation(banks, tmp_path):
    """Every party at its own prompt, one after the other."""
    treaty, names = banks / "treaty.toml", list(BANKS)
    federation, port = tmp_path / "federation", free_port()
    made = run("federation", "init", treaty, "--out", federation, "--port", port)
    assert made.returncode == 0, made.stderr
    assert token("Old Bank") in made.stdout
    for name in names:
        done = run(
            "ratify", treaty, "--name", name, "--epsilon", 1.0, "--yes",
            "--data", banks / f"{slug(name)}.parquet", "--home", tmp_path / slug(name),
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert "Granted, and written into" in done.stdout
    processes = [
        subprocess.Popen(
            [*TREATY, "federation", "serve", str(federation)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    ]
    for name in names:
        command = [*TREATY, "owner", "--home", str(tmp_path / slug(name))]
        command += ["--credential", str(federation / "owners" / token(name))]
        with (tmp_path / f"{slug(name)}.log").open("wb") as log:
            processes.append(subprocess.Popen(command, stdout=log, stderr=log))
    learn = ["learn", treaty, "--credential", federation / "learner"]
    model = tmp_path / "model.json"
    try:
        done = run(*learn, "--model", model, "--json")
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        assert told["answers"] == dict.fromkeys(told["answers"], 19)
        again = json.loads(run(*learn, "--model", model, "--json").stdout)
        assert again["theta"] == told["theta"]
        shown = run(*learn, "--model", model)
        assert "Trained together" in shown.stdout
        revoked = run("revoke", told["treaty"][:10], "--home", tmp_path / slug("Old Bank"))
        assert "Revoked" in revoked.stdout
        other = run(*learn, "--model", tmp_path / "second.json")
        assert other.returncode == 2
        assert "has begun already" in other.stderr
        anew = run(*learn, "--model", tmp_path / "second.json", "--again")
        assert anew.returncode == 2
        assert "refuses round" in anew.stderr
    finally:
        for process in reversed(processes):
            process.send_signal(signal.SIGTERM)
        ended = [process.wait(300) for process in processes]
    assert ended == [0, 0, 0, 0]
    assert "refused" in (tmp_path / "old-bank.log").read_text()


def test_a_learner_that_is_stopped_says_how_to_go_on(banks, tmp_path):
    federation = tmp_path / "federation"
    run("federation", "init", banks / "treaty.toml", "--out", federation, "--port", free_port())
    server = subprocess.Popen(
        [*TREATY, "federation", "serve", str(federation)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        learner = subprocess.Popen(
            [
                *TREATY, "learn", str(banks / "treaty.toml"),
                "--credential", str(federation / "learner"), "--model", str(tmp_path / "m.json"),
            ],
            stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        assert learner.stderr is not None
        heard = ""
        while "no answer from" not in heard:
            heard = learner.stderr.readline()
            assert heard, "the learner ended before it was stopped"
        learner.send_signal(signal.SIGINT)
        _, said = learner.communicate(timeout=300)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(300)
    assert learner.returncode == 2
    assert "stopped; the same command goes on from" in " ".join(said.split())


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["ledger", "--home", "nowhere"], "there is no ledger"),
        (["owner", "--credential", "nowhere", "--home", "nothing"], "not a credential"),
        (["owner", "--credential", "{learner}", "--home", "nothing"], "there is no policy"),
        (["learn", "{treaty}", "--credential", "nowhere"], "not a credential"),
        (["learn", "{treaty}", "--credential", "nowhere", "--meet", "shout"], "--meet is"),
        (["revoke", "abc", "--home", "nowhere"], "there is no ledger"),
        (["federation", "init", "{treaty}", "--out", "."], "exists already"),
        (["federation", "serve", "nowhere"], "not a credential"),
        (
            ["ratify", "{treaty}", "--name", "Nobody", "--epsilon", "1", "--data", "x.parquet"],
            "Nobody is not a party to this treaty",
        ),
        (
            ["ratify", "{treaty}", "--name", "Old Bank", "--epsilon", "2", "--data", "x.parquet"],
            "what is granted must be what all parties read",
        ),
    ],
)
def test_what_cannot_be_done_is_told_in_one_sentence(banks, tmp_path, words, says):
    places = {"{treaty}": banks / "treaty.toml", "{learner}": banks / "federation" / "learner"}
    done = run(*(places.get(word, word) for word in words), cwd=tmp_path)
    assert done.returncode == 2
    assert says in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
