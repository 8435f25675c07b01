"""Owners that differ by chance: what their few records add to answers of rows that stand in for all."""

from collections.abc import Collection

import numpy as np

from treaty.arrays import FloatArray
from treaty.fitness import Risk
from treaty.plans import Plan


def differing_by_chance(
    plan: Plan, public: Risk, theta: FloatArray, runs: int, seed: int, exact: Collection[str] = ()
) -> FloatArray | None:
    """Draw by how much each owner's mean gradient differs from everybody's, shape (parties, runs, p).

    An owner of n_i records has a mean gradient that is off by chance, with covariance G/n_i. In the mean
    of all of them that cancels. But a learner that meets one owner at a time follows each of them for a
    while, at the end above all whoever still has answers left, and ends up nearer to that owner's own
    best model. Rows that stand in for everybody's records know nothing of that.

    Args:
        plan: the plan.
        public: these rows, under the loss that is trained.
        theta: where G, the covariance of one record's gradient, is taken.
        runs: how many times it is drawn.
        seed: of the draws.
        exact: parties whose very records are at hand: these differ as they do.

    Returns:
        Nothing for a learner that asks everybody together.
    """
    if plan.synchronous or len(plan.blocs_met) == 1:
        return None
    mean = public.gradient(theta)
    values, vectors = np.linalg.eigh(public.gradient_covariance(theta) - np.outer(mean, mean))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    records = np.array([party.records for party in plan.parties], dtype=np.float64)
    drawn = np.array([party.name not in exact for party in plan.parties])
    unit = np.random.default_rng([seed, 11]).standard_normal((len(records), runs, len(theta)))
    apart = (drawn / np.sqrt(records))[:, None, None] * (unit @ root.T)
    among = drawn * records
    if among.any():  # everybody's best model stays where it is
        apart[drawn] -= np.tensordot(among / among.sum(), apart, axes=1)
    return apart
