"""Small problems that many tests share."""

import numpy as np

from treaty.fitness import Problem, Risk, RowRisk, risk_of
from treaty.learners import survey
from treaty.losses import Clipped, Domain, Hinge, Huber, Logistic, Loss, Squared
from treaty.plans import Party, Plan
from treaty.privacy import Budget
from treaty.questions import MeanGradient

LOSSES: dict[str, Loss] = {
    "squared": Squared(),
    "hinge": Hinge(),
    "logistic": Logistic(),
    "huber": Huber(0.5),
}


def rows(n: int, p: int, seed: int, *, labels: bool = False):
    """x in the unit l2 ball with a constant last column, y in [−1, 1]."""
    random = np.random.default_rng(seed)
    x = random.standard_normal((n, p - 1))
    x /= np.maximum(1.0, np.linalg.norm(x, axis=1, keepdims=True))
    x = np.column_stack([x, np.ones(n)])
    score = x @ np.linspace(-1.0, 1.0, p) + 0.3 * random.standard_normal(n)
    y = np.where(score > 0, 1.0, -1.0) if labels else np.clip(score, -1.0, 1.0)
    return x, y


def domain(p: int) -> Domain:
    return Domain(p, 1.0 + (p - 1) ** 0.5, 2.0**0.5, (-1.0, 1.0))


def problem(loss: Loss, p: int = 4, ridge: float = 0.01, theta_max: float = 3.0) -> Problem:
    return Problem(loss, domain(p), ridge, theta_max, p - 1)


def risks(loss: Loss, owners: int = 3, n: int = 200, p: int = 4) -> dict[str, Risk]:
    return {
        f"owner {i}": risk_of(loss, *rows(n, p, seed=i, labels=loss.labels)) for i in range(owners)
    }


def plan(
    loss: Loss,
    method: str,
    *,
    owners: int = 3,
    n: int = 200,
    p: int = 4,
    horizon: int = 10,
    epsilon: float = 1.0,
    ridge: float = 0.01,
    **more: object,
) -> Plan:
    parties = tuple(Party(f"owner {i}", n, Budget(epsilon)) for i in range(owners))
    horizon = 1 if method == "one-shot" else horizon
    if method != "blended-step" or "begin" in more:
        return Plan(problem(loss, p, ridge), parties, method, horizon, **more)
    made = Plan(problem(loss, p, ridge), parties, method, horizon, begin="public", **more)
    public = RowRisk(made.problem.fitness_loss, *rows(60, p, seed=99, labels=loss.labels))
    return made.informed_by(survey(made.problem, public))


def sensitivity(bound: float, records: int, dimension: int) -> float:
    """How far one of n records moves a mean gradient whose parts are at most `bound` large."""
    loss = Clipped(Squared(), bound, "l1")
    chosen = Problem(loss, Domain(dimension, 1e6, 1e6, (-1.0, 1.0)), 0.0, 1e6)
    return MeanGradient.sensitivity(chosen, records, "l1")


def one_owner(chosen: Problem, records: int, epsilon: float = 1.0) -> Plan:
    """A plan in which one owner is asked once."""
    return Plan(chosen, (Party("owner", records, Budget(epsilon)),), "averaged-subgradient", 1)
