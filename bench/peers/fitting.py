"""Fits diffprivlib's models; runs in an environment of its own, with an older scikit-learn.

    python fitting.py ROWS.npz linear|logistic EPSILON TIMES

Prints the models as JSON, one a line: their coefficients, and the intercept last.
"""

import json
import sys
import warnings

import numpy as np
from diffprivlib.models import LinearRegression, LogisticRegression


def main() -> None:
    file, kind, epsilon, times = sys.argv[1:]
    rows = np.load(file)
    warnings.simplefilter("ignore")
    for seed in range(int(times)):
        if kind == "linear":
            model = LinearRegression(
                epsilon=float(epsilon),
                bounds_X=(rows["low"], rows["high"]),
                bounds_y=(float(rows["y_low"]), float(rows["y_high"])),
                random_state=seed,
            )
        else:
            model = LogisticRegression(
                epsilon=float(epsilon), data_norm=float(rows["norm"]), random_state=seed
            )
        model.fit(rows["x"], rows["y"])
        coefficients = np.ravel(model.coef_).tolist()
        print(json.dumps([*coefficients, float(np.ravel(model.intercept_)[0])]), flush=True)


if __name__ == "__main__":
    main()
