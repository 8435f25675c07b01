import threading
from fractions import Fraction

import pytest
from dp_accounting import LaplaceDpEvent

from treaty.errors import Refusal
from treaty.privacy import Budget, Entry, Grant, MemoryLedger, epsilon_spent


def _entry(round: int, run: str = "run") -> Entry:
    return Entry("treaty", run, round, (0.0,), (1.0,), LaplaceDpEvent(10.0))


def test_spending_is_exact_arithmetic():
    """Ten answers at ε = 0.1 spend exactly ε, where ten times 0.01 as floats would not."""
    ledger = MemoryLedger()
    ledger.grant(Grant("treaty", Budget(0.1), 10))
    for k in range(10):
        assert epsilon_spent(ledger, "treaty") == Fraction(0.1) * k / 10
        ledger.write(_entry(k))
    assert epsilon_spent(ledger, "treaty") == Fraction(0.1)


def test_a_spent_grant_takes_no_more():
    ledger = MemoryLedger()
    ledger.grant(Grant("treaty", Budget(1.0), 2))
    ledger.write(_entry(1))
    ledger.write(_entry(2))
    with pytest.raises(Refusal, match="2 of 2 answers given, epsilon 1 used up"):
        ledger.write(_entry(3))
    assert ledger.answers_given("treaty") == 2


def test_a_round_is_written_once_and_a_treaty_granted_once():
    ledger = MemoryLedger()
    ledger.grant(Grant("treaty", Budget(1.0), 5))
    ledger.write(_entry(1))
    with pytest.raises(Refusal, match="answered already"):
        ledger.write(_entry(1))
    with pytest.raises(Refusal, match="granted a budget already"):
        ledger.grant(Grant("treaty", Budget(9.0), 5))
    with pytest.raises(Refusal, match="no budget"):
        MemoryLedger().write(_entry(1))
    assert ledger.answers_given("treaty") == 1


def test_threads_cannot_overspend():
    ledger = MemoryLedger()
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
