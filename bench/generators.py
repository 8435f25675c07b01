"""Generated rows beside real ones: what a linear model explains, class balance, sizes of hospitals.

Real rows where ../shared/data is present. Ratios are generated over real; null without real rows.
"""

import numpy as np

from bench.records import SHARED
from bench.report import finish
from treaty.papers.lab import Lab
from treaty.papers.rows import Rows
from treaty.records import Counts
from treaty.records.encoder import encode
from treaty.studies import hospital


def explained(x: np.ndarray, y: np.ndarray) -> float:
    """Return R² of the best linear model."""
    x = np.column_stack([x, np.ones(len(x))])
    left = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
    return 1 - float(left.var() / y.var())


def described(lab: Lab) -> dict[str, float]:
    """Return R² of all columns and of the dictionary's features; the mean of the target."""
    study = lab.study
    target = study.target.encode(study.private[study.target.column], Counts())
    columns = encode(study.features, study.private, Counts())
    return {
        "all columns": explained(columns, target),
        "features": explained(lab.rows[0], lab.rows[1]),
        "mean target": float(target.mean()),
        "frauds": float((target > 0).mean()) if study.name == "fraud" else float("nan"),
    }


def main() -> None:
    files = [SHARED / name for name in ("lending.parquet", "creditcard.parquet")]
    discharges = SHARED / "hospital.parquet"
    real = Rows(*files, (discharges,)) if all(f.exists() for f in [*files, discharges]) else None
    ratios: dict[str, float | None] = {}
    for name in ("lending", "fraud", "hospital"):
        made = described(Rows().lab(name))
        print(f"{name}, generated: " + ", ".join(f"{k} {v:.4g}" for k, v in made.items()))
        ratios[f"{name}_r2"] = None
        if real is not None:
            seen = described(real.lab(name))
            print(f"{name}, real: " + ", ".join(f"{k} {v:.4g}" for k, v in seen.items()))
            ratios[f"{name}_r2"] = round(made["features"] / seen["features"], 3)
    sizes = hospital.generate()[hospital.OWNER].value_counts()["count"]
    large = int((sizes >= hospital.FEWEST).sum())
    print(f"hospitals, generated: {len(sizes)}, of which {large} with at least 10,000 discharges")
    finish(**ratios, hospitals=len(sizes), large_hospitals=large)


if __name__ == "__main__":
    main()
