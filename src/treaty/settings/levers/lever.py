"""What a lever is: a few ways to write some lines of a treaty, the simplest first."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from treaty.records import Feature
from treaty.settings.expecting import Judge
from treaty.terms import Treaty


@dataclass(frozen=True, eq=False)
class Option:
    """One way to write these lines.

    Args:
        treaty: the treaty with these lines.
        words: what it is, in a few words.
    """

    treaty: Treaty
    words: str


def with_features(treaty: Treaty, features: Mapping[str, Feature]) -> Treaty:
    """Return a treaty in which some columns are written otherwise."""
    changed = {name: features.get(name, feature) for name, feature in treaty.features.items()}
    return treaty.model_copy(update={"features": changed})


class Lever(ABC):
    """Something that can be changed in a treaty."""

    name: ClassVar[str]
    line: ClassVar[str]
    """Where in a treaty it is written, such as "dictionary.standardise"."""
    first_if: Literal["chance", "trifle", "never"] = "chance"
    """When the first of several ways is taken although another is expected to be better: if chance does
    not tell it from the best, as its ways get longer or costlier; if only a trifle is lost; or never."""

    @abstractmethod
    def options(self, treaty: Treaty, judge: Judge) -> Iterator[Option]:
        """Return the ways to write it, the simplest first; none if there is nothing to choose."""
