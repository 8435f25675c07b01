"""Damaged files: one sentence and exit code 2, never a traceback, and nothing spent."""

import json

import numpy as np
import polars as pl
import pytest
from bench.fuzz import fuzz
from test_bad_input import ROWS, TREATY, type_in  # noqa: F401

from treaty.errors import TreatyError
from treaty.federation.authority import Credential, make_federation
from treaty.federation.policy import Policy
from treaty.fitness.model import Model
from treaty.records import Source
from treaty.terms import fit, loads, model_of

DEEP = "[" * 100_000


def test_a_few_seconds_of_damage():
    found = fuzz(6.0, seed=11)
    assert found["cases"] > 1000
    assert (found["tracebacks"], found["spent"]) == (0, 0)


@pytest.mark.parametrize(
    ("treaty", "says"),
    [
        (f"version = 1\na = {DEEP}", "not valid TOML"),
        ("version = 1\nhorizon = " + "9" * 5000, "not valid TOML"),
        ("\x00", "not valid TOML"),
        ("", "version is missing"),
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
            list(Source(path).blocks(["a"]))

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
