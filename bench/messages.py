"""Is every kind of bad input answered with one sentence that helps?

    python -m bench.messages

Each kind is given to the command line as a person would. `tracebacks`: answers that are none of ours.
`vague`: answers without a remedy, or that do not name the file and the place; a remedy is one of the
phrases in REMEDIES. `wrong_code`: exit codes other than 2. `kinds`: how many kinds of bad input.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from bench.report import finish

REMEDIES = (
    *(
        "give ",
        "write ",
        "say ",
        "name another",
        "correct ",
        "leave ",
        "choose ",
        "raise ",
        "lower ",
    ),
    *(
        "; there are ",
        "did you mean",
        "must be ",
        "must lie ",
        "must hold ",
        "must end in",
        "is needed",
    ),
    *(
        "are needed",
        "treaty fit",
        "treaty ratify",
        "put cells",
        "close it",
        "save it",
        "should name",
    ),
    *(
        "takes ",
        "overwrites",
        "goes with",
        "permit it",
        "it can keep",
        "install",
        "there is no folder",
    ),
    *("set it", "is it a "),
)
"""Phrases of which a sentence that helps has one."""
TREATY = """\
version = 1
title = "t"
[features.age]
kind = "number"
bounds = [0, 100]
[features.ward]
kind = "one-hot"
categories = ["A", "B"]
[target]
column = "stay"
bounds = [0, 30]
[loss]
name = "squared"
clip = 1.0
ridge = 1e-4
theta_max = 5.0
[training]
method = "averaged-subgradient"
horizon = 5
[[parties]]
name = "north"
records = 40
epsilon = 1.0
[[parties]]
name = "south"
records = 40
epsilon = 1.0
"""
ROWS = "who,age,ward,stay\n" + "".join(
    f"{'north' if i % 2 else 'south'},{i % 90}.5,{'AB'[i % 2]},{i % 7}.25\n" for i in range(80)
)
TRAIN = "train treaty.toml --data rows.csv --by who"
FORECAST = "forecast treaty.toml --stand-in rows.csv --no-settings"
INIT = "init rows.csv --public --target stay --by who --out new.toml --no-plan"


@dataclass(frozen=True)
class Bad:
    """One kind of bad input.

    Args:
        command: what is typed.
        says: words that the answer must have: the file, and the place.
        treaty: the treaty, if it is not the usual one.
        rows: the rows, if they are not the usual ones.
        files: further files.
    """

    command: str
    says: tuple[str, ...]
    treaty: str = TREATY
    rows: str | bytes = ROWS
    files: dict[str, str | bytes] = field(default_factory=dict[str, str | bytes])


def _treaty(old: str, new: str, *says: str, command: str = TRAIN) -> Bad:
    assert old in TREATY, old
    return Bad(command, ("treaty.toml", *says), treaty=TREATY.replace(old, new, 1))


def _rows(old: str, new: str, *says: str, command: str = TRAIN) -> Bad:
    assert old in ROWS, old
    return Bad(command, ("rows.csv", *says), rows=ROWS.replace(old, new, 1))


HATS = 'kind = "hats"\nbounds = [0, 100]\n'
KINDS: dict[str, Bad] = {
    "no treaty": Bad(TRAIN.replace("treaty.toml", "treaties.toml"), ("treaties.toml",)),
    "not TOML": _treaty("[loss]", "[loss", "line 12"),
    "a treaty that is no text": Bad(
        "train rows.parquet --data rows.csv --by who",
        ("rows.parquet",),
        files={"rows.parquet": b"\xff\xfe\x00\x01"},
    ),
    "no version": _treaty("version = 1\n", "", "version"),
    "a newer version": _treaty("version = 1", "version = 9", "version"),
    "an unknown key": _treaty("horizon = 5", "horizn = 5", "line 19", "horizn"),
    "an unknown table": _treaty("[loss]", "[los]", "los"),
    "an unknown kind of column": _treaty('kind = "one-hot"', 'kind = "onehot"', "line 7", "ward"),
    "a missing key": _treaty("horizon = 5\n", "", "horizon"),
    "bounds reversed": _treaty("[0, 100]", "[100, 0]", "line 5", "age"),
    "bounds that are one": _treaty("[0, 100]", "[5]", "line 5", "age"),
    "a category twice": _treaty('["A", "B"]', '["A", "A"]', "ward"),
    "no categories": _treaty('categories = ["A", "B"]', "categories = []", "ward"),
    "a target that is a feature": _treaty('column = "stay"', 'column = "age"', "age"),
    "no bounds of the target": _treaty("bounds = [0, 30]\n", "", "target"),
    "labels for squared loss": _treaty("bounds = [0, 30]", 'labels = ["a", "b"]', "target"),
    "an unknown loss": _treaty('"squared"', '"sqared"', "line 13", "sqared"),
    "a loss of one's own": _treaty('"squared"', '"mine:Loss"', "mine:Loss"),
    "an unknown method": _treaty("averaged-subgradient", "sgd", "line 18", "sgd"),
    "an unknown mechanism": _treaty("horizon = 5", 'horizon = 5\nmechanism = "gaus"', "gaus"),
    "gaussian without delta": _treaty(
        "horizon = 5", 'horizon = 5\nmechanism = "gaussian"', "delta"
    ),
    "no rounds": _treaty("horizon = 5", "horizon = 0", "line 19"),
    "a clip below 0": _treaty("clip = 1.0", "clip = -1.0", "clip"),
    "epsilon 0": _treaty("epsilon = 1.0", "epsilon = 0", "line 20"),
    "a text for a number": _treaty("records = 40", 'records = "many"', "line 22"),
    "two parties of one name": _treaty('name = "south"', 'name = "north"', "north"),
    "no parties": Bad(TRAIN, ("treaty.toml", "parties"), treaty=TREATY.split("[[parties]]")[0]),
    "answers below the rounds": _treaty("epsilon = 1.0", "epsilon = 1.0\nanswers = 2", "answers"),
    "clocks of a synchronous method": _treaty("epsilon = 1.0", "epsilon = 1.0\nrate = 2.0", "rate"),
    "whitening nothing": _treaty("[loss]", "[dictionary]\nwhiten = true\n[loss]", "whiten"),
    "too many components": _treaty("[loss]", "[dictionary]\ncomponents = 9\n[loss]", "components"),
    "a dictionary that is not fitted": _treaty(
        "[loss]",
        '[dictionary]\nstandardise = "public"\n[loss]',
        "treaty fit",
        command="federation init treaty.toml --out federation",
    ),
    "knots that are not placed": _treaty(
        'kind = "number"\nbounds = [0, 100]',
        HATS + "quantiles = 4",
        "treaty fit",
        command="ratify treaty.toml --name north --epsilon 1 --data rows.csv --home home --yes",
    ),
    "knots out of order": _treaty(
        'kind = "number"\nbounds = [0, 100]', HATS + "knots = [5, 1]", "knots"
    ),
    "a dictionary that is not there": _treaty(
        "version = 1", 'version = 1\nfitted = "d.json"', "d.json"
    ),
    "years of a date": _treaty(
        'kind = "number"\nbounds = [0, 100]', 'kind = "date"\nparts = ["year"]', "line 3", "years"
    ),
    "no records": Bad(TRAIN.replace("rows.csv", "rows2.csv"), ("rows2.csv", "rows.csv")),
    "a folder": Bad("train treaty.toml --data . --by who", (".",)),
    "an unknown kind of file": Bad(
        TRAIN.replace("rows.csv", "rows.json"), ("rows.json",), files={"rows.json": "{}"}
    ),
    "an empty file": Bad(TRAIN, ("rows.csv",), rows=""),
    "only names": Bad(TRAIN, ("rows.csv", "north"), rows=ROWS.splitlines()[0] + "\n"),
    "a damaged Parquet file": Bad(
        TRAIN.replace("rows.csv", "r.parquet"),
        ("r.parquet",),
        files={"r.parquet": b"PAR1 and nothing else"},
    ),
    "a damaged workbook": Bad(
        TRAIN.replace("rows.csv", "r.xlsx"), ("r.xlsx",), files={"r.xlsx": b"no"}
    ),
    "a picture for a table": Bad(TRAIN, ("rows.csv",), rows=b"\x89PNG\r\n\x1a\n\x00\x00"),
    "a line too long": _rows("south,2.5,A,2.25", "south,2.5,A,2.25,9", "line 4"),
    "a quote that stays open": _rows("south,2.5,A", 'south,"2.5,A', "line 4"),
    "a missing column": _rows("ward", "word", "ward", "word"),
    "a missing owner column": Bad(TRAIN + "m", ("rows.csv", "whom", "who")),
    "a stray text": _rows("north,3.5", "north,old", "age", "row", "old"),
    "a missing target": _rows("A,2.25", "A,", "stay", "row"),
    "a text for a target": _rows("A,2.25", "A,long", "stay", "row", "long"),
    "fewer records than declared": _rows("south,0.5,A,0.25\n", "", "39", "40"),
    "an owner without records": Bad(
        TRAIN, ("rows.csv", "south"), rows=ROWS.replace("south", "west")
    ),
    "no owner column": Bad("train treaty.toml --data rows.csv", ("--by",)),
    "no data at all": Bad("train treaty.toml", ("--data",)),
    "an owner twice": Bad(
        "train treaty.toml --owner a=rows.csv --owner a=rows.csv", ("--owner", "a")
    ),
    "an owner without a file": Bad("train treaty.toml --owner north", ("--owner", "north")),
    "a stranger": Bad("train treaty.toml --owner west=rows.csv", ("west",)),
    "a model in no folder": Bad(TRAIN + " --model no/model.json", ("no/model.json",)),
    "a picture that is none": Bad(FORECAST + " --plot it.docx", ("it.docx", ".png")),
    "no stand-in": Bad("forecast treaty.toml", ("--stand-in",)),
    "a share that is none": Bad(FORECAST + " --worthwhile lots", ("--worthwhile", "lots")),
    "a draft of rows that may be private": Bad(
        "init rows.csv --target stay", ("--public", "--private")
    ),
    "a draft over a file": Bad(INIT.replace("new.toml", "treaty.toml"), ("treaty.toml", "--force")),
    "a draft without its target": Bad(INIT.replace("stay", "stays"), ("rows.csv", "stays", "stay")),
    "a draft of texts": Bad(
        INIT.replace("target stay", "target ward"),
        ("rows.csv", "ward"),
        rows=ROWS.replace(",A,2.25", ",C,2.25"),
    ),
    "a draft of a constant": Bad(
        INIT, ("rows.csv", "stay"), rows=re.sub(r"\d\.25\n", "1.25\n", ROWS)
    ),
    "a draft with holes in the target": _rows("A,2.25", "A,", "stay", "row 3", command=INIT),
    "a draft with decimal signs of both kinds": Bad(
        INIT,
        ("rows.csv", "stay"),
        rows=ROWS.replace(",", ";").replace(".25", ",25").replace(";3,25", ";3.5"),
    ),
    "a plan of too few rows": Bad(
        "plan treaty.toml --stand-in few.csv --public --out new.toml",
        ("few.csv", "50"),
        files={"few.csv": "\n".join(ROWS.splitlines()[:9]) + "\n"},
    ),
    "a plan that keeps what is not there": Bad(
        "plan treaty.toml --stand-in rows.csv --public --keep colours --out new.toml",
        ("colours", "knots"),
    ),
    "a model that is none": Bad("adapt treaty.toml --data rows.csv", ("treaty.toml",)),
    "a ledger that is not there": Bad("ledger --home nowhere", ("nowhere",)),
    "a database without an address": Bad(
        TRAIN.replace("rows.csv", "db.toml"),
        ("db.toml", "NO_SUCH_ADDRESS"),
        files={"db.toml": 'kind = "sqlite"\naddress = "NO_SUCH_ADDRESS"\nquery = "SELECT 1"\n'},
    ),
    "a database of an unknown kind": Bad(
        TRAIN.replace("rows.csv", "db.toml"),
        ("db.toml", "kind"),
        files={"db.toml": 'kind = "oracle"\naddress = "A"\nquery = "SELECT 1"\n'},
    ),
}


def answered(bad: Bad) -> tuple[int, str]:
    """Return the exit code and what was said."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, content in {"treaty.toml": bad.treaty, "rows.csv": bad.rows, **bad.files}.items():
            (folder / file).write_bytes(content if isinstance(content, bytes) else content.encode())
        done = subprocess.run(
            [sys.executable, "-m", "treaty", *bad.command.split()],
            cwd=folder,
            capture_output=True,
            text=True,
            env={**os.environ, "COLUMNS": "400", "OPENBLAS_NUM_THREADS": "1"},
        )
    return done.returncode, "\n".join(_last(done.stderr))


def _last(said: str) -> Iterator[str]:
    """Return what was said without notes and bars."""
    lines = [line for line in said.splitlines() if line.strip() and not line.startswith("Note: ")]
    yield from lines


def main() -> None:
    with ThreadPoolExecutor(2) as pool:
        answers = dict(zip(KINDS, pool.map(answered, KINDS.values()), strict=True))
    tracebacks, vague, wrong = 0, 0, 0
    for kind, (code, said) in answers.items():
        bad = KINDS[kind]
        broken = "Traceback" in said
        silent = [word for word in bad.says if word not in said]
        helpless = not any(phrase in said for phrase in REMEDIES)
        tracebacks, wrong = tracebacks + broken, wrong + (code != 2)
        vague += bool(silent or helpless)
        mark = (
            "BROKEN" if broken else "VAGUE" if silent or helpless else "CODE" if code != 2 else "ok"
        )
        print(f"{mark:6} {kind}: {said}" + (f"  (does not say {silent})" if silent else ""))
    finish(kinds=len(KINDS), tracebacks=tracebacks, vague=vague, wrong_code=wrong)


if __name__ == "__main__":
    main()
