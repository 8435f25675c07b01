"""Records from real databases: SQLite, and a PostgreSQL server started for the test."""

import os
import pwd
import shutil
import socket
import sqlite3
import subprocess
from pathlib import Path

import numpy as np
import pytest

import treaty as t
from treaty.errors import TreatyError
from treaty.records import open_source

KEY = bytes(32)
ROWS = [(i, float(np.sin(i)), "u" if i % 2 else "v", None if i == 3 else i / 7) for i in range(500)]


@pytest.fixture
def sqlite_source(tmp_path, monkeypatch):
    path = tmp_path / "records.sqlite"
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE stays(id INTEGER, a REAL, c TEXT, y REAL)")
    database.executemany("INSERT INTO stays VALUES (?, ?, ?, ?)", ROWS)
    database.commit()
    monkeypatch.setenv("OUR_RECORDS", str(path))
    terms = tmp_path / "ours.toml"
    terms.write_text(
        'kind = "sqlite"\naddress = "OUR_RECORDS"\nquery = "SELECT a, c, y FROM stays ORDER BY id"\n'
    )
    yield open_source(terms), database, terms
    database.close()


def test_rows_come_as_from_a_file(sqlite_source, tmp_path):
    source, _, _ = sqlite_source
    frame = next(iter(source.blocks(["y", "a"])))
    assert frame.columns == ["y", "a"]
    assert frame["a"].cast(float).to_list() == [row[1] for row in ROWS][: len(frame)]
    total = sum(len(block) for block in source.blocks(["a"]))
    assert total == 500
    with pytest.raises(TreatyError, match='there is no column "b"; there are a, c, y'):
        list(source.blocks(["b"]))


def test_a_fingerprint_sees_changes_and_not_the_order(sqlite_source):
    source, database, terms = sqlite_source
    before = source.fingerprint(KEY)
    assert open_source(terms).fingerprint(KEY) == before
    terms.write_text(terms.read_text().replace("ORDER BY id", "ORDER BY id DESC"))
    assert open_source(terms).fingerprint(KEY) == before
    database.execute("UPDATE stays SET a = a + 1e-9 WHERE id = 77")
    database.commit()
    assert open_source(terms).fingerprint(KEY) != before


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('kind = "oracle"\naddress = "A"\nquery = "q"', "kind: Input should be 'postgresql' or"),
        ('kind = "sqlite"\naddress = "A"', "query: Field required"),
        ('kind = "sqlite"\naddress = "NOT_SET_ANYWHERE"\nquery = "q"', "has no NOT_SET_ANYWHERE"),
        ('kind = "sqlite"\naddress = "OUR_RECORDS"\nquery = "SELEKT 1"', "the query failed"),
        ("kind", "not valid TOML"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, monkeypatch, text, says):
    monkeypatch.setenv("OUR_RECORDS", str(tmp_path / "empty.sqlite"))
    path = tmp_path / "ours.toml"
    path.write_text(text)
    with pytest.raises(TreatyError, match=says):
        open_source(path)


def test_a_password_is_never_told(tmp_path, monkeypatch):
    monkeypatch.setenv("DATABASE", "postgresql://me:hunter2@127.0.0.1:1/nothing")
    path = tmp_path / "ours.toml"
    path.write_text('kind = "postgresql"\naddress = "DATABASE"\nquery = "SELECT 1"')
    with pytest.raises(TreatyError, match="the database at DATABASE cannot be reached") as told:
        open_source(path)
    assert "hunter2" not in str(told.value)
    assert told.value.__cause__ is None


@pytest.fixture(scope="module")
def postgres(tmp_path_factory):
    places = [os.environ["PATH"], *map(str, Path("/usr/lib/postgresql").glob("*/bin"))]
    programs = {name: shutil.which(name, path=":".join(places)) for name in ("initdb", "pg_ctl")}
    if None in programs.values():
        if os.environ.get("CI"):
            pytest.fail("there is no PostgreSQL server: initdb and pg_ctl are needed")
        pytest.skip("there is no PostgreSQL server: initdb and pg_ctl are needed")
    folder = tmp_path_factory.mktemp("postgres")
    user = {}
    if os.getuid() == 0:
        person = pwd.getpwnam("postgres")
        for path in (folder, *list(folder.parents)[:3]):
            if path.stat().st_uid == 0 and path != path.parent and path.name != "tmp":
                os.chmod(path, 0o755)
        os.chown(folder, person.pw_uid, person.pw_gid)
        user = {"user": person.pw_uid, "group": person.pw_gid, "extra_groups": []}
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    data, log = str(folder / "data"), str(folder / "log")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder, **user}
    subprocess.run(
        [programs["initdb"], "-D", data, "-A", "trust", "-U", "owner", "--no-sync"],
        check=True,
        **quiet,
    )
    options = f"-p {port} -h 127.0.0.1 -k {folder} -F"
    subprocess.run(
        [programs["pg_ctl"], "-D", data, "-l", log, "-w", "-o", options, "start"],
        check=True,
        **quiet,
    )
    yield f"postgresql://owner@127.0.0.1:{port}/postgres"
    subprocess.run([programs["pg_ctl"], "-D", data, "-m", "immediate", "stop"], check=True, **quiet)


def test_postgresql_for_real(postgres, tmp_path, monkeypatch):
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(postgres) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE stays(id INT, a DOUBLE PRECISION, c TEXT, y NUMERIC(8, 3))")
        cursor.executemany("INSERT INTO stays VALUES ($1, $2, $3, $4::float8::numeric)", ROWS)
        connection.commit()
    monkeypatch.setenv("RECORDS_URI", postgres)
    path = tmp_path / "ours.toml"
    path.write_text(
        'kind = "postgresql"\naddress = "RECORDS_URI"\n'
        'query = "SELECT a, c, y::float8 AS y FROM stays WHERE y IS NOT NULL ORDER BY id"\n'
    )
    source = open_source(path)
    document = t.terms.loads(
        'version = 1\n[features.a]\nkind = "number"\nbounds = [-1, 1]\n'
        '[features.c]\nkind = "one-hot"\ncategories = ["u", "v"]\n'
        '[target]\ncolumn = "y"\nbounds = [0, 80]\n[loss]\nname = "squared"\ntheta_max = 1.0\n'
        '[training]\nmethod = "averaged-subgradient"\nhorizon = 3\n'
        '[[parties]]\nname = "us"\nrecords = 499\nepsilon = 1.0\n'
    )
    fitted = t.terms.fit(document, None)
    risk, counts = t.terms.encoder_of(fitted).risk(t.terms.problem_of(fitted).loss, source)
    assert risk.n == 499
    assert counts.rows == 499
    before = source.fingerprint(KEY)
    with dbapi.connect(postgres) as connection, connection.cursor() as cursor:
        cursor.execute("DELETE FROM stays WHERE id = 10")
        connection.commit()
    assert source.fingerprint(KEY) != before
