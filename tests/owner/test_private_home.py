"""An owner's folder: closed to others, its key never leaves, and the policy comes before any code."""

import hashlib
import json
import os
import sqlite3
import subprocess
import sys

import polars as pl
import pytest

from treaty.errors import Refusal, TreatyError
from treaty.owner import Home
from treaty.owner.offer import unusual
from treaty.records import open_source
from treaty.terms import dumps, fit, loads, plan_of
from world import NAMES, treaty_text, write_rows

DOCUMENT = fit(loads(treaty_text()), None)


@pytest.fixture
def data(tmp_path):
    return write_rows(tmp_path / "ours.parquet", 0)


def _ratified(home: Home, data) -> Home:
    home.ratify(home.offer(DOCUMENT, NAMES[0], 1.0, data), data)
    return home


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_nobody_else_can_read_anything_whatever_the_umask(tmp_path, data, umask):
    before = os.umask(umask)
    try:
        home = _ratified(Home(tmp_path / "deep" / "home"), data)
        opened = home.open()
        opened.ledger.refused({"reason": "nothing"})
        found = [home.folder, *home.folder.rglob("*")]
        modes = {str(path): path.stat().st_mode & 0o777 for path in found}
        opened.close()
    finally:
        os.umask(before)
    assert any(name.endswith("-wal") for name in modes)
    for path in found:
        assert modes[str(path)] == (0o700 if path.suffix == "" else 0o600), path


def test_a_folder_that_others_could_read_is_closed_when_it_is_opened(tmp_path, data):
    home = _ratified(Home(tmp_path / "home"), data)
    for path in (home.folder, *home.folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    home.open().close()
    assert all(p.stat().st_mode & 0o077 == 0 for p in (home.folder, *home.folder.rglob("*")))


def test_an_export_does_not_let_anybody_try_values_out(tmp_path, data):
    """Who knows every value but one, and the file's layout, makes every candidate and compares."""
    home = _ratified(Home(tmp_path / "home"), data)
    ledger = home.ledger()
    exported = json.dumps([event.plain() for event in ledger.events()])
    known = ledger.dataset.fingerprint
    ledger.close()
    content = data.read_bytes()
    for digest in (hashlib.sha256, hashlib.sha512, hashlib.blake2b, hashlib.md5):
        assert digest(content).hexdigest() not in exported
    assert hashlib.blake2b(content, digest_size=32).hexdigest() != known
    assert hashlib.blake2b(content, key=home._key(), digest_size=32).hexdigest() == known
    assert home._key().hex() not in exported
    other = _ratified(Home(tmp_path / "other"), data)
    ledger = other.ledger()
    assert ledger.dataset.fingerprint != known
    ledger.close()


def test_known_rows_of_a_database_cannot_be_subtracted(tmp_path, monkeypatch):
    """With an unkeyed sum, the hashes of known rows leave the hash of the unknown one behind."""
    path = tmp_path / "records.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE r(a REAL)")
        database.executemany("INSERT INTO r VALUES (?)", [(1.0,), (2.0,), (2.3,)])
    database.close()
    monkeypatch.setenv("OUR_RECORDS", str(path))
    terms = tmp_path / "ours.toml"
    terms.write_text('kind = "sqlite"\naddress = "OUR_RECORDS"\nquery = "SELECT a FROM r"\n')
    key, wrong = b"k" * 32, b"w" * 32
    total = int(open_source(terms).fingerprint(key), 16)

    def left(secret: bytes) -> int:
        names = hashlib.blake2b(repr(["a"]).encode(), key=secret, digest_size=32).digest()
        rest = total - int.from_bytes(names)
        for known in (("1",), ("2",)):
            digest = hashlib.blake2b(repr(known).encode(), key=secret, digest_size=32).digest()
            rest -= int.from_bytes(digest)
        return rest % (1 << 256)

    def guess(secret: bytes) -> list[float]:
        tries = [round(0.1 * i, 1) for i in range(100)]
        return [
            y
            for y in tries
            if int.from_bytes(
                hashlib.blake2b(repr((str(y),)).encode(), key=secret, digest_size=32).digest()
            )
            == left(secret)
        ]

    assert guess(key) == [2.3]
    assert guess(wrong) == []
    assert guess(b"") == []


def test_without_its_key_nothing_is_answered(tmp_path, data):
    home = _ratified(Home(tmp_path / "home"), data)
    home.key_file.unlink()
    with pytest.raises(TreatyError, match=r"records.key: cannot be read"):
        home.open()
    home.key_file.write_bytes(b"short")
    with pytest.raises(TreatyError, match="not a key: it has 5 bytes"):
        home.open()


def test_a_backup_goes_back_into_a_home_that_lost_everything_but_its_records(tmp_path, data):
    home = _ratified(Home(tmp_path / "home"), data)
    ledger = home.ledger()
    ledger.backup(tmp_path / "backup.sqlite")
    ledger.close()
    at_work = home.open()
    with pytest.raises(TreatyError, match="an agent is at work here; stop it first"):
        home.restore(tmp_path / "backup.sqlite")
    at_work.close()
    home.ledger_file.unlink()
    home.key_file.unlink()
    with pytest.raises(TreatyError, match="is gone, and treaties have been ratified here"):
        home.ratify(home.offer(DOCUMENT, NAMES[0], 1.0, data), data)
    with pytest.raises(TreatyError, match="If the records are the very ones"):
        home.restore(tmp_path / "backup.sqlite")
    assert not home.key_file.exists()
    assert float(home.restore(tmp_path / "backup.sqlite", new_key=True)) == 1.0
    opened = home.open()
    assert float(opened.ledger.charged()) == 1.0
    opened.close()


def test_a_ledger_and_its_mark_that_are_gone_together_are_missed(tmp_path, data):
    """The treaties that were ratified are still there: nothing is begun anew."""
    home = _ratified(Home(tmp_path / "home"), data)
    home.ledger_file.unlink()
    home.ledger_file.with_suffix(".mark").unlink()
    other = fit(loads(treaty_text(horizon=5)), None)
    offer = home.offer(other, NAMES[0], 1.0, data)
    with pytest.raises(TreatyError, match="is gone, and treaties have been ratified here"):
        home.ratify(offer, data)


def test_a_backup_of_other_records_is_refused(tmp_path, data):
    home = _ratified(Home(tmp_path / "home"), data)
    others = write_rows(tmp_path / "others.parquet", 7)
    other = _ratified(Home(tmp_path / "other"), others)
    ledger = other.ledger()
    ledger.backup(tmp_path / "backup.sqlite")
    ledger.close()
    with pytest.raises(TreatyError, match="not the same ones"):
        home.restore(tmp_path / "backup.sqlite")
    home.open().close()


@pytest.mark.parametrize("module", ["numpy", "json", "polars", "os", "typing", "rich", "typer"])
def test_a_module_of_pythons_own_name_beside_a_treaty_does_not_run(tmp_path, module):
    mark = tmp_path / "it ran"
    (tmp_path / f"{module}.py").write_text(f"open({str(mark)!r}, 'w')")
    done = subprocess.run(
        [sys.executable, "-m", "treaty", "--help"], cwd=tmp_path, capture_output=True, check=False
    )
    assert done.returncode == 0
    assert not mark.exists()


HOSTILE = """
import pathlib
pathlib.Path({mark!r}).touch()
from treaty.losses import Squared

class Mine(Squared):
    name = "mine"
"""


def _hostile(folder, mark, module="trap"):
    (folder / f"{module}.py").write_text(HOSTILE.format(mark=str(mark)))
    text = treaty_text().replace('name = "squared"', f'name = "{module}:Mine"')
    (folder / "treaty.toml").write_text(text)
    return loads(text)


def test_code_that_a_treaty_names_does_not_run_before_the_policy_allows_it(
    tmp_path, data, monkeypatch
):
    mark = tmp_path / "it ran"
    document = _hostile(tmp_path, mark)
    monkeypatch.syspath_prepend(tmp_path)
    home = Home(tmp_path / "home")
    with pytest.raises(Refusal, match="the policy does not allow the loss trap:Mine"):
        home.offer(document, NAMES[0], 1.0, data)
    assert not mark.exists()
    home.folder.mkdir()
    home.policy_file.write_text('losses = ["squared", "trap:Mine"]')
    home.offer(document, NAMES[0], 1.0, data)
    assert mark.exists()


@pytest.mark.parametrize("start", [["-m", "treaty"], ["-P", "-m", "treaty"]])
def test_a_file_beside_the_treaty_is_not_enough(tmp_path, data, start):
    """As a person does it, in the folder of the treaty: with every command that reads one."""
    mark = tmp_path / "it ran"
    _hostile(tmp_path, mark)
    for words in (
        [
            "ratify",
            "treaty.toml",
            "--name",
            NAMES[0],
            "--epsilon",
            "1",
            "--data",
            str(data),
            "--yes",
        ],
        ["simulate", "treaty.toml", "--data", str(data)],
        ["simulate", "treaty.toml", "--data", str(data), "--loss", "trap:Mine"],
    ):
        done = subprocess.run(
            [sys.executable, *start, *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
        assert not mark.exists(), words


def test_a_model_file_runs_nothing_without_an_argument(tmp_path, monkeypatch):
    from treaty.models import Model
    from treaty.terms import model_of

    mark = tmp_path / "it ran"
    _hostile(tmp_path, mark, "snare")
    monkeypatch.syspath_prepend(tmp_path)
    model = model_of(DOCUMENT, pl.Series([0.0, 0.0, 0.0]).to_numpy())
    model = model.model_copy(update={"loss": "snare:Mine"})
    model.save(tmp_path / "model.json")
    with pytest.raises(TreatyError, match="permit it by its name if you trust it"):
        Model.load(tmp_path / "model.json").to_sklearn()
    assert not mark.exists()
    assert Model.load(tmp_path / "model.json").to_sklearn(losses=["snare:Mine"])
    assert mark.exists()


def test_the_words_of_an_offer_show_the_sizes_and_point_at_strange_ones(tmp_path, data):
    home = Home(tmp_path / "home")
    words = home.offer(DOCUMENT, NAMES[0], 1.0, data).words()
    for part in (
        "coefficients are at most 2 in size (Θ)",
        "larger than Ξ = 42 in the ℓ₁ norm (not clipped)",
        "has scale 2.24, 0.0533 times the largest answer possible",
        "b: -4 to 4",
    ):
        assert part in words
    assert "Look twice" not in words
    strange = loads(
        treaty_text()
        .replace("theta_max = 2.0", "theta_max = 1e9")
        .replace("[-4, 4]", "[-4, 1e11]", 1)
    )
    words = home.offer(strange, NAMES[0], 1.0, data).words()
    assert "Look twice: theta_max is 1e+09; in the examples it lies between 0.01 and 100" in words
    assert "Look twice: a bound of a is 1e+11" in words


def test_columns_that_look_alike_are_pointed_at():
    text = treaty_text().replace("[features.b]", '[features."\\u0430"]')
    document = fit(loads(text), None)
    plan = plan_of(document)
    party = plan.parties[0]
    told = unusual(party, document, plan.release(party))
    assert any("look alike" in line for line in told)
    assert dumps(document)
