"""Damaged files: one sentence and exit code 2, never a traceback, and nothing spent."""

import json

import numpy as np
import polars as pl
import pytest
from bench.fuzz import fuzz
from test_bad_input import ROWS, TREATY, type_in  # noqa: F401

from treaty.errors import TreatyError
from treaty.federation.nats.authority import Credential, make_federation
from treaty.losses import permit
from treaty.models import Model
from treaty.owner import Policy
from treaty.records import open_source
from treaty.terms import encoder_of, fit, loads, model_of, problem_of
from treaty.terms.draft import blank_draft

DEEP = "[" * 100_000


def test_a_few_seconds_of_damage():
    found = fuzz(6.0, seed=11)
    assert found["cases"] > 100
    assert (found["tracebacks"], found["spent"]) == (0, 0)


@pytest.mark.parametrize(
    ("treaty", "says"),
    [
        (f"version = 1\na = {DEEP}", "not valid TOML"),
        ("version = 1\nhorizon = " + "9" * 5000, "not valid TOML"),
        ("\x00", "not valid TOML"),
        ("", "version is missing"),
        ("version = 0x1" + "0" * 9000, "of version such a int"),
        (TREATY.replace("horizon = 5", "horizon = 0x1" + "0" * 9000), "training.horizon"),
        ("title." + "a." * 5000 + "a = 1\n" + TREATY, "title: must be a text"),
        (TREATY.replace("version = 1", 'version = 1\nfitted = "/dev/zero"'), "no file beside"),
        (TREATY.replace("version = 1", 'version = 1\nfitted = "beside.json"'), "not valid JSON"),
    ],
)
def test_a_treaty_that_is_none(type_in, treaty, says):  # noqa: F811
    words = "simulate treaty.toml --data rows.csv --by who"
    code, _, err = type_in(words, treaty, ROWS, beside__json='{"a":' * 50_000)
    assert code == 2
    assert says in err
    assert "Traceback" not in err


def test_parquet_that_is_none(tmp_path):
    path = tmp_path / "rows.parquet"
    pl.DataFrame({"a": [1.0, 2.0] * 1000}).write_parquet(path)
    sound = path.read_bytes()
    for damaged in (b"", sound[:50], b"PAR1" + b"\x00" * 100 + b"PAR1", sound[:-20] + b"\xff" * 20):
        path.write_bytes(damaged)

        def read() -> None:
            list(open_source(path).blocks(["a"]))

        with pytest.raises(TreatyError, match="cannot be read"):
            read()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"theta": [0.0]}, "theta has 1 numbers, and its dictionary makes 3"),
        ({"theta": []}, "theta"),
        ({"features": {}}, "other columns than its features"),
        ({"dictionary": {"columns": ["a"], "centre": [0.0], "scale": [1.0]}}, "other columns"),
    ],
)
def test_a_model_whose_shapes_do_not_match(tmp_path, change, says):
    model = model_of(fit(loads(TREATY), None), np.zeros(3))
    path = tmp_path / "model.json"
    path.write_text(json.dumps(json.loads(model.model_dump_json()) | change))
    with pytest.raises(TreatyError, match=says):
        Model.load(path)


@pytest.mark.parametrize("text", ["", "{", DEEP, '{"theta": NaN}', "\udcff"])
def test_a_model_that_is_none(tmp_path, text):
    path = tmp_path / "model.json"
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(TreatyError, match="not a saved model"):
        Model.load(path)


@pytest.mark.parametrize("text", [f"a = {DEEP}", "\x00", "losses = 5", "losses = ['a', 5]"])
def test_a_policy_that_is_none(tmp_path, text):
    (tmp_path / "policy.toml").write_text(text)
    with pytest.raises(TreatyError, match=r"policy.toml"):
        Policy.load(tmp_path / "policy.toml")


@pytest.mark.parametrize(
    "text",
    [
        "",
        f"name = {DEEP}",
        'name = "a"\nserver = "nats://x"\nlearners = []',
        'name = "a"\nserver = "tls://[::1:4222"\nlearners = []',
        'name = "a"\nserver = "tls://host:port"\nlearners = []',
        'name = "a"\nserver = "tls://host:1"\nlearners = 5',
    ],
)
def test_a_party_file_that_is_none(tmp_path, text):
    (tmp_path / "party.toml").write_text(text)
    with pytest.raises(TreatyError, match=r"party.toml"):
        Credential.load(tmp_path)


@pytest.mark.parametrize("host", ["a b", "", "::1::", "-x", "x" * 300, "a..b", "host:4222", "a/b"])
def test_a_host_that_is_none(tmp_path, host):
    with pytest.raises(TreatyError, match="neither the name nor the address of a machine"):
        make_federation(tmp_path / "federation", ["one"], host=host)
    assert not (tmp_path / "federation").exists()


@pytest.mark.parametrize(
    ("host", "address", "listens"),
    [
        ("::1", "tls://[::1]:4222", '"[::1]:4222"'),
        ("2001:db8::7", "tls://[2001:db8::7]:4222", '"[::]:4222"'),
        ("nats.example.org", "tls://nats.example.org:4222", '"0.0.0.0:4222"'),
        ("127.0.0.1", "tls://127.0.0.1:4222", '"127.0.0.1:4222"'),
    ],
)
def test_hosts_by_name_and_by_address(tmp_path, host, address, listens):
    folder = make_federation(tmp_path / "federation", ["one"], host=host)
    assert Credential.load(folder / "learner").server == address
    assert f"listen: {listens}" in (folder / "server" / "nats.conf").read_text()


def test_one_flipped_bit_that_makes_polars_end_the_process(tmp_path, type_in):  # noqa: F811
    random = np.random.default_rng(0)
    frame = pl.DataFrame({"a": random.uniform(-1, 1, 100), "y": random.uniform(-1, 1, 100)})
    path = tmp_path / "one.parquet"
    frame.write_parquet(path)
    sound = path.read_bytes()
    for at in (14, 15, 16):
        damaged = bytearray(sound)
        damaged[at] ^= 1
        path.write_bytes(damaged)
        words = "ratify treaty.toml --name one --epsilon 1 --yes --data one.parquet"
        code, _, err = type_in(words)
        assert code == 2
        assert "Traceback" not in err
    assert not (tmp_path / "treaty-owner").exists()


def test_a_column_of_a_strange_type_is_told(tmp_path):
    path = tmp_path / "rows.parquet"
    pl.DataFrame({"a": [[1.0], [2.0]], "b": [1.0, 2.0], "y": [0.5, 0.5]}).write_parquet(path)
    text = TREATY.replace(
        'kind = "number"\nbounds = [0, 10]', 'kind = "one-hot"\ncategories = ["x"]', 1
    )
    document = fit(loads(text), None)
    with pytest.raises(TreatyError, match="cannot be encoded"):
        encoder_of(document).risk(problem_of(document).loss, open_source(path))


@pytest.mark.parametrize("name", [".a:C", "a..b:C", "broken_loss:C"])
def test_a_loss_that_cannot_be_imported_is_told(tmp_path, monkeypatch, name):
    (tmp_path / "broken_loss.py").write_text("import (")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(TreatyError, match=r"is written|fails \(SyntaxError"):
        permit([name])


def test_a_draft_of_private_rows_shows_no_value_through_a_type_or_a_missing_header(tmp_path):
    secret = pl.Series("who", [["alice"]], dtype=pl.List(pl.Enum(["alice", "bob"])))
    pl.DataFrame([secret, pl.Series("y", [1.0])]).write_parquet(tmp_path / "rows.parquet")
    text = blank_draft(open_source(tmp_path / "rows.parquet"), target="y", by=None)
    assert "alice" not in text
    assert "a column of type List" in text
    (tmp_path / "headless.csv").write_text("34,Alice,HIV+\n35,Bob,HIV-\n")
    with pytest.raises(TreatyError, match="its first line holds a number"):
        blank_draft(open_source(tmp_path / "headless.csv"), target="HIV+", by=None)
