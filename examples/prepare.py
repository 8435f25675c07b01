"""Deal the rows of a public file out to owners, as an example's treaty says.

    python examples/prepare.py lending                # generated rows with the same columns
    python examples/prepare.py lending loan.csv       # the real file (CSV or Parquet)

Writes records.parquet (with a column `owner`) and public.parquet into the example's folder.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from treaty.studies import fraud, hospital, lending

PUBLIC_ROWS = 5_000
HERE = Path(__file__).parent


@dataclass(frozen=True)
class Example:
    """How one example's rows are made or read, and dealt out.

    Args:
        read: reads the public file.
        generate: makes this many rows with its columns, from a seed.
        owners: how many owners.
        records: how many records each has.
        by: the column that says whose record it is; the owners are its most frequent values, and
            the public rows are those of the others. Without it rows are dealt out in order.
    """

    read: Callable[[Path], pl.DataFrame]
    generate: Callable[[int, int], pl.DataFrame]
    owners: int
    records: int
    by: str | None = None


EXAMPLES = {
    "lending": Example(lending.read, lending.generate, owners=3, records=10_000),
    "hospital": Example(
        hospital.read, hospital.generate, owners=10, records=2_000, by="facility_name"
    ),
    "fraud": Example(fraud.read, fraud.generate, owners=3, records=10_000),
}


def deal(example: Example, frame: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the owners' records and the public rows."""
    n = example.records
    if example.by is None:
        owned = frame[: example.owners * n]
        names = [f"bank {i + 1}" for i in range(example.owners) for _ in range(n)]
        rest = frame[example.owners * n :]
        return owned.with_columns(owner=pl.Series(names[: len(owned)])), rest[-PUBLIC_ROWS:]
    key = pl.col(example.by).cast(pl.String)
    largest = frame.group_by(key).len().sort("len", descending=True)[example.by].to_list()
    largest = largest[: example.owners]
    parts = [
        frame.filter(key == name)[:n].with_columns(owner=pl.lit(f"hospital {i + 1}"))
        for i, name in enumerate(largest)
    ]
    others = frame.filter(~key.is_in(largest))
    return pl.concat(parts), others.sample(min(PUBLIC_ROWS, len(others)), seed=0)


def main() -> None:
    """Read or generate, deal, and write."""
    if len(sys.argv) not in (2, 3) or sys.argv[1] not in EXAMPLES:
        sys.exit(f"usage: python examples/prepare.py {'|'.join(EXAMPLES)} [FILE]")
    name = sys.argv[1]
    example = EXAMPLES[name]
    if len(sys.argv) == 3:
        frame, kind = example.read(Path(sys.argv[2])), f"rows of {sys.argv[2]}"
        frame = frame.sample(fraction=1.0, shuffle=True, seed=1)
    else:
        frame, kind = example.generate(200_000, 0), "generated rows"
    records, public = deal(example, frame)
    wanted = example.owners * example.records
    if len(records) < wanted or len(public) < 100:
        sys.exit(f"{kind}: too few; {wanted:,} records and some public rows are needed")
    folder = HERE / name
    records.write_parquet(folder / "records.parquet")
    public.write_parquet(folder / "public.parquet")
    print(
        f"{kind}: {len(records):,} records of {example.owners} owners, {len(public):,} public rows"
    )


if __name__ == "__main__":
    main()
