"""Work spread over processes, or over a cluster: the same results wherever it is done."""

import os

import joblib
import pytest
from dask.distributed import Client, LocalCluster

from problems import plan, risks
from treaty.losses import Squared
from treaty.papers.rows import Rows
from treaty.papers.trial import Trial
from treaty.papers.workers import fill
from treaty.papers.workshop import Workshop
from treaty.simulation import sweep
from treaty.trials import Store, spread


def _note(folder, name):
    (folder / name).write_text(str(os.getpid()))


def test_every_piece_is_done_once_and_told_with_its_time(tmp_path):
    from functools import partial

    batches = [["a", "b"], ["c"], ["d", "e", "f"]]
    done = list(spread(partial(_note, tmp_path), batches, processes=2))
    assert sorted(piece for piece, _ in done) == list("abcdef")
    assert all(seconds >= 0 for _, seconds in done)
    by = {name: (tmp_path / name).read_text() for name in "abcdef"}
    assert by["d"] == by["e"] == by["f"], "a batch is one process's"
    assert str(os.getpid()) not in by.values()


@pytest.fixture(scope="module")
def cluster():
    """A cluster on this machine: its workers are processes of their own, reached over loopback."""
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
        ) as made,
        Client(made),
    ):
        yield made


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_takes_over_where_one_is_set_up(cluster, tmp_path):
    one, two = (
        Workshop(Rows(share=0.05, seed=4), Store(tmp_path / name), runs=4) for name in ("a", "b")
    )
    trials = [
        Trial("W lending", (1_000,) * 3, (epsilon,), "corrected", 0.5) for epsilon in (1.0, 10.0)
    ]
    list(fill(one, trials, 1))
    with joblib.parallel_config(backend="dask"):
        assert {job for job, _ in fill(two, trials, None)} == set(trials)
    for trial in trials:
        assert two.known(trial)
        assert one.run(trial) == two.run(trial)


@pytest.mark.filterwarnings("ignore")
def test_a_sweep_of_plans_runs_on_a_cluster(cluster):
    data = risks(Squared())
    plans = [plan(Squared(), "averaged-subgradient", epsilon=e) for e in (1.0, 4.0)]
    here = sweep(plans, data, runs=5, seed=1, jobs=1)
    with joblib.parallel_config(backend="dask"):
        there = sweep(plans, data, runs=5, seed=1)
    for one, other in zip(here, there, strict=True):
        assert one.mean == pytest.approx(other.mean, rel=1e-12)
