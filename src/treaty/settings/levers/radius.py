"""The radius: records that lie far out, moved in."""

from collections.abc import Iterator
from typing import ClassVar

from treaty.settings.expecting import Judge
from treaty.settings.levers.lever import Lever, Option
from treaty.terms import Treaty

SHARES = (0.99, 0.97, 0.95, 0.9)


class Radius(Lever):
    """Records as long as they come, or none longer than most of the public ones.

    A few incomes far above all others decide about a straight line more than they tell; where what is
    predicted goes on rising with them, moving them in costs more than it brings.
    """

    name: ClassVar[str] = "radius"
    line: ClassVar[str] = "dictionary.radius_quantile"

    def options(self, treaty: Treaty, judge: Judge) -> Iterator[Option]:
        """Return records as they are, then fewer and fewer of them left as they are."""
        yield Option(_within(treaty, None), "records as long as they come")
        for share in SHARES:
            yield Option(_within(treaty, share), f"none longer than {100 * share:g}% of them")


def _within(treaty: Treaty, share: float | None) -> Treaty:
    changed = {"radius": None, "radius_quantile": share}
    return treaty.model_copy(update={"dictionary": treaty.dictionary.model_copy(update=changed)})
