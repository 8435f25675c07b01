"""Everything a person can get wrong: one clear sentence, exit code 2, nothing written or spent."""

import sys
from pathlib import Path

import pytest

from treaty.cli.main import main

TREATY = """
version = 1
[features.a]
kind = "number"
bounds = [0, 10]
[features.b]
kind = "number"
bounds = [0, 10]
[target]
column = "y"
bounds = [0, 1]
[loss]
name = "squared"
theta_max = 1.0
ridge = 0.01
[training]
method = "averaged-subgradient"
horizon = 5
[[parties]]
name = "one"
records = 4
epsilon = 1.0
[[parties]]
name = "two"
records = 4
epsilon = 1.0
"""
ROWS = (
    "a,b,y,who\n"
    + "1,2,0.5,one\n3,4,0.1,one\n5,6,0.9,one\n7,8,0.2,one\n"
    + ("1,3,0.5,two\n3,1,0.1,two\n5,2,0.9,two\n7,9,0.2,two\n")
)


@pytest.fixture
def type_in(tmp_path, monkeypatch, capsys):
    """Run a command in a folder with these files; give exit code, standard output and error."""
    monkeypatch.chdir(tmp_path)

    def typed(words: str, treaty: str = TREATY, rows: str = ROWS, **files: str):
        Path("treaty.toml").write_text(treaty)
        Path("rows.csv").write_text(rows)
        for name, text in files.items():
            Path(name.replace("__", ".")).write_text(text)
        monkeypatch.setattr(sys, "argv", ["treaty", *words.split()])
        with pytest.raises(SystemExit) as ended:
            main()
        out = capsys.readouterr()
        return ended.value.code, out.out, out.err

    return typed


TRAIN = "train treaty.toml --data rows.csv --by who"

CASES = {
    "it works to begin with": (TRAIN, TREATY, ROWS, None),
    "no treaty": (
        TRAIN.replace("treaty.toml", "none.toml"),
        TREATY,
        ROWS,
        "none.toml: there is no",
    ),
    "no records": (TRAIN.replace("rows.csv", "none.csv"), TREATY, ROWS, "none.csv: there is no"),
    "unreadable file": (
        TRAIN,
        TREATY,
        "",
        "rows.csv: the file is empty: its first line should name the columns",
    ),
    "unknown kind of file": (
        TRAIN.replace("rows.csv", "treaty.toml"),
        TREATY,
        ROWS,
        "a .csv, .tsv, .parquet or .xlsx file is needed",
    ),
    "missing column": (TRAIN, TREATY, ROWS.replace("a,b,y", "a,z,y"), 'there is no column "b"'),
    "missing owner column": (TRAIN + "m", TREATY, ROWS, 'there is no column "whom"'),
    "text in a number column": (
        TRAIN,
        TREATY,
        ROWS.replace("7,8,0.2", "7,eight,0.2"),
        "column \"b\" must hold numbers, but row 4 holds 'eight'",
    ),
    "constant column": (
        TRAIN + " --public rows.csv",
        TREATY.replace("[loss]", '[dictionary]\nstandardise = "public"\n[loss]'),
        "\n".join(line if i == 0 else "1" + line[1:] for i, line in enumerate(ROWS.split())) + "\n",
        'column "a" is constant in the public rows',
    ),
    "empty owner": (
        TRAIN,
        TREATY.replace('name = "two"', 'name = "three"'),
        ROWS,
        "three in rows.csv: there are no records",
    ),
    "one record": (
        TRAIN,
        TREATY,
        "\n".join(ROWS.split()[:6]) + "\n",
        "two in rows.csv: there is 1 record",
    ),
    "label outside": (
        TRAIN,
        TREATY.replace('name = "squared"', 'name = "hinge"').replace("bounds = [0, 1]\n", ""),
        ROWS,
        'counting only the rows of one: column "y" must hold the labels -1 and 1, but row 1 holds',
    ),
    "epsilon zero": (
        TRAIN,
        TREATY.replace("epsilon = 1.0", "epsilon = 0.0", 1),
        ROWS,
        "treaty.toml, line 19: parties.1: epsilon must lie between 1e-06 and 1e+06 (or be inf), not 0",
    ),
    "epsilon negative": (
        TRAIN,
        TREATY.replace("epsilon = 1.0", "epsilon = -2", 1),
        ROWS,
        "epsilon must lie between 1e-06 and 1e+06 (or be inf), not -2",
    ),
    "horizon below one": (
        TRAIN,
        TREATY.replace("horizon = 5", "horizon = 0"),
        ROWS,
        "training.horizon: the horizon must lie between 1 and 1,000,000,000, not 0",
    ),
    "bounds reversed": (
        TRAIN,
        TREATY.replace("bounds = [0, 10]", "bounds = [10, 0]", 1),
        ROWS,
        "features.a.bounds: the lower bound 10 must be below the upper bound 0",
    ),
    "too many components": (
        TRAIN,
        TREATY.replace("[loss]", "[dictionary]\ncomponents = 3\n[loss]"),
        ROWS,
        "3 components cannot come out of 2 columns",
    ),
    "duplicate owners": (
        TRAIN,
        TREATY.replace('name = "two"', 'name = "one"'),
        ROWS,
        "two parties are called one",
    ),
    "newer treaty": (
        TRAIN,
        TREATY.replace("version = 1", "version = 7"),
        ROWS,
        "this treaty is of version 7, and this program understands versions up to 1",
    ),
    "not toml": (TRAIN, "version = = 1", ROWS, "treaty.toml: not valid TOML"),
    "wrong number of records": (
        TRAIN,
        TREATY.replace("records = 4", "records = 5"),
        ROWS,
        "there are 4 records, and the treaty says that one holds 5",
    ),
    "no word of where the records are": (
        "train treaty.toml",
        TREATY,
        ROWS,
        "say where the records are",
    ),
    "no word of whose they are": ("train treaty.toml --data rows.csv", TREATY, ROWS, "with --by"),
    "owner without a file": (
        "train treaty.toml --owner one",
        TREATY,
        ROWS,
        '--owner takes NAME=FILE, not "one"',
    ),
    "stranger": (
        "train treaty.toml --owner five=rows.csv",
        TREATY,
        ROWS,
        "five is not a party to this treaty",
    ),
    "public rows wanted": (
        TRAIN,
        TREATY.replace("[loss]", "[dictionary]\ncomponents = 2\n[loss]"),
        ROWS,
        "give some with --public",
    ),
    "no runs": (
        "simulate treaty.toml --data rows.csv --by who --runs 0",
        TREATY,
        ROWS,
        "at least 1 run is needed, not 0",
    ),
    "draft over a file": (
        "init rows.csv --public --target y --by who",
        TREATY,
        ROWS,
        "treaty.toml: exists already; --force overwrites it",
    ),
    "draft of no column": (
        "init rows.csv --public --target z --out draft.toml",
        TREATY,
        ROWS,
        'there is no column "z"',
    ),
    "draft of texts": (
        "init rows.csv --public --target t --out draft.toml",
        TREATY,
        "a,t\n1,x\n2,y\n3,z\n",
        'must be a number, or one of two labels; column "t" holds 3 different texts, such as',
    ),
    "a model in no folder": (
        TRAIN + " --model nowhere/model.json",
        TREATY,
        ROWS,
        "nowhere/model.json: there is no folder nowhere",
    ),
    "a picture of no kind": (
        "simulate treaty.toml --data rows.csv --by who --plot rounds.doc",
        TREATY,
        ROWS,
        "rounds.doc: a picture must end in .png, .svg, .pdf",
    ),
    "version zero": (
        TRAIN,
        TREATY.replace("version = 1", "version = 0"),
        ROWS,
        "version must be 1",
    ),
    "a forecast from nothing": (
        "forecast treaty.toml",
        TREATY,
        ROWS,
        "give some with --stand-in, or let --generate make them up",
    ),
    "a stand-in with other columns": (
        "forecast treaty.toml --stand-in rows.csv",
        TREATY,
        ROWS.replace("a,b,y", "a,z,y"),
        'there is no column "b"',
    ),
    "a stand-in of few rows": (
        "forecast treaty.toml --stand-in rows.csv",
        TREATY,
        ROWS,
        "8 stand-in rows are too few: at least 20 are needed",
    ),
    "prices for strangers": (
        "advise treaty.toml --generate --prices one=1 --prices two=1 --prices six=1 --spend 4",
        TREATY,
        ROWS,
        "--prices names six, who is not a party",
    ),
    "prices that are none": (
        "advise treaty.toml --generate --prices one=cheap --spend 4",
        TREATY,
        ROWS,
        '--prices takes NAME=PRICE, not "one=cheap"',
    ),
    "a target that is none": (
        "advise treaty.toml --generate --target low",
        TREATY,
        ROWS,
        '--target takes a share of 0% or more, such as 1%, not "low"',
    ),
    "an option that is not there": (TRAIN + " --spede", TREATY, ROWS, "--spede"),
}


@pytest.mark.parametrize("case", CASES)
def test_one_sentence_and_exit_code_two(type_in, case):
    words, treaty, rows, says = CASES[case]
    code, _, err = type_in(words, treaty, rows)
    if says is None:
        assert code == 0, err
        return
    assert code == 2
    assert says in err
    assert "Traceback" not in err
    if err.startswith("treaty:"):
        assert err.count("\n") == 1
