"""A small workshop on made rows."""

import pytest

from treaty.papers.rows import Rows
from treaty.papers.workshop import Workshop
from treaty.trials.store import Store


@pytest.fixture(scope="session")
def small_rows():
    return Rows(share=0.05, seed=4)


@pytest.fixture(scope="session")
def workshop(small_rows, tmp_path_factory):
    return Workshop(small_rows, Store(tmp_path_factory.mktemp("trials")), runs=20, seed=1)
