import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_array

from treaty.errors import TreatyError
from treaty.fitness import MomentRisk, RowRisk
from treaty.losses import Clipped, Hinge, Squared
from treaty.records import (
    DictionaryTerms,
    Encoder,
    Hats,
    Number,
    OneHot,
    Target,
    keeping,
    open_source,
)
from treaty.records import sources as sources_module
from treaty.records.encoder import dictionary_for
from treaty.records.fitting import bounds_dictionary
from treaty.records.frames import FrameSource

FEATURES = {"a": Number(bounds=(-1, 1)), "b": Number(bounds=(0, 10))}


def _encoder(target: Target | None = None) -> Encoder:
    chosen = target or Target(column="t", bounds=(0, 1))
    return Encoder(FEATURES, chosen, bounds_dictionary(DictionaryTerms(), FEATURES))


def _frame(n: int = 500) -> pl.DataFrame:
    random = np.random.default_rng(0)
    return pl.DataFrame(
        {
            "a": random.uniform(-1.2, 1.2, n),
            "b": random.uniform(0, 10, n),
            "t": random.random(n),
            "who": random.choice(["x", "y"], n),
            "label": random.choice([-1, 1], n),
        }
    )


@pytest.fixture(params=["csv", "parquet"])
def file(request, tmp_path):
    path = tmp_path / f"rows.{request.param}"
    frame = _frame()
    frame.write_csv(path) if request.param == "csv" else frame.write_parquet(path)
    return path


def test_csv_and_parquet_give_the_same_records(tmp_path):
    frame = _frame()
    frame.write_csv(tmp_path / "r.csv")
    frame.write_parquet(tmp_path / "r.parquet")
    of = [
        _encoder().risk(Squared(), open_source(tmp_path / f"r.{end}")) for end in ("csv", "parquet")
    ]
    (first, counts), (second, other) = of
    np.testing.assert_allclose(first.moments.xx, second.moments.xx, rtol=1e-12)
    assert counts == other
    assert counts.clamped["a"] > 0


def test_streaming_in_blocks_equals_one_block(file, monkeypatch):
    whole, counts = _encoder().risk(Squared(), open_source(file))
    monkeypatch.setattr(sources_module, "BLOCK", 7)
    pieces, again = _encoder().risk(Squared(), open_source(file))
    np.testing.assert_allclose(whole.moments.xx, pieces.moments.xx, rtol=1e-12)
    assert counts == again


def test_rows_beyond_memory_go_to_a_file_without_a_name(file, monkeypatch, tmp_path):
    target = Target(column="label")
    held, _ = _encoder(target).risk(Hinge(), open_source(file))
    monkeypatch.setattr(keeping, "IN_MEMORY", 1000)
    monkeypatch.setattr(sources_module, "BLOCK", 50)
    spooled, _ = _encoder(target).risk(Hinge(), open_source(file))
    assert isinstance(spooled, RowRisk)
    assert isinstance(spooled.x, np.memmap)
    np.testing.assert_array_equal(np.asarray(spooled.x), held.x)
    np.testing.assert_allclose(spooled.gradient(np.ones(3)), held.gradient(np.ones(3)))


def _wide(rows=1500):
    """Categories and hats: 61 columns, of which a record has 4."""
    random = np.random.default_rng(3)
    features = {
        "from": OneHot(kind="one-hot", categories=tuple(f"c{i}" for i in range(40))),
        "miles": Hats(kind="hats", bounds=(0.0, 10.0), knots=tuple(range(20))[:11]),
        "age": Number(bounds=(0.0, 10.0)),
    }
    frame = pl.DataFrame(
        {
            "from": [f"c{i}" for i in random.integers(42, size=rows)],  # two are unknown
            "miles": random.uniform(-1, 11, rows),
            "age": random.uniform(0, 10, rows),
            "y": random.uniform(-1, 1, rows),
        }
    )
    target = Target(column="y", bounds=(-1.0, 1.0))
    fitted = dictionary_for(DictionaryTerms(standardise="frequency"), features, FrameSource(frame))
    return Encoder(features, target, fitted), frame


def test_mostly_zeros_are_kept_without_the_zeros(monkeypatch):
    encoder, frame = _wide()
    assert encoder.is_sparse
    clipped = Clipped(Squared(), 0.3, "l1")
    risk, counts = encoder.risk(clipped, FrameSource(frame))
    assert isinstance(risk, RowRisk)
    assert isinstance(risk.x, csr_array)
    np.testing.assert_array_equal(risk.x.toarray(), encoder.x(frame))
    assert risk.x.data.nbytes + risk.x.indices.nbytes < encoder.x(frame).nbytes / 5
    assert counts.rows == len(frame)
    dense = RowRisk(clipped, encoder.x(frame), risk.y)
    theta = np.random.default_rng(1).standard_normal(encoder.dictionary.dimension)
    np.testing.assert_allclose(risk.gradient(theta), dense.gradient(theta), atol=1e-13)
    monkeypatch.setattr(keeping, "IN_MEMORY", 1000)
    monkeypatch.setattr(sources_module, "BLOCK", 50)
    spooled, _ = encoder.risk(clipped, FrameSource(frame))
    np.testing.assert_array_equal(spooled.x.toarray(), risk.x.toarray())
    assert _in_a_file(spooled.x.data)
    assert _in_a_file(spooled.x.indices)


def _in_a_file(array):
    while array is not None:
        if isinstance(array, np.memmap):
            return True
        array = array.base
    return False


def test_what_a_dictionary_centres_or_turns_is_not_sparse():
    encoder, frame = _wide()
    for terms in (
        DictionaryTerms(standardise="public"),
        DictionaryTerms(standardise="frequency", components=9),
    ):
        fitted = dictionary_for(terms, encoder.features, FrameSource(frame))
        dense = Encoder(encoder.features, encoder.target, fitted)
        assert not dense.is_sparse
        assert isinstance(dense.rows(Squared(), FrameSource(frame))[0].x, np.ndarray)


def test_squared_loss_keeps_no_rows(file):
    risk, _ = _encoder().risk(Squared(), open_source(file))
    assert isinstance(risk, MomentRisk)


def test_one_file_of_several_owners(file):
    assert open_source(file).owners("who") == dict(sorted(open_source(file).owners("who").items()))
    sizes = open_source(file).owners("who")
    for name, n in sizes.items():
        risk, _ = _encoder().risk(Squared(), open_source(file, by="who", owner=name))
        assert risk.n == n


def _read_whole(path):
    source = open_source(path)
    return list(source.blocks(list(source.schema)))


@pytest.mark.parametrize(
    ("content", "name", "says"),
    [
        (None, "rows.csv", "there is no such file"),
        (b"hello", "rows.json", r"a \.csv, \.tsv, \.parquet or \.xlsx file is needed"),
        (b"not parquet", "rows.parquet", "cannot be read"),
        (b"", "rows.csv", "the file is empty: its first line should name the columns"),
        (
            b"a,b\n1,2\n1,2,3\n",
            "rows.csv",
            "line 3 has 3 cells, and the first line names 2 columns",
        ),
        (b'a,b\n1,2\n3,"4\n5,6\n', "rows.csv", "line 3 opens a quote that is never closed"),
        (b"\x00\x01\x02,", "rows.csv", "this is no text file"),
        (b"\xff\xfea\x00,", "rows.csv", "should be UTF-16, and is not: save it as UTF-8"),
        (b"not a workbook", "rows.xlsx", "cannot be read as a workbook"),
    ],
)
def test_unreadable_files(tmp_path, content, name, says):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(TreatyError, match=says):
        _read_whole(path)


def test_missing_columns_are_named_with_those_that_are_there(file):
    with pytest.raises(TreatyError, match=r'there is no column "z"; there are a, b, t, who, label'):
        list(open_source(file).blocks(["a", "z"]))
    with pytest.raises(TreatyError, match=r'there is no column "Who" \(did you mean "who"\?\)'):
        list(open_source(file).blocks(["Who"]))
    with pytest.raises(TreatyError, match='there is no column "owner"'):
        open_source(file, by="owner", owner="x")


def test_bad_cells_are_named_with_file_column_and_row(tmp_path, monkeypatch):
    monkeypatch.setattr(sources_module, "BLOCK", 2)
    path = tmp_path / "r.csv"
    path.write_text("a,b,t\n0,1,0.5\n0,1,0.5\n0,1,0.5\n0,oops,0.5\n")
    with pytest.raises(TreatyError, match=r'r.csv: column "b" must hold numbers, but row 4'):
        _encoder().risk(Squared(), open_source(path))


@pytest.mark.parametrize(
    ("rows", "says"), [("", "there are no records"), ("0,1,0.5\n", "there is 1 record")]
)
def test_owners_with_nothing_or_one_record(tmp_path, rows, says):
    path = tmp_path / "r.csv"
    path.write_text("a,b,t\n" + rows)
    with pytest.raises(TreatyError, match=says):
        _encoder().risk(Squared(), open_source(path))


def test_an_absent_owner_has_no_records(file):
    with pytest.raises(TreatyError, match=r"nobody in .*: there are no records"):
        _encoder().risk(Squared(), open_source(file, by="who", owner="nobody"))
