"""How a public file is opened: CSV as published or Parquet, only the columns that are needed."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import polars as pl

from treaty.errors import TreatyError

PACKED = (".gz", ".zip", ".bz2", ".xz", ".7z")


def read_columns(
    path: str | Path,
    choose: Callable[[Sequence[str]], Mapping[str, str]],
    *,
    skip_rows: Callable[[Path], int] | None = None,
) -> pl.DataFrame:
    """Read some columns as text, under the names they are to have.

    Where a file was merged from several samples, it says so in a column `source`: only its largest
    complete sample is read, because samples differ in whom they hold and in what they leave out.

    Args:
        path: the file.
        choose: given the file's columns, says which one each wanted column is, or why there is none.
        skip_rows: given the file, says how many lines come before the names of its columns.
    """
    path = Path(path)
    if not path.is_file():
        raise TreatyError(f"{path}: there is no such file")
    if path.suffix.lower() in PACKED:
        raise TreatyError(f"{path}: is packed; unpack it first")
    try:
        if path.suffix.lower() == ".parquet":
            chosen = _chosen(path, choose, list(pl.read_parquet_schema(path)))
            raw = pl.read_parquet(path, columns=list(chosen.values()))
        else:
            skip = 0 if skip_rows is None else skip_rows(path)
            table = partial(
                pl.read_csv,
                path,
                skip_rows=skip,
                infer_schema=False,
                truncate_ragged_lines=True,
                encoding="utf8-lossy",
            )
            chosen = _chosen(path, choose, table(n_rows=0).columns)
            raw = table(columns=list(chosen.values()))
    except pl.exceptions.PolarsError as error:
        said = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise TreatyError(f"{path}: cannot be read ({said})") from error
    text = raw.select(
        pl.col(name).cast(pl.String).str.strip_chars(" \t\"'").alias(column)
        for column, name in chosen.items()
    )
    return _one_sample(text) if "source" in chosen else text


def numbers(*columns: str) -> pl.Expr:
    """Return columns of text such as "13.5%", " 36 months", "$12,500" or "120 +" as numbers."""
    plain = pl.col(*columns).str.replace_all(r"[,$]", "")
    return plain.str.extract(r"(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)").cast(pl.Float64, strict=False)


def _chosen(
    path: Path, choose: Callable[[Sequence[str]], Mapping[str, str]], names: Sequence[str]
) -> dict[str, str]:
    try:
        chosen = dict(choose(names))
    except TreatyError as error:
        raise TreatyError(f"{path}: {error}") from error
    return {**chosen, "source": "source"} if "source" in names else chosen


def _one_sample(merged: pl.DataFrame) -> pl.DataFrame:
    complete = merged.drop_nulls()
    if not complete.is_empty():
        largest = complete.group_by("source").len().sort("len", "source").row(-1)[0]
        merged = merged.filter(pl.col("source") == largest)
    return merged.drop("source")
