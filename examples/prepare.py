"""Deal the rows of a public file out to owners, as an example's treaty says.

    python examples/prepare.py lending                # generated rows with the same columns
    python examples/prepare.py lending loan.csv       # the real file (CSV or Parquet)

Writes records.parquet (with a column `owner`) and public.parquet into the example's folder.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

PUBLIC_ROWS = 5_000
HERE = Path(__file__).parent


@dataclass(frozen=True)
class Example:
    """How one example's rows are made or read, and dealt out.

    Args:
        generate: makes this many rows with the columns of the public file.
        owners: how many owners.
        records: how many records each has.
        by: the column that says whose record it is; the owners are its most frequent values, and
            the public rows are those of the others. Without it rows are dealt out in order.
    """

    generate: Callable[[np.random.Generator, int], pl.DataFrame]
    owners: int
    records: int
    by: str | None = None


def lending(random: np.random.Generator, n: int) -> pl.DataFrame:
    """Loans: the riskier the borrower, the higher the rate."""
    risk = random.standard_normal(n)
    amount = np.clip(random.lognormal(9.2, 0.6, n), 1_000, 40_000)
    term = np.where(random.random(n) < 0.3, 60, 36)
    rate = 11 + 2.5 * risk + 2.0 * (term == 60) + amount / 20_000
    rate = np.clip(rate + random.standard_normal(n), 5, 30)
    return pl.DataFrame(
        {
            "loan_amnt": amount,
            "term": term,
            "installment": amount / term * (1 + rate / 50),
            "annual_inc": random.lognormal(11, 0.5, n),
            "dti": np.clip(15 + 3 * risk + 5 * random.standard_normal(n), 0, 40),
            "delinq_2yrs": random.poisson(np.exp(0.5 * risk - 2.2)),
            "inq_last_6mths": random.poisson(np.exp(0.4 * risk - 0.2)),
            "revol_util": np.clip(50 + 20 * risk + 15 * random.standard_normal(n), 0, 120),
            "revol_bal": random.lognormal(9.3, 1.0, n),
            "open_acc": random.poisson(9, n),
            "total_acc": random.poisson(22, n),
            "home_ownership": random.choice(["RENT", "MORTGAGE", "OWN"], n, p=[0.48, 0.44, 0.08]),
            "int_rate": rate,
        }
    )


def hospital(random: np.random.Generator, n: int) -> pl.DataFrame:
    """Hospital discharges: older and emergency patients stay longer."""
    ages = ["0 to 17", "18 to 29", "30 to 49", "50 to 69", "70 or Older"]
    age = random.choice(5, n, p=[0.1, 0.1, 0.21, 0.3, 0.29])
    emergency = random.random(n) < 0.7
    stay = random.lognormal(0.9 + 0.12 * age + 0.25 * emergency, 0.8)
    shares = 1 / np.arange(1, 41) ** 0.6
    return pl.DataFrame(
        {
            "facility_name": random.choice(
                [f"Hospital {i}" for i in range(1, 41)], n, p=shares / shares.sum()
            ),
            "age_group": np.array(ages)[age],
            "gender": random.choice(["Female", "Male"], n),
            "type_of_admission": np.where(emergency, "Emergency", "Elective"),
            "payment_1": random.choice(
                ["Government", "Private", "Self Pay"], n, p=[0.7, 0.27, 0.03]
            ),
            "ed_indicator": np.where(emergency, "Yes", "No"),
            "patient_disposition": random.choice(
                ["Home / Self Care", "Long-Term / Custodial Care"], n, p=[0.9, 0.1]
            ),
            "length_of_stay": np.ceil(np.clip(stay, 1, 120)),
        }
    )


def fraud(random: np.random.Generator, n: int) -> pl.DataFrame:
    """Card transactions: one in seventy is a fraud, and frauds lie apart."""
    label = (random.random(n) < 0.0137).astype(int)
    shift = np.zeros(28)
    shift[[2, 3, 9, 11, 13, 16]] = [-4, 3, -3.5, -4, -5, -4]
    v = random.standard_normal((n, 28)) * np.linspace(1.9, 0.3, 28) + label[:, None] * shift
    columns = {f"V{i + 1}": v[:, i] for i in range(28)}
    return pl.DataFrame(columns | {"Amount": random.lognormal(3, 1.5, n), "Class": label})


EXAMPLES = {
    "lending": Example(lending, owners=3, records=10_000),
    "hospital": Example(hospital, owners=10, records=2_000, by="facility_name"),
    "fraud": Example(fraud, owners=3, records=10_000),
}


def read(path: Path) -> pl.DataFrame:
    """Read a public file and smooth out its quirks: column names, "36 months", "13.5%", "120 +"."""
    if path.suffix == ".parquet":
        frame = pl.read_parquet(path)
    else:
        frame = pl.read_csv(path, infer_schema_length=None)
    if "Class" not in frame.columns:
        frame = frame.rename(lambda name: name.strip().lower().replace(" ", "_"))
    number = r"^\s*(-?\d+(?:\.\d+)?)\s*(?:%|months|\+)?\s*$"
    for column in ("int_rate", "revol_util", "term", "length_of_stay"):
        if column in frame.columns and frame[column].dtype == pl.String:
            frame = frame.with_columns(pl.col(column).str.extract(number).cast(pl.Float64))
    return frame


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
        frame, kind = read(Path(sys.argv[2])), f"rows of {sys.argv[2]}"
        if "source" in frame.columns:
            largest = {"lending": "kuhnrl30_2007_2011", "hospital": "sparcs2021_75hospitals"}
            frame = frame.filter(pl.col("source") == largest[name])
        frame = frame.sample(fraction=1.0, shuffle=True, seed=1)
    else:
        frame, kind = example.generate(np.random.default_rng(0), 120_000), "generated rows"
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
