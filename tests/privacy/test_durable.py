"""What has been answered is never forgotten: lost files, restored copies, damage, full disks."""

import json
import os
import shutil
import sqlite3
import tracemalloc
from fractions import Fraction

import pytest
from dp_accounting import LaplaceDpEvent

from treaty.errors import Refusal, TreatyError
from treaty.logbook import Broken, Mark, Unwritable, logbook
from treaty.logbook.mark import MarkFile
from treaty.privacy import Budget, Dataset, DurableLedger, Entry, Grant
from treaty.privacy.durable import mark_of
from treaty.privacy.entries import plain_entry, read_entry
from treaty.privacy.restoring import restore

DATA = Dataset(1000, "digest")


def _entry(round: int, treaty: str = "treaty") -> Entry:
    return Entry(treaty, "run", round, (0.0,), (1.0,), LaplaceDpEvent(10.0))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def ledger(path):
    made = DurableLedger.create(path, DATA, Budget(3.0, 1e-5))
    made.grant(Grant("treaty", Budget(1.0), 20))
    yield made
    made.close()


def test_what_durability_rests_on_is_read_from_the_open_database(ledger):
    """0 would be OFF: nothing is ever brought to the disk."""
    assert ledger._database.execute("PRAGMA synchronous").fetchone()[0] >= 1
    assert ledger._database.execute("PRAGMA journal_mode").fetchone()[0] == "wal"


def test_a_database_that_does_not_keep_its_settings_is_refused(ledger, path, monkeypatch):
    monkeypatch.setattr(logbook, "SETTINGS", {**logbook.SETTINGS, "synchronous": 7})
    with pytest.raises(TreatyError, match="SQLite does not keep what it is told"):
        DurableLedger(path)


def test_every_answer_is_settled_before_it_leaves(ledger, monkeypatch):
    """Without the move into the one file nothing is returned."""
    moved = []
    settle = logbook.Logbook._settle
    monkeypatch.setattr(logbook.Logbook, "_settle", lambda self: (moved.append(1), settle(self)))
    for k in range(5):
        ledger.write(_entry(k))
        assert len(moved) == k + 1
        wal = ledger._database.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        assert wal[1] == wal[2]


def test_a_copy_of_the_one_file_holds_every_answer(ledger, path, tmp_path):
    """Nineteen answers, the process still running, and only the one file copied."""
    for k in range(19):
        ledger.write(_entry(k))
        shutil.copy(path, tmp_path / f"copy{k}.sqlite")
        copy = DurableLedger(tmp_path / f"copy{k}.sqlite", marked=False)
        assert copy.answers_given("treaty") == k + 1
        copy.close()


def test_a_lost_write_ahead_file_loses_nothing(ledger, path, tmp_path):
    for k in range(19):
        ledger.write(_entry(k))
    away = tmp_path / "away"
    away.mkdir()
    # As after a crash: the files as they are, without the write-ahead file and its index.
    for name in ("ledger.sqlite", "ledger.mark"):
        shutil.copy(tmp_path / name, away / name)
    again = DurableLedger(away / "ledger.sqlite")
    again.verify()
    assert again.answers_given("treaty") == 19
    again.write(_entry(19))
    with pytest.raises(Refusal, match="budget is spent"):
        again.write(_entry(20))
    again.close()


def test_an_older_copy_put_back_is_refused(ledger, path, tmp_path):
    ledger.write(_entry(0))
    shutil.copy(path, tmp_path / "older.sqlite")
    for k in range(1, 10):
        ledger.write(_entry(k))
    ledger.close()
    shutil.copy(tmp_path / "older.sqlite", path)
    with pytest.raises(Broken, match="has forgotten: it ends with event 4, and event 13 had been"):
        DurableLedger(path)


def test_another_history_of_the_same_length_is_refused(ledger, path, tmp_path):
    """A chain made anew by who can write the file is unbroken, and not the one that was written."""
    for k in range(3):
        ledger.write(_entry(k))
    ledger.close()
    forged = DurableLedger.create(tmp_path / "forged.sqlite", DATA, Budget(3.0, 1e-5))
    forged.grant(Grant("treaty", Budget(1.0), 20))
    for _ in range(3):
        forged.refused({"reason": "nothing"})
    forged.close()
    shutil.copy(tmp_path / "forged.sqlite", path)
    with pytest.raises(Broken, match="or another one than is there"):
        DurableLedger(path)


def test_without_its_mark_a_ledger_that_granted_is_refused(ledger, path):
    ledger.write(_entry(0))
    ledger.close()
    mark_of(path).unlink()
    with pytest.raises(Broken, match=r"ledger.mark beside it is missing"):
        DurableLedger(path)


def test_a_ledger_that_is_gone_is_not_begun_anew(ledger, path):
    ledger.close()
    path.unlink()
    with pytest.raises(TreatyError, match=r"ledger.mark tells of a ledger that is gone"):
        DurableLedger.create(path, DATA, Budget(3.0))


def test_a_mark_survives_a_write_that_was_cut(tmp_path):
    file = MarkFile(tmp_path / "one.mark")
    assert file.read() is None
    for seq in (1, 2, 3):
        file.raise_to(Mark(seq, f"{seq:064x}", {}))
    file.raise_to(Mark(2, "f" * 64, {}))
    assert file.read() == Mark(3, f"{3:064x}", {})
    file.close()
    data = bytearray((tmp_path / "one.mark").read_bytes())
    data[20] ^= 1
    (tmp_path / "one.mark").write_bytes(data)
    assert MarkFile(tmp_path / "one.mark").read() == Mark(2, f"{2:064x}", {})
    (tmp_path / "one.mark").write_bytes(b"")
    with pytest.raises(TreatyError, match="not a mark"):
        MarkFile(tmp_path / "one.mark").read()


def test_a_backup_is_made_while_the_ledger_is_in_use(ledger, path, tmp_path):
    for k in range(7):
        ledger.write(_entry(k))
    other = DurableLedger(path)
    assert other.backup(tmp_path / "backup.sqlite") == 10
    other.close()
    ledger.write(_entry(7))
    copy = DurableLedger(tmp_path / "backup.sqlite", marked=False)
    copy.verify()
    assert copy.answers_given("treaty") == 7
    copy.close()
    assert (tmp_path / "backup.sqlite").stat().st_mode & 0o777 == 0o600
    with pytest.raises(TreatyError, match="a backup is never written over"):
        ledger.backup(tmp_path / "backup.sqlite")


def test_a_restored_backup_counts_as_spent_what_it_may_have_forgotten(ledger, path, tmp_path):
    """Granted 1 (3 of 20 answered), backup, 10 more answered, 0.5 more granted and spent: lost."""
    for k in range(3):
        ledger.write(_entry(k))
    ledger.backup(tmp_path / "backup.sqlite")
    for k in range(3, 13):
        ledger.write(_entry(k))
    ledger.grant(Grant("second", Budget(0.5), 1))
    ledger.write(_entry(1, "second"))
    spent = ledger.charged()
    ledger.close()
    path.write_bytes(b"damaged")
    lost = restore(path, tmp_path / "backup.sqlite", Dataset(1000, "new"), Budget(3.0, 1e-5))
    restored = DurableLedger(path)
    restored.verify()
    assert restored.charged() == Fraction(3, 2) >= spent
    assert lost == restored.charged() - Fraction(3, 20)
    assert restored.committed()[0] == Fraction(3, 2)
    assert restored.dataset == Dataset(1000, "new")
    with pytest.raises(Refusal, match="has been revoked"):
        restored.write(_entry(13))
    with pytest.raises(Refusal, match="does not fit"):
        restored.grant(Grant("third", Budget(1.6), 1))
    restored.grant(Grant("third", Budget(1.5), 1))
    restored.close()
    assert path.with_name("ledger.sqlite.replaced1").read_bytes() == b"damaged"


def test_a_backup_restored_without_a_mark_leaves_nothing_to_grant(ledger, path, tmp_path):
    ledger.backup(tmp_path / "backup.sqlite")
    ledger.close()
    path.unlink()
    mark_of(path).unlink()
    restore(path, tmp_path / "backup.sqlite", DATA, Budget(3.0, 1e-5))
    restored = DurableLedger(path)
    assert restored.committed() == restored.cap
    with pytest.raises(Refusal, match="does not fit"):
        restored.grant(Grant("more", Budget(0.001), 1))
    restored.close()


@pytest.mark.parametrize(
    ("hostile", "says"),
    [
        (
            "CREATE TRIGGER forget AFTER INSERT ON answers BEGIN UPDATE grants SET given = 0; END",
            "the trigger forget does not belong here",
        ),
        ("CREATE VIEW more AS SELECT * FROM grants", "the view more does not belong here"),
        ("CREATE TABLE notes(a)", "the table notes does not belong here"),
        ("DROP TRIGGER events_stay", "tables of the ledger are missing"),
        ("CREATE INDEX quick ON events(kind)", "the index quick does not belong here"),
    ],
)
def test_a_ledger_with_another_schema_is_refused(ledger, path, hostile, says):
    ledger.write(_entry(0))
    vandal = sqlite3.connect(path)
    vandal.execute(hostile)
    vandal.commit()
    vandal.close()
    with pytest.raises(Broken, match=says):
        ledger.verify()
    ledger.close()
    with pytest.raises(Broken, match=says):
        DurableLedger(path)


def test_a_flipped_bit_never_goes_unnoticed(ledger, path):
    """Every bit of a few hundred, one after the other: noticed, or nothing the ledger says differs."""
    for k in range(4):
        ledger.write(_entry(k))
    whole = [event.plain() for event in ledger.events()]
    grants, cap = ledger.grants(), ledger.cap
    ledger.close()
    sound = path.read_bytes()
    noticed = 0
    for at in range(0, len(sound), 61):
        damaged = bytearray(sound)
        damaged[at] ^= 1 << (at % 8)
        path.write_bytes(damaged)
        try:
            opened = DurableLedger(path)
        except TreatyError:
            noticed += 1
            continue
        try:
            opened.verify()
            assert [event.plain() for event in opened.events()] == whole
            assert (opened.grants(), opened.cap) == (grants, cap)
        except TreatyError:
            noticed += 1
        finally:
            opened.close()
    assert noticed > 20


def test_an_answer_that_was_damaged_is_not_sent_again(ledger, path):
    ledger.write(_entry(0))
    body = json.dumps(plain_entry(Entry("treaty", "run", 0, (0.0,), (7.0,), LaplaceDpEvent(10.0))))
    vandal = sqlite3.connect(path)
    triggers = vandal.execute(
        "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'"
    ).fetchall()
    for name, _ in triggers:
        vandal.execute(f"DROP TRIGGER {name}")
    vandal.execute("UPDATE events SET body = ? WHERE seq = 4", (body,))
    for _, sql in triggers:
        vandal.execute(sql)
    vandal.commit()
    vandal.close()
    with pytest.raises(Broken, match="event 4 is not what was written"):
        ledger.entry("treaty", "run", 0)


def test_a_full_disk_is_told_and_costs_nothing(ledger):
    """SQLite's own limit of pages stands for the disk's end: the same error, and room again later."""
    ledger.write(_entry(0))
    pages = ledger._database.execute("PRAGMA page_count").fetchone()[0]
    ledger._database.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(Unwritable, match=r"cannot be written \(database or disk is full\)"):
        ledger.refused({"reason": "x" * 100_000})
    assert ledger.answers_given("treaty") == 1
    ledger._database.execute("PRAGMA max_page_count = 1000000")
    ledger.write(_entry(1))
    ledger.verify()
    assert ledger.answers_given("treaty") == 2


@pytest.mark.parametrize(
    "event",
    [
        {"name": "PoissonSampledDpEvent"},
        {"name": "NoOpDpEvent"},
        {"name": "NonPrivateDpEvent", "noise_multiplier": 3.0},
    ],
)
def test_an_unknown_event_is_refused_and_not_read_as_no_privacy(event):
    body = {**plain_entry(_entry(1)), "event": event}
    with pytest.raises(TreatyError, match="not understood"):
        read_entry(body)


def test_an_event_of_an_unknown_kind_is_refused(ledger, path):
    ledger.close()

    class Newer(DurableLedger):
        @classmethod
        def _index(cls, database, kind, body, seq):
            if kind != "gift":
                super()._index(database, kind, body, seq)

    newer = Newer(path)
    with newer._writing():
        newer._append("gift", {"epsilon": "1"})
    newer.verify()
    newer.close()
    opened = DurableLedger(path)
    with pytest.raises(Broken, match=r"event 4 \(gift\) is not understood"):
        opened.verify()
    opened.close()


def test_checking_a_long_past_takes_little_memory(ledger, path):
    """Twenty thousand refusals, read a portion at a time."""
    with ledger._writing():
        for _ in range(20_000):
            ledger._append("refusal", {"learner": "somebody", "reason": "theta lies outside Θ" * 5})
    ledger.close()
    tracemalloc.start()
    opened = DurableLedger(path)
    opened.verify()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    opened.close()
    assert peak < 8 << 20
    assert os.path.getsize(path) > 4 << 20


@pytest.mark.parametrize("step", ["_keep_aside", "put_in_place", "write_mark"])
def test_a_restore_that_is_cut_off_never_makes_room_for_a_new_ledger(
    ledger, path, tmp_path, monkeypatch, step
):
    """Killed before each of its last steps: what stands is refused or right, and none is begun anew."""
    for k in range(5):
        ledger.write(_entry(k))
    ledger.backup(tmp_path / "backup.sqlite")
    ledger.write(_entry(5))
    ledger.close()

    def cut(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(f"treaty.privacy.restoring.{step}", cut)
    with pytest.raises(KeyboardInterrupt):
        restore(path, tmp_path / "backup.sqlite", DATA, Budget(3.0, 1e-5))
    monkeypatch.undo()
    with pytest.raises(TreatyError):
        DurableLedger.create(path, DATA, Budget(3.0, 1e-5))
    if step == "write_mark":
        with pytest.raises(Broken, match="has forgotten"):
            DurableLedger(path)
    else:
        opened = DurableLedger(path)
        assert opened.answers_given("treaty") == 6
        opened.close()
    restore(path, tmp_path / "backup.sqlite", DATA, Budget(3.0, 1e-5))
    restored = DurableLedger(path)
    assert restored.charged() == 1
    restored.close()


def test_without_a_mark_a_restored_backup_counts_the_largest_cap_there_ever_was(
    ledger, path, tmp_path
):
    """The backup knows a cap of 3; the policy allowed 10 when the ledger was lost."""
    ledger.backup(tmp_path / "backup.sqlite")
    ledger.set_cap(Budget(10.0, 1e-5))
    ledger.grant(Grant("large", Budget(9.0), 1))
    ledger.write(_entry(1, "large"))
    ledger.close()
    path.unlink()
    mark_of(path).unlink()
    restore(path, tmp_path / "backup.sqlite", DATA, Budget(10.0, 1e-5))
    restored = DurableLedger(path)
    assert restored.committed()[0] == 10
    restored.close()


def test_a_standing_ledger_counts_even_if_its_mark_is_lost(ledger, path, tmp_path):
    small = DurableLedger.create(tmp_path / "small.sqlite", DATA, Budget(0.1))
    small.backup(tmp_path / "backup.sqlite")
    small.close()
    for k in range(20):
        ledger.write(_entry(k))
    ledger.close()
    mark_of(path).unlink()
    restore(path, tmp_path / "backup.sqlite", DATA, Budget(0.1))
    restored = DurableLedger(path)
    assert restored.committed()[0] == 3
    restored.close()


def test_an_older_copy_of_nothing_but_its_beginning_is_refused_without_a_mark(path, tmp_path):
    made = DurableLedger.create(path, DATA, Budget(3.0))
    shutil.copy(path, tmp_path / "older.sqlite")
    made.grant(Grant("treaty", Budget(1.0), 1))
    made.close()
    shutil.copy(tmp_path / "older.sqlite", path)
    mark_of(path).unlink()
    with pytest.raises(Broken, match="beside it is missing"):
        DurableLedger(path)


def test_a_ledger_whose_making_was_cut_off_can_be_made(path, monkeypatch):
    def cut(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("treaty.privacy.durable.put_in_place", cut)
    with pytest.raises(KeyboardInterrupt):
        DurableLedger.create(path, DATA, Budget(3.0))
    monkeypatch.undo()
    assert mark_of(path).exists()
    DurableLedger.create(path, DATA, Budget(3.0)).close()


def test_what_another_agent_has_only_committed_is_made_sure_of_before_it_leaves(
    ledger, path, tmp_path, monkeypatch
):
    """The other process stopped between its commit and the move into the one file."""
    other = DurableLedger(path)
    monkeypatch.setattr(other, "_after_commit", lambda: None)
    other.write(_entry(3))
    for ask in (lambda: ledger.write(_entry(3)), lambda: ledger.entry("treaty", "run", 3)):
        assert ask() == _entry(3)
        shutil.copy(path, tmp_path / "copy.sqlite")
        copy = DurableLedger(tmp_path / "copy.sqlite", marked=False)
        assert copy.entry("treaty", "run", 3) == _entry(3)
        copy.close()
    assert MarkFile(mark_of(path)).read().seq == 4
    other.close()


def test_totals_of_any_grants_fit_into_a_mark(path):
    """A hundred revoked grants with prime numbers of answers: the sum has a huge denominator."""
    ledger = DurableLedger.create(path, DATA, Budget(1000.0))
    primes = [p for p in range(2, 600) if all(p % q for q in range(2, p))][:100]
    for p in primes:
        ledger.grant(Grant(f"t{p}", Budget(1.0), p))
        ledger.write(_entry(1, f"t{p}"))
        ledger.revoke(f"t{p}")
    exact = ledger.committed()[0]
    ledger.close()
    mark = MarkFile(mark_of(path)).read()
    assert 0 <= Fraction(mark.total["epsilon"]) - exact < Fraction(1, 1 << 79)
    DurableLedger(path).close()


def test_a_write_that_failed_leaves_no_total_behind(ledger, path, monkeypatch):
    pages = ledger._database.execute("PRAGMA page_count").fetchone()[0]
    ledger._database.execute(f"PRAGMA max_page_count = {pages}")
    huge = Entry("treaty", "run", 1, (0.0,) * 5000, (1.0,) * 5000, LaplaceDpEvent(10.0))
    with pytest.raises(Unwritable):
        ledger.write(huge)
    ledger._database.execute("PRAGMA max_page_count = 1000000")
    other = DurableLedger(path)
    other.grant(Grant("second", Budget(2.0), 1))
    other.close()
    ledger.refused({"reason": "nothing"})
    assert Fraction(MarkFile(mark_of(path)).read().total["epsilon"]) == 3


@pytest.mark.parametrize("cap", ["1/0", "x", "-1"])
def test_a_chain_of_senseless_events_is_refused_in_a_sentence(tmp_path, cap):
    path = tmp_path / "ledger.sqlite"
    with pytest.raises((ValueError, ArithmeticError)):
        DurableLedger._build(path, [("open", vars(DATA)), ("cap", {"epsilon": cap, "delta": "0"})])
