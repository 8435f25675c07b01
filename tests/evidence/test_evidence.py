"""Evidence is read once, and what does not depend on clip, noise or method is computed once."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from bench.house import optima, rows, ten_owners

import treaty as t
from treaty.errors import TreatyError
from treaty.evidence import evidence as module
from treaty.forecasting import forecasts_of, outlook_on
from treaty.forecasting.table import render
from treaty.losses import Clipped
from treaty.records import FrameSource
from treaty.terms import loads
from treaty.views import as_text


@pytest.mark.parametrize("by", [None, "owner"])
def test_no_optimum_is_solved_twice(by):
    solved, distinct = optima(by)
    assert solved == distinct > 20


def test_the_same_evidence_says_the_same_as_rows_read_anew():
    evidence = t.Evidence(rows(), by="owner")
    for epsilon, horizon in ((1.0, 10), (0.3, 4)):
        document = ten_owners(epsilon, horizon)
        again = t.forecast(document, rows(), by="owner", precision=0.2)
        assert t.forecast(document, evidence, precision=0.2) == again


@pytest.mark.parametrize("by", [None, "owner"])
def test_rows_are_read_once_and_folds_or_worlds_made_once(monkeypatch, by):
    reads, cuts, made = [], [], []
    names = ("read_stand_in", "cross_fitted", "stages" if by is None else "worlds")
    for name, counted in zip(names, (reads, cuts, made), strict=True):
        real = getattr(module, name)

        def counting(*args, real=real, counted=counted, **more):
            counted.append(1)
            return real(*args, **more)

        monkeypatch.setattr(module, name, counting)
    evidence = t.Evidence(rows(), by=by)
    document = ten_owners()
    clip = document.loss.model_copy(update={"clip": 0.5})
    gaussian = document.training.model_copy(update={"mechanism": "gaussian"})
    some = tuple(p.model_copy(update={"delta": 1e-6}) for p in document.parties)
    for other in (
        document,
        ten_owners(0.1, 3),
        document.model_copy(update={"loss": clip}),
        document.model_copy(update={"training": gaussian, "parties": some}),
    ):
        ground = evidence.ground(other)
        records = ground.stages[0].records(ground.plan.problem.loss)
        assert set(records) == {party.name for party in document.parties}
    once = 1 if by is None else 0
    assert (len(reads), len(cuts), len(made)) == (1, once, 1)
    larger = tuple(p.model_copy(update={"records": 9_999}) for p in document.parties)
    evidence.ground(document.model_copy(update={"parties": larger}))
    assert (len(reads), len(cuts), len(made)) == (1, once, 2), "sizes weigh owners otherwise"


def test_the_clip_of_a_treaty_reaches_what_is_rehearsed():
    evidence = t.Evidence(rows())
    document = ten_owners()
    clip = document.loss.model_copy(update={"clip": 0.05})
    plain, clipped = (
        evidence.ground(one) for one in (document, document.model_copy(update={"loss": clip}))
    )
    loss = clipped.plan.problem.loss
    assert isinstance(loss, Clipped)
    theta = np.full(plain.plan.problem.dimension, 0.9)
    one, other = (
        ground.stages[0].records(ground.plan.problem.loss)["owner 0"].gradient(theta)
        for ground in (plain, clipped)
    )
    assert np.linalg.norm(other, 1) <= 0.05 < np.linalg.norm(one, 1)


def test_forecasts_narrow_and_say_how_far_they_are():
    outlook = outlook_on(ten_owners(0.5), t.Evidence(rows()))
    seen = list(forecasts_of(outlook, precision=0.005))
    done = [forecast.done for forecast in seen]
    assert len(seen) > 10
    assert done == sorted(done)
    assert done[0] < 0.5
    assert done[-1] == 1.0
    assert seen[0].curator is None
    first, last = seen[0].together, seen[-1].together
    assert last.high - last.low < first.high - first.low
    assert seen[-1] == t.forecast(ten_owners(0.5), rows(), precision=0.005)
    last, first = (as_text(render(each, details=True)) for each in (seen[-1], seen[0]))
    assert "floor" in last
    assert "floor" not in first.replace("floor's rate", "")
    assert "floor" not in str(seen[-1])


def test_frames_are_sources(tmp_path):
    document, frame = ten_owners(), rows()
    frame.write_parquet(tmp_path / "rows.parquet")
    by_file = t.forecast(document, tmp_path / "rows.parquet", by="owner", precision=0.2)
    pandas = pd.DataFrame({name: frame[name].to_list() for name in frame.columns})
    for same in (frame, frame.lazy(), pandas, FrameSource(frame), tmp_path / "rows.parquet"):
        assert t.forecast(document, same, by="owner", precision=0.2) == by_file
    with pytest.raises(TreatyError, match="not from a list"):
        t.forecast(document, [1, 2])
    with pytest.raises(TreatyError, match="do not repeat them here"):
        t.forecast(document, t.Evidence(frame), by="owner")


def test_training_on_frames():
    frame = rows(2_000)
    counts = frame["owner"].value_counts()
    sizes = dict(zip(counts["owner"], counts["count"], strict=True))
    document = ten_owners(50.0)
    parties = tuple(p.model_copy(update={"records": sizes[p.name]}) for p in document.parties)
    document = document.model_copy(update={"parties": parties})
    records = t.sources(document, data=frame, by="owner")
    report = t.train(t.assemble(document, records, rows(500)))
    assert report.together < report.nothing
    assert records["owner 3"].label == "owner 3 in the data frame"
    assert records["owner 3"].owners("owner") == {"owner 3": sizes["owner 3"]}
    with pytest.raises(TreatyError, match="`by`"):
        t.sources(document, data=frame)


def test_pandas_in_its_many_ways():
    """Missing numbers and texts, categories, nullable integers: read as what they are."""
    frame = pd.DataFrame(
        {
            "number": [1.5, None, 3.0],
            "whole": pd.array([1, None, 3], dtype="Int64"),
            "text": ["a", None, "c"],
            "kind": pd.Categorical(["x", "y", None]),
            "flag": [True, False, True],
        }
    )
    source = FrameSource(frame)
    (block,) = source.blocks(list(frame.columns))
    assert block["whole"].cast(pl.Float64).fill_nan(None).to_list() == [1.0, None, 3.0]
    assert block["text"].to_list() == ["a", None, "c"]
    assert block["kind"].to_list() == ["x", "y", None]
    assert block["flag"].to_list() == [True, False, True]
    assert block["number"].cast(pl.Float64).fill_nan(None).to_list() == [1.5, None, 3.0]
    assert source.owners("text") == {"a": 1, "c": 1}
    one, other = FrameSource(frame), FrameSource(frame[::-1])
    assert one.fingerprint(b"key") == other.fingerprint(b"key")
    assert one.fingerprint(b"key") != FrameSource(frame[:2]).fingerprint(b"key")
    with pytest.raises(TreatyError, match='there is no column "z"; there are number, whole'):
        list(source.blocks(["z"]))


def test_rows_too_few_for_so_many_columns_do_not_hide_how_well_the_best_model_does():
    """The best model of 70 rows in 61 columns may do worse on others than a constant."""

    def drawn(n, seed):
        random = np.random.default_rng(seed)
        x = np.clip(random.standard_normal((n, 60)), -5, 5)
        y = x[:, 0] + 0.5 * random.standard_normal(n)
        return pl.DataFrame({**{f"x{i:02}": x[:, i] for i in range(60)}, "y": y})

    columns = "".join(f'[features.x{i:02}]\nkind = "number"\nbounds = [-5, 5]\n' for i in range(60))
    document = loads(
        f'version = 1\ntitle = "many columns"\n{columns}'
        '[target]\ncolumn = "y"\nbounds = [-8, 8]\n[dictionary]\nstandardise = "frequency"\n'
        '[loss]\nname = "squared"\ntheta_max = 100.0\nclip = 1.0\n'
        '[training]\nmethod = "blended-step"\nhorizon = 1\nstart = "tuned"\n'
        '[[parties]]\nname = "o"\nrecords = 20000\nepsilon = 1.0\n'
    )
    told = [t.forecast(document, drawn(140, seed)).nothing.value for seed in range(6)]
    # A constant's mean square is 1.25, the least 0.25: 4; a ridge finds as much of it as 70 rows tell.
    assert 0.7 < np.median(told) < 4.0
    assert min(told) > 0.5
