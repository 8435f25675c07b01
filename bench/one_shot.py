"""One noised answer of moments beside methods that ask for gradients, at the same budget.

Squared loss on flights by airline, lending and hospital by hospital; ε of every owner 1 and 10, with
δ = 0 (Laplace noise) and with δ = 1e-6 (the better of Gaussian and Laplace). Gradient methods derive
their steps from 5,000 public rows. Of each the best is shown over the horizons T tried and with or
without clipping at the 99% quantile of the public rows' gradients: chosen by what is measured, in their
favour, which nobody could do in earnest. ψ is over everybody's records, the mean of 50 runs. `ratios`:
ψ of `one-shot` over that of the best gradient method.
"""

import math

import numpy as np

from bench.forecast_error import SUBJECTS, owners_of
from bench.report import finish
from treaty import Budget, Party, Plan, Problem, risk_of, simulate, survey, yardstick
from treaty.fitness import Risk, RowRisk, best_constant
from treaty.losses import Clipped, Squared
from treaty.privacy import Gaussian, Laplace
from treaty.trials import gradient_sizes

PUBLIC, RUNS = 5_000, 50
HORIZONS = (2, 5, 20, 100)
CLIPPED_HORIZONS = (2, 5, 20)
METHODS = ("shrinking-steps", "averaged-subgradient", "one-at-a-time")


def compare(name: str) -> dict[str, float]:
    """Return the ratios of one task, by budget."""
    subject = SUBJECTS[name]
    task = subject.make(PUBLIC, 3)
    problem = Problem(Squared(), task.domain, subject.ridge, subject.theta_max, task.intercept)
    whole = owners_of(task, subject, subject.sizes[-1])
    public = survey(problem, RowRisk(Squared(), *task.public_rows))
    stick = yardstick(problem, whole)
    clip = float(np.quantile(gradient_sizes(Squared(), *task.public_rows, public.theta), 0.99))
    clipped = Problem(
        Clipped(Squared(), clip), task.domain, subject.ridge, subject.theta_max, task.intercept
    )
    rows = _rows(task, subject, whole)
    print(
        f"{name}: {task.source}, {len(whole)} owners of {subject.sizes[-1]:,}, p = "
        f"{problem.dimension}; public only {float(stick.relative(public.theta)):.3g}, nothing "
        f"{float(stick.relative(best_constant(problem, stick.union))):.3g}"
    )
    ratios: dict[str, float] = {}
    for delta in (0.0, 1e-6):
        mechanisms = (Laplace(), Gaussian()) if delta else (Laplace(),)
        for epsilon in (1.0, 10.0):
            parties = tuple(Party(n, r.n, Budget(epsilon, delta)) for n, r in whole.items())

            def psi(chosen: Problem, method: str, T: int) -> float:
                found: list[float] = []
                for mechanism in mechanisms:  # noqa: B023
                    plan = Plan(chosen, parties, method, T, mechanism=mechanism)  # noqa: B023
                    records = whole if chosen is problem else _under(rows, plan.problem)
                    informed = plan.informed_by(survey(plan.problem, public.risk, public.theta))
                    result = simulate(informed, records, runs=RUNS, seed=5, measured_with=stick)
                    found.append(result.mean)
                return min(found)

            once = psi(problem, "one-shot", 1)
            told: list[str] = []
            best = math.inf
            for method in METHODS:
                tried = {(T, ""): psi(problem, method, T) for T in HORIZONS}
                tried |= {(T, ", clipped"): psi(clipped, method, T) for T in CLIPPED_HORIZONS}
                (T, how), value = min(tried.items(), key=lambda item: item[1])
                best = min(best, value)
                told.append(f"{method} {value:.3g} (T = {T}{how})")
            print(f"  ε = {epsilon:g}, δ = {delta:g}: one-shot {once:.3g}; {'; '.join(told)}")
            ratios[f"{name}_{epsilon:g}_{delta:g}"] = round(once / best, 4)
    return ratios


def _rows(task, subject, whole: dict[str, Risk]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return every owner's rows: a clipped loss has no moments."""
    size = subject.sizes[-1]
    if task.by is None:
        x, y = task.private_rows
        return {
            name: (x[i * size : (i + 1) * size], y[i * size : (i + 1) * size])
            for i, name in enumerate(whole)
        }
    return {
        name: task.rows(task.private.filter(task.private[task.by] == name)[:size]) for name in whole
    }


def _under(rows: dict[str, tuple[np.ndarray, np.ndarray]], problem: Problem) -> dict[str, Risk]:
    fast = {name: risk_of(problem.loss, x, y) for name, (x, y) in rows.items()}
    return {
        name: risk.in_single_precision() if isinstance(risk, RowRisk) else risk
        for name, risk in fast.items()
    }


def main() -> None:
    ratios: dict[str, float] = {}
    for name in ("flights", "lending", "hospital"):
        ratios |= compare(name)
    finish(ratios=ratios, median=round(float(np.median(list(ratios.values()))), 4))


if __name__ == "__main__":
    main()
