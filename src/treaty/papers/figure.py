"""A figure: its panels, what the paper says about it, and the claims that were checked on it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from treaty.papers.claim import Claim
from treaty.papers.trial import Outcome


@dataclass(frozen=True)
class Rounds:
    """ψ by round: quartiles and median of many runs; the forecast at the end.

    Args:
        title: above the panel.
        curves: an outcome each, by what it is of.
    """

    title: str
    curves: dict[str, Outcome]


@dataclass(frozen=True)
class Lines:
    """ψ against one number, with lines of slope −2 fitted and the forecast beside.

    Args:
        title: above the panel.
        along: what the number is.
        x: its values.
        curves: an outcome for every x, by what they are of.
    """

    title: str
    along: str
    x: tuple[float, ...]
    curves: dict[str, tuple[Outcome, ...]]


@dataclass(frozen=True)
class Grid:
    """ψ against two numbers, as a coloured table: measured, and forecast below.

    Args:
        title: above the panel.
        along: what the columns are.
        x: their values.
        up: what the rows are.
        y: their values.
        cells: an outcome for every row and column.
        alone: ψ of the first owner's own model, one for each row, where that is compared: cells below
            it are framed.
    """

    title: str
    along: str
    x: tuple[float, ...]
    up: str
    y: tuple[float, ...]
    cells: tuple[tuple[Outcome, ...], ...]
    alone: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Timing:
    """Who talks to the learner when.

    Args:
        title: above the panel.
        talks: the owner of every round, from 0.
        owners: how many there are.
        most: how many answers each gives at most.
    """

    title: str
    talks: tuple[int, ...]
    owners: int
    most: int


@dataclass(frozen=True)
class Owners:
    """ψ of every owner's own model against its records, and lines of what they have together.

    Args:
        title: above the panel.
        records: of every owner.
        alone: ψ of every owner's own model.
        together: an outcome each, by what it is of.
    """

    title: str
    records: tuple[int, ...]
    alone: tuple[float, ...]
    together: dict[str, Outcome]


Panel = Rounds | Lines | Grid | Timing | Owners


@dataclass(frozen=True)
class Figure:
    """A figure of a paper, once more.

    Args:
        key: such as W4: the paper and its number.
        title: what it shows.
        statement: what the paper says about it.
        rows: which kind of rows it shows.
        published: the panels as published.
        corrected: the same with corrected noise.
        settings: the numbers it was made with.
        claims: what was checked on it.
    """

    key: str
    title: str
    statement: str
    rows: str
    published: Sequence[Panel]
    corrected: Sequence[Panel]
    settings: Sequence[str]
    claims: Sequence[Claim] = field(default_factory=tuple)
