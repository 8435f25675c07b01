"""A guard: it sees to it that no model is left for one that answers say is worse."""

import numpy as np

from treaty.arrays import FloatArray

CLEARLY = 4.0
"""A loss that has risen by so many standard errors has risen."""
HALF = 0.5
TINY = 1e-300


class Guard:
    """Lets steps pass as long as the models that are asked about get no worse.

    Public rows of other times or places may be wrong about everything that a step goes by, and with
    little noise a step is then as long as it is wrong. From one model to another, the way s apart, a
    square rises by s·(o + o′)/2, o and o′ being how far the answers there are off: that much is known
    whatever its curvature is, and how well, by the noise. If the loss has clearly risen, the next model
    lies back on the way to the best one so far, and after the last answer it is that one. From then on
    no step is longer than the last one that did not make it worse; the last of all, of which nothing
    will tell any more, is half as long.

    Args:
        noise: the variance of the noise in each number of an answer.
        metric: H₁, in which the length of a step is taken.
    """

    def __init__(self, noise: float, metric: FloatArray) -> None:
        self._noise, self._metric = noise, metric
        self._best: tuple[FloatArray, FloatArray] | None = None
        self._longest: float | None = None

    @property
    def has_turned(self) -> bool:
        """Whether a step has been taken back."""
        return self._longest is not None

    def next(
        self, asked: FloatArray, off: FloatArray, step: FloatArray, *, last: bool
    ) -> FloatArray:
        """Return the next model.

        Args:
            asked: the model that was asked about.
            off: by how much the answer is not what it would be at the best model.
            step: what is to be taken off the model by that.
            last: whether this was the last answer.
        """
        best, there = self._best or (asked, off)
        way = asked - best
        risen = 0.5 * float(way @ (off + there))
        if risen <= CLEARLY * np.sqrt(0.5 * self._noise) * float(np.linalg.norm(way)):
            self._best = asked, off
            if self._longest is None:
                return asked - step
            most = HALF * self._longest if last else self._longest
            return asked - min(1.0, most / max(self._length(step), TINY)) * step
        # Where nothing would be off along the way, if that changed evenly: at most half of the way.
        falls, bends = -float(way @ there), float(way @ (off - there))
        share = min(max(falls / max(bends, TINY), 0.0), HALF)
        self._longest = share * self._length(way)
        return best if last else best + share * way

    def _length(self, way: FloatArray) -> float:
        return float(np.sqrt(max(float(way @ self._metric @ way), 0.0)))
