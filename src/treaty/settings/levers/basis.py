"""The basis in which noise is added: columns by how frequent they are, or whitened."""

from collections.abc import Iterator
from typing import ClassVar

from treaty.records import Counts, DictionaryTerms
from treaty.records.encoder import encode
from treaty.records.fitting import varying
from treaty.settings.expecting import Judge
from treaty.settings.levers.lever import Lever, Option
from treaty.terms import Treaty


class Basis(Lever):
    """Columns scaled by frequency and not centred; or whitened, which turns them."""

    name: ClassVar[str] = "basis"
    line: ClassVar[str] = "dictionary"

    def options(self, treaty: Treaty, judge: Judge) -> Iterator[Option]:
        """Return columns by frequency, then whitened ones, all of them and half."""
        yield Option(
            _with(treaty, DictionaryTerms(standardise="frequency", norm="l1")), "by frequency"
        )
        width = varying(encode(judge.fitted(treaty).features, judge.rows, Counts()))
        for components in sorted({width, max(1, width // 2)}, reverse=True):
            terms = DictionaryTerms(
                standardise="public",
                components=components,
                whiten=True,
                radius_quantile=0.95,
                norm="l1" if treaty.training.mechanism == "laplace" else "l2",
            )
            yield Option(_with(treaty, terms), f"whitened, {components} components")


def _with(treaty: Treaty, terms: DictionaryTerms) -> Treaty:
    return treaty.model_copy(update={"dictionary": terms})
