"""The learner's journal: chained, for one learner at a time, whole in its one file."""

import shutil
import subprocess
import sys

import pytest

from treaty.errors import TreatyError
from treaty.federation.journal import Journal, Round
from treaty.logbook import Unwritable

SETTING = {"rho": 0.5}


def _filled(path) -> list[Round]:
    journal = Journal(path, "treaty", SETTING)
    rounds = [Round(k, 0, {0: (0.1 * k, -1.0), 1: (1.0 / k, 5e-324)}) for k in range(1, 6)]
    for past in rounds:
        journal.meet(past.number, past.bloc)
        journal.hear(past)
    journal.close()
    return rounds


def test_what_was_heard_comes_back_to_the_last_bit(tmp_path):
    rounds = _filled(tmp_path / "run.journal")
    again = Journal(tmp_path / "run.journal", "treaty", SETTING)
    assert list(again.rounds()) == rounds
    assert again.met(3) == 0
    again.part(6)
    assert again.met(6) is None
    again.close()


def test_what_is_written_twice_is_written_once(tmp_path):
    """A write that failed after its commit, for want of room, is done again."""
    _filled(tmp_path / "run.journal")
    journal = Journal(tmp_path / "run.journal", "treaty", SETTING)
    before = journal.verify()
    journal.hear(Round(5, 0, {0: (9.0, 9.0)}))
    journal.meet(5, 0)
    assert journal.verify() == before
    journal.close()


def test_a_flipped_bit_never_gives_another_model_in_silence(tmp_path):
    path = tmp_path / "run.journal"
    rounds = _filled(path)
    sound = path.read_bytes()
    noticed = 0
    for at in range(0, len(sound), 37):
        damaged = bytearray(sound)
        damaged[at] ^= 1 << (at % 8)
        path.write_bytes(damaged)
        try:
            journal = Journal(path, "treaty", SETTING)
        except TreatyError:
            noticed += 1
            continue
        assert list(journal.rounds()) == rounds
        journal.close()
    assert noticed > 20


def test_a_second_learner_cannot_have_it(tmp_path):
    path = tmp_path / "run.journal"
    first = Journal(path, "treaty", SETTING)
    first.meet(1, 0)
    with pytest.raises(Unwritable, match="this journal is in use: another process has it open"):
        Journal(path, "treaty", SETTING)
    script = (
        "import sys; from treaty.federation.journal import Journal\n"
        "Journal(sys.argv[1], 'treaty', {'rho': 0.5})"
    )
    other = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False
    )
    assert "another process has it open" in other.stderr
    first.close()
    Journal(path, "treaty", SETTING).close()


def test_a_copy_of_the_one_file_holds_everything(tmp_path):
    journal = Journal(tmp_path / "run.journal", "treaty", SETTING)
    journal.hear(Round(1, 0, {0: (1.0,)}))
    shutil.copy(tmp_path / "run.journal", tmp_path / "copy.journal")
    copy = Journal(tmp_path / "copy.journal", "treaty", SETTING)
    assert [past.number for past in copy.rounds()] == [1]
    copy.close()
    journal.close()


@pytest.mark.parametrize(
    ("treaty", "setting"), [("another", SETTING), ("treaty", {"rho": 0.25}), ("treaty", {})]
)
def test_the_journal_of_another_training_is_refused(tmp_path, treaty, setting):
    _filled(tmp_path / "run.journal")
    with pytest.raises(TreatyError, match="the journal of another training"):
        Journal(tmp_path / "run.journal", treaty, setting)


def test_what_is_no_journal_is_said(tmp_path):
    (tmp_path / "text").write_text("once upon a time" * 100)
    with pytest.raises(TreatyError, match="not a journal"):
        Journal(tmp_path / "text", "treaty", SETTING)
    (tmp_path / "empty").touch()
    with pytest.raises(TreatyError, match="not a journal"):
        Journal(tmp_path / "empty", "treaty", SETTING)


def test_another_run_of_the_same_treaty_is_found_beside(tmp_path):
    from treaty.federation.journal import begun_elsewhere

    Journal(tmp_path / "model.journal", "aa", {}).close()
    (tmp_path / "notes.journal").write_text("no database")
    assert begun_elsewhere(tmp_path / "second.journal", "aa") == tmp_path / "model.journal"
    assert begun_elsewhere(tmp_path / "second.journal", "bb") is None
    assert begun_elsewhere(tmp_path / "model.journal", "aa") is None  # it goes on
