"""Whom to invite: the best coalition, and what each owner adds to it."""

import numpy as np

from treaty.advice.worth import Worth
from treaty.arrays import FloatArray, IntArray

EXHAUSTIVE = 20
"""Up to so many owners every coalition is tried."""
MARGIN = 0.3
"""How much worse than the best a recommended coalition may be."""
ORDERS = 4_000
"""How many orders of arrival a Shapley value is averaged over when there are too many to list."""


def best_coalition(worth: Worth) -> FloatArray:
    """Return the coalition with the lowest ψ, as zeros and ones; never empty.

    With weights by records ψ = A·C/n² + B/n with C = Σ noise_i and n = Σ n_i. Sorted by noise per
    record, the sums of the first k owners are the vertices of the lower boundary of all (n, C), which
    starts at the origin and is convex: along each of its edges C = α + βn with α ≤ 0, where ψ is concave
    in 1/n, and above the boundary ψ is larger. So the best coalition is one of the first k, exactly.
    With precision weights noise only falls when somebody joins, and so does the sampling cost.
    """
    count = len(worth.names)
    if worth.precision_weights:
        return np.ones(count)
    if count <= EXHAUSTIVE:
        return _among_all(worth)
    return first_in_order(worth)


def recommended_coalition(worth: Worth, margin: float = MARGIN) -> FloatArray:
    """Return the largest coalition that is nearly as good as the best: nobody is left out for little.

    A forecast cannot tell differences of a few percent, and owners are never quite alike: leaving one
    out costs what only it knows. So the order of the best coalition is followed as long as ψ stays
    within the margin of the lowest.
    """
    if worth.precision_weights:
        return np.ones(len(worth.names))
    order, psi = _in_order(worth)
    good = np.flatnonzero(psi <= (1 + margin) * psi.min())
    return _first(order, int(good[-1]) + 1)


def first_in_order(worth: Worth) -> FloatArray:
    """Return the best of the coalitions of the k owners with the least noise per record."""
    order, psi = _in_order(worth)
    return _first(order, int(psi.argmin()) + 1)


def _in_order(worth: Worth) -> tuple[IntArray, FloatArray]:
    """Return owners by noise per record, and ψ of the first one, two, three, … of them."""
    order = np.argsort(worth.noise / worth.records, kind="stable")
    size, noise = worth.records[order].cumsum(), worth.noise[order].cumsum()
    fewer = worth.sampling * (1 / size - 1 / worth.total)
    return order, worth.optimisation + noise / size**2 + fewer


def _first(order: IntArray, count: int) -> FloatArray:
    members = np.zeros(len(order))
    members[order[:count]] = 1.0
    return members


def _among_all(worth: Worth) -> FloatArray:
    """Try all 2^N − 1 coalitions; sums over subsets double with every owner."""
    size, noise = np.zeros(1), np.zeros(1)
    for records, own in zip(worth.records, worth.noise, strict=True):
        size = np.concatenate([size, size + records])
        noise = np.concatenate([noise, noise + own])
    psi = noise[1:] / size[1:] ** 2 + worth.sampling / size[1:]
    best = int(psi.argmin()) + 1
    return np.array([float(best >> i & 1) for i in range(len(worth.names))])


def leave_one_out(worth: Worth, members: FloatArray) -> FloatArray:
    """Return by how much ψ would rise if each member left, or fall if each other owner joined.

    Positive is good to have: for members what they are worth, for others what they would bring.
    """
    psi = float(worth.psi(members[None])[0])
    flipped = np.where(np.eye(len(members)) > 0, 1 - members, members)
    change = worth.psi(flipped) - psi
    return np.where(members > 0, change, -change)


def shapley(worth: Worth, seed: int = 0) -> FloatArray:
    """Return each owner's Shapley value: by how much it lowers ψ on average over orders of arrival.

    Before anybody has arrived ψ is what there is without a coalition, and a coalition that does worse
    is not made use of. Exact up to 12 owners, averaged over random orders beyond.
    """
    count = len(worth.names)
    return _shapley_exact(worth) if count <= 12 else _shapley_sampled(worth, seed)


def _shapley_exact(worth: Worth) -> FloatArray:
    count = len(worth.names)
    masks = np.arange(1 << count)
    members = ((masks[:, None] >> np.arange(count)) & 1).astype(float)
    psi = np.minimum(worth.psi(members), worth.nothing)
    sizes = members.sum(axis=1).astype(int)
    factorial = np.cumprod([1.0, *range(1, count + 1)])
    values = np.zeros(count)
    for i in range(count):
        without = masks[(masks >> i) & 1 == 0]
        s = sizes[without]
        weight = factorial[s] * factorial[count - s - 1] / factorial[count]
        values[i] = float(weight @ (psi[without] - psi[without | (1 << i)]))
    return values


def _shapley_sampled(worth: Worth, seed: int) -> FloatArray:
    """Follow many random orders at once: running sums along each give ψ after every arrival."""
    random = np.random.default_rng(seed)
    count = len(worth.names)
    orders = max(16, min(ORDERS, 1_000_000 // count))
    order = random.permuted(np.tile(np.arange(count), (orders, 1)), axis=1)
    size = worth.records[order].cumsum(axis=1)
    if worth.precision_weights:
        spent = 1.0 / (worth.records**2 / worth.noise)[order].cumsum(axis=1)
    else:
        spent = worth.noise[order].cumsum(axis=1) / size**2
    psi = worth.optimisation + spent + worth.sampling * (1 / size - 1 / worth.total)
    psi = np.minimum(psi, worth.nothing)
    gains = -np.diff(psi, axis=1, prepend=worth.nothing)
    values = np.zeros(count)
    np.add.at(values, order.ravel(), gains.ravel())
    return values / orders
