"""Rows for the benchmarks: real ones where ../shared/data is present, else generated, and said so.

Everything goes through the package's own encoder and public dictionary: the dictionary is fitted on
rows that no owner holds.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from treaty.arrays import FloatArray
from treaty.losses import Domain
from treaty.records import Counts, DictionaryTerms, Encoder, Feature, Number, Target
from treaty.records.dictionary import fit_dictionary
from treaty.records.encoder import encode

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@dataclass(frozen=True)
class Task:
    """Encoded private and public rows of one task.

    Args:
        x: private features.
        y: private targets.
        public_x: public features.
        public_y: public targets.
        domain: the public domain.
        intercept: the index of the constant column.
        source: where the rows come from, in words.
    """

    x: FloatArray
    y: FloatArray
    public_x: FloatArray
    public_y: FloatArray
    domain: Domain
    intercept: int
    source: str

    def resampled(self, rows: int, seed: int) -> tuple[FloatArray, FloatArray]:
        """Return `rows` private rows drawn with replacement."""
        pick = np.random.default_rng(seed).integers(len(self.y), size=rows)
        return self.x[pick], self.y[pick]


def lending(public_rows: int = 10_000) -> Task:
    """LendingClub loans: interest rate from ten principal components of loan and borrower."""
    features: dict[str, Feature] = {
        "loan_amnt": Number(bounds=(0, 40_000)),
        "installment": Number(bounds=(0, 1_700)),
        "annual_inc": Number(bounds=(0, 1_000_000), log1p=True),
        "dti": Number(bounds=(0, 40)),
        "delinq_2yrs": Number(bounds=(0, 10)),
        "inq_last_6mths": Number(bounds=(0, 10)),
        "open_acc": Number(bounds=(0, 50)),
        "pub_rec": Number(bounds=(0, 5)),
        "revol_bal": Number(bounds=(0, 500_000), log1p=True),
        "revol_util": Number(bounds=(0, 120)),
        "total_acc": Number(bounds=(0, 100)),
        "term": Number(bounds=(36, 60)),
    }
    target = Target(column="int_rate", bounds=(5.0, 30.0))
    file = SHARED / "lending.parquet"
    if file.exists():
        frame = pl.read_parquet(file).filter(pl.col("source") == "kuhnrl30_2007_2011")
        frame = frame.filter(pl.col("int_rate").is_not_null())
        source = "real LendingClub rows, 2007-2011"
    else:
        frame, source = _generated(features, "int_rate", (5.0, 30.0)), "generated rows"
    dictionary = DictionaryTerms(
        standardise="public", components=10, whiten=True, radius_quantile=0.98, norm="l1"
    )
    return _task(frame, features, target, dictionary, public_rows, source)


def cards(public_rows: int = 5_000) -> Task:
    """ULB card transactions: fraud or not, from the published components and the amount."""
    columns = [f"V{i}" for i in range(1, 29)]
    features: dict[str, Feature] = {name: Number(bounds=(-30, 30)) for name in columns}
    features["Amount"] = Number(bounds=(0, 30_000), log1p=True)
    target = Target(column="Class", labels=("0", "1"))
    file = SHARED / "creditcard.parquet"
    if file.exists():
        frame = pl.read_parquet(file)
        source = "real ULB card rows, 1.37% frauds"
    else:
        frame, source = _generated(features, "Class", None), "generated rows"
    dictionary = DictionaryTerms(standardise="public", radius_quantile=0.5, norm="l1")
    return _task(frame, features, target, dictionary, public_rows, source)


def _task(
    frame: pl.DataFrame,
    features: dict[str, Feature],
    target: Target,
    terms: DictionaryTerms,
    public_rows: int,
    source: str,
) -> Task:
    frame = frame.sample(fraction=1.0, shuffle=True, seed=7)
    public, private = frame[:public_rows], frame[public_rows:]
    fitted = fit_dictionary(terms, features, encode(features, public, Counts()))
    encoder = Encoder(features, target, fitted)
    index = fitted.intercept_index
    assert index is not None
    return Task(
        np.ascontiguousarray(encoder.x(private)),
        target.encode(private[target.column], Counts()),
        np.ascontiguousarray(encoder.x(public)),
        target.encode(public[target.column], Counts()),
        encoder.domain,
        index,
        source,
    )


def _generated(
    features: dict[str, Feature], target: str, bounds: tuple[float, float] | None
) -> pl.DataFrame:
    random = np.random.default_rng(1)
    rows = 40_000
    latent = random.standard_normal((rows, len(features)))
    columns: dict[str, FloatArray] = {}
    for j, (name, feature) in enumerate(features.items()):
        assert isinstance(feature, Number)
        low, high = feature.bounds
        columns[name] = np.clip(0.5 * (low + high) + 0.1 * (high - low) * latent[:, j], low, high)
    score = latent[:, :5].sum(axis=1) + random.standard_normal(rows)
    if bounds is None:
        columns[target] = (score > np.quantile(score, 0.986)).astype(float)
    else:
        columns[target] = np.clip(np.mean(bounds) + 2 * score, *bounds)
    return pl.DataFrame(columns)
