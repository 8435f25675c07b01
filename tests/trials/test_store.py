"""Results in a folder: made once, made again where they are lost, and never taken for another's."""

import pytest

from treaty.errors import TreatyError
from treaty.trials import store as module
from treaty.trials.store import Store


def test_a_result_is_made_once(tmp_path):
    store, made = Store(tmp_path / "a" / "b"), []

    def make():
        made.append(1)
        return {"psi": 0.25}

    for _ in range(3):
        assert store.get({"trial": 1}, make) == {"psi": 0.25}
    assert len(made) == 1
    assert store.has({"trial": 1})
    assert not store.has({"trial": 2})
    assert Store(tmp_path / "a" / "b").get({"trial": 1}, make) == {"psi": 0.25}
    assert len(made) == 1
    store.path({"trial": 1}).write_text("{")
    assert store.get({"trial": 1}, make) == {"psi": 0.25}
    assert len(made) == 2


def test_results_of_other_code_are_not_taken(tmp_path, monkeypatch):
    store = Store(tmp_path)
    store.get({"trial": 1}, lambda: 1.0)
    monkeypatch.setattr(module, "_code", lambda: "other")
    assert not store.has({"trial": 1})


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(TreatyError, match="cannot be made"):
        Store(tmp_path / "file" / "trials")
