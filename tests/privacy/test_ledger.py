"""Both ledgers keep the same promises; the durable one also survives, and shows every edit."""

import contextlib
import math
import multiprocessing
import sqlite3
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest
from dp_accounting import (
    GaussianDpEvent,
    LaplaceDpEvent,
    NonPrivateDpEvent,
    SelfComposedDpEvent,
)
from dp_accounting.pld import PLDAccountant
from hypothesis import given, settings
from hypothesis import strategies as st

from treaty.errors import Refusal, TreatyError
from treaty.logbook import Event, verify_events
from treaty.privacy import (
    Budget,
    Dataset,
    DurableLedger,
    Entry,
    Grant,
    MemoryLedger,
    epsilon_spent,
)
from treaty.privacy.accounting import gaussian_multiplier

DATA = Dataset(1000, "digest")


def _entry(round: int, run: str = "run", theta=(0.0,), treaty: str = "treaty") -> Entry:
    return Entry(treaty, run, round, theta, (1.0,), LaplaceDpEvent(10.0))


@pytest.fixture(params=["memory", "durable"])
def ledger(request, tmp_path):
    if request.param == "memory":
        yield MemoryLedger()
        return
    made = DurableLedger.create(tmp_path / "ledger.sqlite", DATA, Budget(100.0, 1e-3))
    yield made
    made.close()


@pytest.fixture
def durable(tmp_path):
    made = DurableLedger.create(tmp_path / "ledger.sqlite", DATA, Budget(3.0, 1e-5))
    yield made
    made.close()


def test_what_is_spent_follows_from_what_was_released(ledger):
    """Noise of ten times the sensitivity spends a tenth an answer, whatever the grant says."""
    ledger.grant(Grant("treaty", Budget(5.0), 10))
    for k in range(10):
        assert epsilon_spent(ledger, "treaty") == pytest.approx(k / 10, rel=1e-15)
        ledger.write(_entry(k))
    assert epsilon_spent(ledger, "treaty") == 1.0
    assert epsilon_spent(ledger, "another") == 0.0


def test_an_answer_without_noise_spends_without_end(ledger):
    ledger.grant(Grant("treaty", Budget(5.0), 10))
    ledger.write(replace(_entry(1), event=NonPrivateDpEvent()))
    assert epsilon_spent(ledger, "treaty") == math.inf


def test_a_part_of_an_epsilon_delta_grant_is_no_part_of_its_epsilon(ledger):
    """Five of ten Gaussian answers are more than half of the ε at the same δ."""
    budget = Budget(1.0, 1e-6)
    ledger.grant(Grant("treaty", budget, 10))
    event = GaussianDpEvent(gaussian_multiplier(budget, 10))
    for k in range(5):
        ledger.write(replace(_entry(k), event=event))
    independent = PLDAccountant().compose(SelfComposedDpEvent(event, 5)).get_epsilon(1e-6)
    assert epsilon_spent(ledger, "treaty") == pytest.approx(independent, rel=1e-3)
    assert epsilon_spent(ledger, "treaty") > 0.65


def test_a_spent_grant_takes_no_more(ledger):
    ledger.grant(Grant("treaty", Budget(1.0), 2))
    ledger.write(_entry(1))
    ledger.write(_entry(2))
    with pytest.raises(Refusal, match="2 of 2 answers given, epsilon 1 used up"):
        ledger.write(_entry(3))
    assert ledger.answers_given("treaty") == 2


def test_a_round_is_written_once_and_a_treaty_granted_once(ledger):
    with pytest.raises(Refusal, match="no budget"):
        ledger.write(_entry(1))
    ledger.grant(Grant("treaty", Budget(1.0), 5))
    first = ledger.write(_entry(1))
    again = ledger.write(Entry("treaty", "run", 1, (0.0,), (99.0,), LaplaceDpEvent(10.0)))
    assert again == first
    assert ledger.entry("treaty", "run", 1) == first
    with pytest.raises(Refusal, match="another theta"):
        ledger.write(_entry(1, theta=(0.5,)))
    with pytest.raises(Refusal, match="granted a budget already"):
        ledger.grant(Grant("treaty", Budget(9.0), 5))
    assert ledger.answers_given("treaty") == 1


def test_threads_cannot_overspend(ledger):
    ledger.grant(Grant("treaty", Budget(1.0), 50))
    refused = []

    def work(run: str) -> None:
        for k in range(40):
            try:
                ledger.write(_entry(k, run))
            except Refusal:
                refused.append(k)

    threads = [threading.Thread(target=work, args=(f"run {i}",)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.answers_given("treaty") == 50
    assert len(refused) == 110


def test_what_is_on_the_disk_is_what_was_written(durable, tmp_path):
    durable.grant(Grant("treaty", Budget(0.1, 1e-7), 7))
    events = [LaplaceDpEvent(3.0), GaussianDpEvent(2.5), NonPrivateDpEvent()]
    for k, event in enumerate(events):
        durable.write(Entry("treaty", "run", k, (0.1, -5e-324), (1 / 3, 1e300), event))
    durable.close()
    again = DurableLedger(tmp_path / "ledger.sqlite")
    assert again.dataset == DATA
    assert again.granted("treaty") == Grant("treaty", Budget(0.1, 1e-7), 7)
    for k, event in enumerate(events):
        assert again.entry("treaty", "run", k) == Entry(
            "treaty", "run", k, (0.1, -5e-324), (1 / 3, 1e300), event
        )
    assert again.answers_since(datetime.now(UTC) - timedelta(minutes=1)) == 3
    assert again.answers_since(datetime.now(UTC) + timedelta(minutes=1)) == 0
    again.close()


def test_all_treaties_together_stay_under_the_cap(durable):
    durable.grant(Grant("one", Budget(2.0), 4))
    with pytest.raises(Refusal, match=r"epsilon 1.5 does not fit: of 3 for this dataset, 2 is"):
        durable.grant(Grant("two", Budget(1.5), 4))
    with pytest.raises(Refusal, match=r"delta 2e-05 does not fit"):
        durable.grant(Grant("two", Budget(0.5, 2e-5), 4))
    with pytest.raises(Refusal, match="without end"):
        durable.grant(Grant("two", Budget(float("inf")), 4))
    durable.write(_entry(1, treaty="one"))
    durable.revoke("one")
    assert durable.committed()[0] == Fraction(1, 2)
    with pytest.raises(Refusal, match="has been revoked"):
        durable.write(_entry(2, treaty="one"))
    durable.grant(Grant("two", Budget(2.5), 4))
    with pytest.raises(Refusal, match="does not fit"):
        durable.grant(Grant("three", Budget(1e-9), 4))
    with pytest.raises(Refusal, match="revoked already"):
        durable.revoke("one")
    with pytest.raises(Refusal, match="no budget"):
        durable.revoke("nothing")


def test_a_part_of_the_answers_of_a_grant_with_a_delta_is_not_a_part_of_its_epsilon(durable):
    """25 of 100 Gaussian answers and a quarter of ε are not the same: all of it stays charged."""
    durable.grant(Grant("one", Budget(2.0, 1e-6), 100))
    durable.revoke("one")
    assert durable.committed() == (0, 0)
    durable.grant(Grant("two", Budget(2.0, 1e-6), 100))
    for k in range(25):
        durable.write(_entry(k, treaty="two"))
    durable.revoke("two")
    assert durable.committed() == (2, Fraction(1e-6))
    with pytest.raises(Refusal, match="does not fit"):
        durable.grant(Grant("three", Budget(1.5), 10))


def test_peers_are_revoked_together(durable):
    durable.grant_all([Grant("t/a", Budget(0.5), 2), Grant("t/b", Budget(0.5), 2)])
    durable.grant(Grant("tt", Budget(0.5), 2))
    assert durable.revoke("t") == ["t/a", "t/b"]
    assert [grant.revoked for grant, _ in durable.grants()] == [True, True, False]


def test_a_ledger_is_checked_while_it_is_written(durable, tmp_path):
    durable.grant(Grant("treaty", Budget(1.0), 500))
    stop = threading.Event()

    def work() -> None:
        other = DurableLedger(tmp_path / "ledger.sqlite")
        k = 0
        while not stop.is_set():
            k += 1
            with contextlib.suppress(Refusal):
                other.write(_entry(k))
        other.close()

    writer = threading.Thread(target=work)
    writer.start()
    try:
        for _ in range(15):
            durable.verify()
    finally:
        stop.set()
        writer.join()


def test_a_ledger_is_there_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "ledger.sqlite"
    monkeypatch.setattr("treaty.privacy.durable.DurableLedger._index", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        DurableLedger.create(path, DATA, Budget(1.0))
    assert not path.exists()
    monkeypatch.undo()
    DurableLedger.create(path, DATA, Budget(1.0)).close()


def test_a_lowered_cap_stops_answers(durable):
    durable.grant(Grant("one", Budget(2.0), 4))
    durable.write(_entry(1, treaty="one"))
    durable.set_cap(Budget(0.75))
    with pytest.raises(Refusal, match="cap over all treaties"):
        durable.write(_entry(2, treaty="one"))
    assert durable.answers_given("one") == 1


def test_several_grants_are_all_or_none(durable):
    with pytest.raises(Refusal, match="does not fit"):
        durable.grant_all([Grant("a", Budget(2.0), 1), Grant("b", Budget(2.0), 1)])
    assert durable.grants() == []


@settings(max_examples=30, deadline=None)
@given(
    budgets=st.lists(st.floats(0.01, 2.0), min_size=1, max_size=4),
    asked=st.lists(st.tuples(st.integers(0, 3), st.integers(1, 6)), max_size=25),
)
def test_what_is_spent_never_exceeds_what_is_granted(tmp_path_factory, budgets, asked):
    path = tmp_path_factory.mktemp("ledgers") / "ledger.sqlite"
    ledger = DurableLedger.create(path, DATA, Budget(3.0))
    for i, epsilon in enumerate(budgets):
        try:
            ledger.grant(Grant(f"t{i}", Budget(epsilon), 3))
        except Refusal:
            continue
    distinct = set()
    for i, k in asked:
        try:
            ledger.write(_entry(k, treaty=f"t{i}"))
            distinct.add((i, k))
        except Refusal:
            continue
    total = sum((Fraction(g.budget.epsilon) * given / g.answers for g, given in ledger.grants()))
    assert ledger.charged() == total <= sum(Fraction(g.budget.epsilon) for g, _ in ledger.grants())
    assert sum(given for _, given in ledger.grants()) == len(distinct)
    assert total <= 3
    ledger.verify()
    ledger.close()


def _spend(path, run: str, results) -> None:
    ledger = DurableLedger(path)
    done = 0
    for k in range(30):
        try:
            ledger.write(_entry(k, run))
            done += 1
        except Refusal:
            continue
    results.put(done)
    ledger.close()


def test_two_processes_on_one_ledger_cannot_overspend(durable, tmp_path):
    durable.grant(Grant("treaty", Budget(1.0), 40))
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    workers = [
        context.Process(target=_spend, args=(tmp_path / "ledger.sqlite", f"run {i}", results))
        for i in range(2)
    ]
    for worker in workers:
        worker.start()
    assert sum(results.get(timeout=300) for _ in workers) == 40
    for worker in workers:
        worker.join(300)
    assert durable.answers_given("treaty") == 40
    durable.verify()


def _filled(ledger: DurableLedger) -> None:
    ledger.grant(Grant("treaty", Budget(1.0), 5))
    for k in range(3):
        ledger.write(_entry(k))
    ledger.refused({"reason": "theta lies outside Θ"})


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        ("UPDATE events SET body = replace(body, '\"round\":1', '\"round\":4')", "event 5"),
        ("UPDATE events SET time = '2020-01-01' WHERE seq = 6", "event 6"),
        ("DELETE FROM events WHERE seq = 6", "event 6"),
        ("UPDATE grants SET given = 0", "table of grants"),
        ("UPDATE grants SET answers = 500", "table of grants"),
        ("DELETE FROM answers WHERE round = 1", "table of answers"),
    ],
)
def test_an_edit_of_the_past_shows(durable, tmp_path, edit, says):
    _filled(durable)
    before = durable.verify()
    vandal = sqlite3.connect(tmp_path / "ledger.sqlite")
    if "events" in edit:
        with pytest.raises(sqlite3.DatabaseError, match="never"):
            vandal.execute(edit)
        triggers = vandal.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
        held = triggers.fetchall()
        for name, _ in held:
            vandal.execute(f"DROP TRIGGER {name}")
    vandal.execute(edit)
    if "events" in edit:
        for _, sql in held:
            vandal.execute(sql)
    vandal.commit()
    vandal.close()
    with pytest.raises(TreatyError, match=says):
        durable.verify()
    assert before


def test_an_export_can_be_checked_without_the_file(durable):
    _filled(durable)
    plain = [event.plain() for event in durable.events()]
    assert verify_events(Event(**one) for one in plain) == durable.verify()
    plain[4]["body"]["round"] = 9
    with pytest.raises(TreatyError, match="event 5"):
        verify_events(Event(**one) for one in plain)


def test_what_is_no_ledger_is_said(tmp_path):
    with pytest.raises(TreatyError, match="there is no ledger"):
        DurableLedger(tmp_path / "nothing.sqlite")
    (tmp_path / "text.sqlite").write_text("this is not a database, whatever its name says")
    with pytest.raises(TreatyError, match="not a ledger"):
        DurableLedger(tmp_path / "text.sqlite")
    sqlite3.connect(tmp_path / "other.sqlite").execute("PRAGMA user_version = 9").connection.close()
    with pytest.raises(TreatyError, match="not a ledger"):
        DurableLedger(tmp_path / "other.sqlite")
    made = sqlite3.connect(tmp_path / "newer.sqlite")
    made.execute(f"PRAGMA application_id = {DurableLedger.application}")
    made.execute("PRAGMA user_version = 9").connection.close()
    with pytest.raises(TreatyError, match="a ledger of format 9, and 2 is understood"):
        DurableLedger(tmp_path / "newer.sqlite")
    DurableLedger.create(tmp_path / "one.sqlite", DATA, Budget(1.0)).close()
    with pytest.raises(TreatyError, match="there is a ledger already"):
        DurableLedger.create(tmp_path / "one.sqlite", DATA, Budget(1.0))
