"""A search for a record that changes how another one is read.

A pair is two files, tables or data frames that differ in one record, of one kind of source, read under
one treaty with columns of every kind. Cells are drawn from what people and programs write, and from
what was once read differently beside other cells. A pair in which any other record becomes another
(x, y) counts as `influence`; `worst` is how far an exact answer moved over its declared sensitivity. A
pair of which one file is refused moves nobody; `refused` is their share. From a pair that is not refused
the search goes on with another cell of the same record.
"""

import argparse
import csv
import datetime
import io
import os
import random
import sqlite3
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import xlsxwriter

from bench.report import finish
from treaty.errors import TreatyError
from treaty.plans import Plan
from treaty.records import Encoder, Source, open_source
from treaty.terms import encoder_of, fit, loads, plan_of

PAIRS = 20_000
RECORDS = 8
CLIMB = 10
"""Pairs that are made of one file in a row."""
Dice = random.Random
Rows = list[list[Any]]
COLUMNS = ("number", "logged", "bent", "truth", "grade", "code", "day", "spare", "y")

NUMBERS = (
    0, 1, 2, 3, -1, 0.5, 0.123, 2.5, 1e-9, 1234, 1234.5, 1e22, 2**53 + 1, "0,5", "1,234", "1.234",
    "1.234,5", "1,234.5", "8'933.74", "1 234", " 7 ", "2", "2.0", "0", "1e3", "inf", "-0", "NaN",
    None, "", "x", "yes", "No", True, False, "TRUE", "é", '"', "a\nb", float("nan"), float("inf"),
)  # fmt: skip
CODES = (1, 2, 3, 2.5, "1", "01", "2.0", "3", "a", None, "", True, "true", 1.0, 10**16, "é", "1,0")
DAYS = (
    datetime.date(2021, 3, 4), datetime.datetime(2022, 5, 6, 7, 8, 9), "2021-03-04",
    "2022-05-06 07:08", "2021-03-04T10:11:12+02:00", "04.03.2021", "03/04/2021", 20210304, None, "", "x",
)  # fmt: skip
TREATY = """\
version = 1
dialect = {dialect}
[features.number]
kind = "number"
bounds = [-5, 2000]
texts = "{texts}"
[features.logged]
kind = "number"
bounds = [0, 100]
log1p = true
missing = 3.0
texts = "{texts}"
[features.bent]
kind = "hats"
bounds = [0, 10]
knots = [0, 1, 2.5, 10]
texts = "{texts}"
[features.truth]
kind = "number"
bounds = [0, 1]
words = {{ no = 0, yes = 1 }}
texts = "{texts}"
[features.grade]
kind = "ordinal"
categories = ["1", "2", "3"]
[features.code]
kind = "one-hot"
categories = ["1", "2", "3", "a"]
[features.day]
kind = "date"
parts = ["year", "month", "weekday", "hour"]
years = [2020, 2025]
texts = "{texts}"
[target]
column = "y"
{target}
[loss]
name = "{loss}"
clip = 1.5
theta_max = 2.0
[training]
method = "averaged-subgradient"
horizon = 1
mechanism = "{mechanism}"
[[parties]]
name = "us"
records = 8
epsilon = 1.0
delta = {delta}
"""
DIALECTS = (
    "{}",
    '{ separator = ";", decimal = ",", thousands = "." }',
    '{ separator = "\\t", decimal = ".", thousands = "," }',
    '{ separator = "|", encoding = "cp1252", thousands = "\'" }',
    '{ decimal = ",", columns = { code = { decimal = "." } } }',
    '{ encoding = "utf-16", thousands = " " }',
)


def treaties() -> list[tuple[Encoder, Plan]]:
    """Return the treaties that pairs are read under."""
    made: list[tuple[Encoder, Plan]] = []
    for place, dialect in enumerate(DIALECTS):
        labels = place % 2 == 1
        text = TREATY.format(
            dialect=dialect,
            texts="refused" if place == 3 else "missing",
            target='labels = ["no", "yes"]' if labels else "bounds = [0, 50]\nmissing = 4.0",
            loss=("huber", "logistic", "squared", "hinge", "huber", "logistic")[place],
            mechanism="gaussian" if place > 3 else "laplace",
            delta="1e-6" if place > 3 else "0.0",
        )
        document = fit(loads(text), None)
        made.append((encoder_of(document), plan_of(document)))
    return made


def cell(dice: Dice, column: str, plain: float) -> Any:
    """Return a cell of a column: usually what belongs there, sometimes anything."""
    if dice.random() < plain:
        usual: dict[str, Callable[[], Any]] = {
            "truth": lambda: dice.choice(("yes", "no")),
            "grade": lambda: dice.choice((1, 2, 3)),
            "code": lambda: dice.choice((1, 2, 3)),
            "day": lambda: datetime.date(2020, 1, 1) + datetime.timedelta(dice.randrange(2000)),
            "y": lambda: dice.choice(("yes", "no")) if LABELS[0] else dice.randrange(50),
        }
        return usual.get(column, lambda: round(dice.uniform(0, 10), 3))()
    if column == "y" and LABELS[0]:
        return dice.choice(("yes", "no", "Yes", True, False, 1, 0, "1", "0", 1.0, "true"))
    return dice.choice({"grade": CODES, "code": CODES, "day": DAYS}.get(column, NUMBERS))


LABELS = [False]
"""Whether labels are predicted under the treaty at hand."""


def texts(rows: Rows, dialect: Any) -> bytes:
    """Return rows as a text file of a dialect."""
    file = io.StringIO()
    writer = csv.writer(file, delimiter=dialect.separator or ",", quotechar=dialect.quote)
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow(
            ["" if c is None else str(c).replace(".", dialect.decimal) if isinstance(c, float) else c
             for c in row]
        )  # fmt: skip
    return file.getvalue().encode(dialect.encoding, errors="replace")


class Makers:
    """Makes a source of every kind of rows.

    Args:
        folder: where files go.
        postgres: the address of a server, if there is one.
    """

    def __init__(self, folder: Path, postgres: str | None = None) -> None:
        self.folder, self._postgres = folder, postgres
        self._made = 0
        self.kinds: dict[str, Callable[[Rows, Any], Source]] = {
            "csv": self.csv,
            "pandas_csv": self.pandas_csv,
            "excel": self.excel,
            "sqlite": self.sqlite,
            "pandas": self.pandas,
            "pandas_read_csv": self.pandas_read_csv,
            "pandas_nullable": self.pandas_nullable,
            "polars": self.polars,
            "polars_object": self.polars_object,
            "parquet": self.parquet,
        }
        if postgres is not None:
            self.kinds["postgresql"] = self.postgresql

    def _path(self, end: str) -> Path:
        self._made += 1
        return self.folder / f"rows{self._made % 4}.{end}"

    def csv(self, rows: Rows, dialect: Any) -> Source:
        """Return a text file."""
        path = self._path("csv")
        path.write_bytes(texts(rows, dialect))
        return open_source(path, dialect=dialect)

    def pandas_csv(self, rows: Rows, dialect: Any) -> Source:
        """Return a text file that pandas wrote."""
        path = self._path("csv")
        frame = self._frame(rows)
        # Its decimal sign stays a point: pandas writes others in columns of nothing but numbers alone.
        frame.to_csv(path, index=False, sep=dialect.separator or ",", encoding=dialect.encoding,
                     errors="replace")  # fmt: skip
        return open_source(path, dialect=dialect)

    def excel(self, rows: Rows, dialect: Any) -> Source:
        """Return a workbook."""
        path = self._path("xlsx")
        with xlsxwriter.Workbook(str(path), {"nan_inf_to_errors": True}) as book:
            sheet = book.add_worksheet()
            form = book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})
            sheet.write_row(0, 0, COLUMNS)
            for i, row in enumerate(rows, 1):
                sheet.write(i, len(COLUMNS), "-")  # a row without any cell is no record
                for j, value in enumerate(row):
                    if isinstance(value, datetime.date):
                        sheet.write_datetime(i, j, value, form)
                    elif value is not None:
                        sheet.write(i, j, value)
        return open_source(path, dialect=dialect)

    def sqlite(self, rows: Rows, dialect: Any) -> Source:
        """Return a table of SQLite, whose cells have types of their own."""
        path = self._path("sqlite")
        path.unlink(missing_ok=True)
        with sqlite3.connect(path) as database:
            database.execute(f"CREATE TABLE r({', '.join(COLUMNS)})")
            marks = ", ".join("?" * len(COLUMNS))
            database.executemany(f"INSERT INTO r VALUES ({marks})", [_for_sql(row) for row in rows])
        database.close()
        return self._sql("sqlite", str(path), "SELECT * FROM r")

    def postgresql(self, rows: Rows, dialect: Any) -> Source:
        """Return a table of PostgreSQL, whose columns have types."""
        from adbc_driver_postgresql import dbapi

        assert self._postgres is not None
        kinds = {"number": "DOUBLE PRECISION", "grade": "INT", "y": "NUMERIC"}
        if LABELS[0]:
            kinds["y"] = "TEXT"
        with dbapi.connect(self._postgres) as connection, connection.cursor() as cursor:
            cursor.execute("DROP TABLE IF EXISTS r")
            columns = ", ".join(f"{name} {kinds.get(name, 'TEXT')}" for name in COLUMNS)
            cursor.execute(f"CREATE TABLE r(id INT, {columns})")
            for place, row in enumerate(rows):
                values = [
                    _typed(value, kinds.get(name, "TEXT"))
                    for name, value in zip(COLUMNS, row, strict=True)
                ]
                cursor.execute(f"INSERT INTO r VALUES ({place}, {', '.join(values)})")
            connection.commit()
        query = f"SELECT {', '.join(COLUMNS)} FROM r ORDER BY id"
        return self._sql("postgresql", self._postgres, query)

    def _sql(self, kind: str, address: str, query: str) -> Source:
        os.environ["READING_ADDRESS"] = address
        terms = self._path("toml")
        terms.write_text(f'kind = "{kind}"\naddress = "READING_ADDRESS"\nquery = "{query}"\n')
        return open_source(terms)

    def _frame(self, rows: Rows) -> Any:
        columns = zip(COLUMNS, zip(*rows, strict=True), strict=True)
        return pd.DataFrame({name: list(cells) for name, cells in columns})

    def pandas(self, rows: Rows, dialect: Any) -> Source:
        """Return a frame whose types pandas takes from all cells."""
        return open_source(self._frame(rows))

    def pandas_nullable(self, rows: Rows, dialect: Any) -> Source:
        """Return a frame of pandas' nullable types."""
        return open_source(self._frame(rows).convert_dtypes())

    def pandas_read_csv(self, rows: Rows, dialect: Any) -> Source:
        """Return what pandas makes of a text file."""
        return open_source(pd.read_csv(io.BytesIO(texts(rows, PLAIN))))

    def polars(self, rows: Rows, dialect: Any) -> Source:
        """Return a frame of Polars."""
        return open_source(_polars(rows))

    def polars_object(self, rows: Rows, dialect: Any) -> Source:
        """Return a frame of Polars that holds Python objects."""
        columns = zip(COLUMNS, zip(*rows, strict=True), strict=True)
        return open_source(pl.DataFrame([pl.Series(n, c, dtype=pl.Object) for n, c in columns]))

    def parquet(self, rows: Rows, dialect: Any) -> Source:
        """Return a Parquet file."""
        path = self._path("parquet")
        _polars(rows).write_parquet(path)
        return open_source(path)


class _Plain:
    separator, quote, decimal, encoding = ",", '"', ".", "utf-8"


PLAIN = _Plain()


def _polars(rows: Rows) -> pl.DataFrame:
    """Return rows as Polars would hold them: a column of whole numbers, fractions, truths or texts."""
    made: list[pl.Series] = []
    for name, values in zip(COLUMNS, zip(*rows, strict=True), strict=True):
        try:
            made.append(pl.Series(name, list(values), strict=True))
        except (TypeError, pl.exceptions.PolarsError):
            made.append(pl.Series(name, [None if v is None else str(v) for v in values]))
    return pl.DataFrame(made)


def _for_sql(row: Sequence[Any]) -> list[Any]:
    return [str(v) if isinstance(v, datetime.date) or (isinstance(v, int) and v >= 2**63) else v for v in row]  # fmt: skip  # noqa: E501


def _typed(value: Any, kind: str) -> str:
    """Return a cell as PostgreSQL's own type has it: what is none there is missing."""
    if kind == "TEXT":
        return "NULL" if value is None else "'" + str(value).replace("'", "''") + "'"
    try:
        number = float(value)
    except (TypeError, ValueError):
        return "NULL"
    if kind == "INT":
        return str(int(number)) if np.isfinite(number) and abs(number) < 2**31 else "NULL"
    if kind == "NUMERIC" and not np.isfinite(number):
        return "NULL"
    return f"'{number!r}'::{kind.lower()}"


def read(encoder: Encoder, plan: Plan, source: Source) -> Any:
    """Return the encoded records and the risk of a source."""
    rows, _ = encoder.rows(plan.problem.loss, source)
    x = rows.x if isinstance(rows.x, np.ndarray) else rows.x.toarray()
    return x, rows.y, rows


def search(
    pairs: int, seed: int, postgres: str | None = None, of: type[Makers] = Makers
) -> dict[str, Any]:
    """Return what so many pairs show.

    Args:
        pairs: how many.
        seed: of the search.
        postgres: the address of a server, if there is one.
        of: what makes sources.
    """
    dice = Dice(seed)
    theta_of = np.random.default_rng(seed)
    made = treaties()
    tried, refused, influence = Counter[str](), Counter[str](), Counter[str]()
    worst, shown = 0.0, ""
    with tempfile.TemporaryDirectory() as folder:
        makers = of(Path(folder), postgres)
        while sum(tried.values()) < pairs:
            encoder, plan = dice.choice(made)
            LABELS[0] = encoder.target.bounds is None
            kind = dice.choice(list(makers.kinds))
            make = makers.kinds[kind]
            share = dice.choice((1.0, 0.95, 0.8, 0.0))
            before: Rows = [[cell(dice, c, share) for c in COLUMNS] for _ in range(RECORDS)]
            which = dice.randrange(RECORDS)
            first = _outcome(encoder, plan, make, before)
            for _ in range(CLIMB):
                after = [list(row) for row in before]
                for place in dice.sample(range(len(COLUMNS)), dice.choice((1, 1, 1, 2, 9))):
                    after[which][place] = cell(dice, COLUMNS[place], 0.2)
                second = _outcome(encoder, plan, make, after)
                tried[kind] += 1
                if first is None or second is None:
                    refused[kind] += 1
                    if first is None:
                        break
                    continue
                others = np.arange(RECORDS) != which
                same = np.array_equal(first[0][others], second[0][others], equal_nan=True)
                if not same or not np.array_equal(first[1][others], second[1][others]):
                    influence[kind] += 1
                    shown = shown or f"{kind}: {before} and {after[which]} in place of {which}"
                theta = theta_of.uniform(-2, 2, (plan.problem.dimension,))
                question = plan.learner_class.asks
                norm = plan.mechanism.norm
                risks = (question.guarded(each[2], plan.problem, norm) for each in (first, second))
                one, two = (question(theta).exact(risk, plan.problem) for risk in risks)
                size = np.abs(one - two).sum() if norm == "l1" else np.linalg.norm(one - two)
                worst = max(worst, float(size) / plan.releases[0].sensitivity)
    return {
        "sources": len(tried),
        "pairs": sum(tried.values()),
        "influence": sum(influence.values()),
        "influenced": dict(influence),
        "worst": worst,
        "refused": sum(refused.values()) / sum(tried.values()),
        "refused_by_kind": {kind: round(refused[kind] / n, 3) for kind, n in tried.items()},
        "shown": shown,
    }


def _outcome(encoder: Encoder, plan: Plan, make: Callable[[Rows, Any], Source], rows: Rows) -> Any:
    """Return what a source of rows is read as; None where it is refused."""
    with suppress(TreatyError):
        found = read(encoder, plan, make(rows, encoder.dialect))
        if len(found[1]) == RECORDS:  # another number of records is refused where n is known
            return found
    return None


def main() -> None:
    """Search, with a PostgreSQL server of its own where its programs are installed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    from bench.servers import postgres

    with postgres() as address:
        finish(**search(chosen.pairs, chosen.seed, address))


if __name__ == "__main__":
    main()
