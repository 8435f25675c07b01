"""Whom to invite: the best coalition, and what each owner adds to it."""

import numpy as np

from treaty.advice.worth import Worth
from treaty.arrays import FloatArray, IntArray

EXHAUSTIVE = 20
"""Up to so many owners every coalition is tried."""
IN_ORDER = 3
"""How many of the coalitions in order of noise are rehearsed."""
PORTION = 1 << 16
"""How many coalitions are compared at once."""
ORDERS = 4_000
"""How many orders of arrival a Shapley value is averaged over when there are too many to list."""


def best_coalition(worth: Worth) -> FloatArray:
    """Return the coalition with the lowest ψ, as zeros and ones; never empty.

    Up to 20 owners all are tried. Beyond, they are taken in order of their noise per record, which is
    exact for owners that are alike and weighed by records. Then ψ = A·C/n² + B/n with C = Σ noise_i and
    n = Σ n_i. In that order the sums of the first k owners are the vertices of the lower boundary of
    all (n, C), which starts at the origin and is convex: along each of its edges C = α + βn with α ≤ 0,
    where ψ is concave in 1/n, and above the boundary ψ is larger. So the best is one of the first k.
    """
    return _among_all(worth) if len(worth.names) <= EXHAUSTIVE else first_in_order(worth)


def candidates(worth: Worth) -> list[FloatArray]:
    """Return a few coalitions worth a rehearsal: everybody, the best, and the best in order of noise.

    An owner that asks for itself is in all of them, and nobody is a coalition alone.
    """
    order, psi = _in_order(worth)
    found = [np.ones(len(worth.names)), best_coalition(worth)]
    found += [_first(order, int(k) + 1) for k in np.argsort(psi, kind="stable")[:IN_ORDER]]
    asks = np.array([float(name in worth.own) for name in worth.names])
    found = [np.maximum(members, asks) for members in found]
    return [
        members
        for members in {tuple(members): members for members in found}.values()
        if members.sum() > 1 or len(members) == 1
    ]


def first_in_order(worth: Worth) -> FloatArray:
    """Return the best of the coalitions of the k owners with the least noise per record."""
    order, psi = _in_order(worth)
    return _first(order, int(psi.argmin()) + 1)


def _in_order(worth: Worth) -> tuple[IntArray, FloatArray]:
    """Return owners by noise per record, and ψ of the first one, two, three, … of them."""
    order = np.argsort(worth.noise / worth.records, kind="stable")
    return order, worth.from_sums(worth.addends[order].cumsum(axis=0))


def _first(order: IntArray, count: int) -> FloatArray:
    members = np.zeros(len(order))
    members[order[:count]] = 1.0
    return members


def _among_all(worth: Worth) -> FloatArray:
    """Try all 2^N − 1 coalitions."""
    count = len(worth.names)
    best, lowest = np.ones(count), np.inf
    for start in range(1, 1 << count, PORTION):
        masks = np.arange(start, min(start + PORTION, 1 << count))
        members = ((masks[:, None] >> np.arange(count)) & 1).astype(float)
        psi = worth.psi(members)
        index = int(psi.argmin())
        if psi[index] < lowest:
            best, lowest = members[index], float(psi[index])
    return best


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
    count, columns = len(worth.names), worth.addends.shape[1]
    orders = max(16, min(ORDERS, 1_000_000 // count))
    values = np.zeros(count)
    at_once = max(1, 4_000_000 // (count * columns))
    for start in range(0, orders, at_once):
        some = min(at_once, orders - start)
        order = random.permuted(np.tile(np.arange(count), (some, 1)), axis=1)
        psi = np.minimum(worth.from_sums(worth.addends[order].cumsum(axis=1)), worth.nothing)
        gains = -np.diff(psi, axis=1, prepend=worth.nothing)
        np.add.at(values, order.ravel(), gains.ravel())
    return values / orders
