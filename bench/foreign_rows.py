"""Is training no worse than the public model where the public rows are unlike everybody else's?

    python -m bench.foreign_rows [SEED]

Public rows of one kind (a month, a state, an age, an amount, one hospital, a trade), 500 at most, and
the rest of everybody as owners; numbers and labels; drafted and planned with nothing edited, ε = 1 and
10. The error of the trained model over that of the public model, on rows that nobody has seen, in the
target's unit or log loss: `mean` and `worst` over all plans; `fair` is the mean for public rows that are
drawn from everybody. A plan that says that training does not pay is the public model. `constant`: how
many trained models are worse than the best constant, `public_constant` how many public ones.
"""

import math
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from joblib import Parallel, delayed

from bench.drafts import tasks
from bench.few_rows import Draw, judged
from bench.records import SHARED
from bench.report import finish

PUBLIC = 500
EPSILONS = (1.0, 10.0)
OWNERS = 10
HELD_OUT, HELD = 8_000, 40_000


@dataclass(frozen=True, eq=False)
class Kind:
    """Everybody's rows, and which of them are public.

    Args:
        name: of the case.
        frame: the rows, with the column `owner`.
        target: the column to predict.
        public: which rows may be public; any if not given.
    """

    name: str
    frame: pl.DataFrame
    target: str
    public: pl.Expr | None = None

    def draw(self, seed: int) -> Draw:
        """Return public rows, owners and rows to judge by."""
        mixed = self.frame.with_row_index("place").sample(fraction=1.0, shuffle=True, seed=seed)
        candidates = mixed if self.public is None else mixed.filter(self.public)
        public = candidates[: min(PUBLIC, len(candidates) // 2)]
        rest = mixed.filter(~pl.col("place").is_in(public["place"].implode())).drop("place")
        judging = min(HELD_OUT, len(rest) // 2)
        later, held = rest[:judging], rest[judging : judging + HELD]
        owners = {str(k[0]): rows for k, rows in held.partition_by("owner", as_dict=True).items()}
        return Draw(self.name, self.target, public.drop("place", "owner"), owners, later)


def kinds() -> Iterator[Kind]:
    """Return all cases; the first of each kind of records is a fair one."""
    column = pl.col
    of = tasks()
    frames: dict[str, tuple[pl.DataFrame, str, dict[str, pl.Expr]]] = {
        "flights": (
            of["flights"].frame,
            "arr_delay",
            {
                "January": column("month") == "1",
                "to Atlanta": column("dest") == "ATL",
                "before eight": column("hour") < 8,
                "far away": column("distance") > 2_000,
            },
        ),
        "loans": (
            of["loans"].frame,
            "int_rate",
            {
                "California": column("owner") == "CA",
                "sixty months": column("term") == "60",
                "small businesses": column("purpose") == "small_business",
                "large amounts": column("loan_amnt") > 20_000,
                "no debts": column("revol_bal") < 1_000,
            },
        ),
        "stays": (
            of["stays"].frame,
            "length_of_stay",
            {
                "aged 70": column("age_group") == "70 or Older",
                "children": column("age_group") == "0 to 17",
                "one hospital": column("owner") == of["stays"].frame["owner"].mode()[0],
                "elective": column("type_of_admission") == "Elective",
            },
        ),
        "cards": (
            _dealt(of["cards"].frame.drop("owner")),
            "Class",
            {"large amounts": column("Amount") > 100, "small amounts": column("Amount") < 2},
        ),
    }
    income = _by(pl.read_parquet(SHARED / "adult_income.parquet").drop("fnlwgt"), "education")
    frames["income"] = (
        income,
        "income",
        {
            "aged 25": column("age") <= 25,
            "managers": column("occupation") == "Exec-managerial",
            "masters": column("education") == "Masters",
            "women": column("sex") == "Female",
        },
    )
    frames["age"] = (
        income.drop("income"),
        "age",
        {
            "retail": column("occupation") == "Sales",
            "never married": column("marital_status") == "Never-married",
        },
    )
    default = pl.read_parquet(SHARED / "credit_default_uci.parquet").drop("ID")
    default = default.with_columns(owner=(column("LIMIT_BAL") // 50_000).clip(0, 9).cast(pl.String))
    label = "default.payment.next.month"
    default = default.with_columns(column(label).cast(pl.String))
    frames["default"] = (
        default,
        label,
        {
            "small limits": column("LIMIT_BAL") <= 50_000,
            "graduates": column("EDUCATION") == 1,
            "aged 25": column("AGE") <= 25,
        },
    )
    exams = pl.read_parquet(SHARED / "school.parquet")
    exams = exams.with_columns(owner=column("school").cast(pl.String)).drop("school")
    largest = exams["owner"].value_counts(sort=True)["owner"][0]
    frames["exams"] = (exams, "score", {"one school": column("owner") == largest})
    for name, (frame, target, unlike) in frames.items():
        yield Kind(f"{name}, fair", _largest(frame), target)
        for words, which in unlike.items():
            yield Kind(f"{name}, {words}", _largest(frame), target, which)


def _largest(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of the largest owners; the owner's column says nothing beside the others."""
    names = frame["owner"].value_counts(sort=True)["owner"].head(OWNERS)
    return frame.filter(pl.col("owner").is_in(names.implode()))


def _by(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    return frame.with_columns(owner=pl.col(column))


def _dealt(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(owner=(pl.int_range(pl.len()) % 3).cast(pl.String))


def one(kind: Kind, epsilon: float, seed: int) -> tuple[str, float, float, float, bool]:
    """Return a case's name, the trained error over the public one, and both over a constant's."""
    draw = kind.draw(seed)
    trained, public, pays = judged(draw, epsilon)
    constant = _constant(draw)
    said = "" if pays else " (training does not pay)"
    print(
        f"{draw.name}, ε = {epsilon:g}: public {public:.4f}, trained {trained:.4f}, a constant "
        f"{constant:.4f}: {trained / public:.4f}{said}",
        flush=True,
    )
    return draw.name, trained / public, trained / constant, public / constant, pays


def _constant(draw: Draw) -> float:
    column = draw.later[draw.target]
    if column.dtype == pl.String:
        share = float((column == column.unique().sort()[0]).mean() or 0.0)
        return -share * math.log(share) - (1 - share) * math.log(1 - share)
    return float(np.std(column.to_numpy()))


def main() -> None:
    """Plan and train all cases."""
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    cases = [(kind, epsilon) for kind in kinds() for epsilon in EPSILONS]
    found = Parallel(n_jobs=2)(delayed(one)(kind, epsilon, seed) for kind, epsilon in cases)
    unlike = [each for each in found if not each[0].endswith("fair")]
    fair = [each for each in found if each[0].endswith("fair")]
    finish(
        kinds=len({each[0] for each in unlike}),
        plans=len(unlike),
        mean=round(statistics.fmean(each[1] for each in unlike), 4),
        worst=round(max(each[1] for each in unlike), 4),
        worst_of=max(unlike, key=lambda each: each[1])[0],
        fair=round(statistics.fmean(each[1] for each in fair), 4),
        fair_worst=round(max(each[1] for each in fair), 4),
        constant=sum(each[2] > 1 for each in unlike),
        public_constant=sum(each[3] > 1 for each in unlike),
        trained=sum(each[4] for each in unlike),
    )


if __name__ == "__main__":
    main()
