"""The basis in which noise is added: columns by how frequent they are, or whitened."""

from collections.abc import Iterator
from typing import ClassVar

from treaty.records import Counts, DictionaryTerms
from treaty.records.encoder import encode
from treaty.records.fitting import varying
from treaty.settings.expecting import Judge
from treaty.settings.levers.lever import Lever, Option
from treaty.terms import Treaty

BY_FREQUENCY = DictionaryTerms(standardise="frequency", norm="l1")


class Basis(Lever):
    """Columns scaled by frequency and not centred; numbers whitened beside them; or all whitened."""

    name: ClassVar[str] = "basis"
    line: ClassVar[str] = "dictionary"
    first_if = "never"

    def options(self, treaty: Treaty, judge: Judge) -> Iterator[Option]:
        """Return columns by frequency, then with numbers whitened, then all of them whitened."""
        share = treaty.dictionary.radius_quantile
        terms = BY_FREQUENCY.model_copy(update={"radius_quantile": share})
        yield Option(_with(treaty, terms), "by frequency")
        features = judge.fitted(treaty).features
        if sum(number for feature in features.values() for number in feature.numeric) > 1:
            beside = terms.model_copy(update={"whiten": True})
            yield Option(_with(treaty, beside), "by frequency, numbers whitened among themselves")
        if all(all(feature.numeric) for feature in features.values()):
            return
        whole = DictionaryTerms(
            standardise="public",
            components=varying(encode(features, judge.rows, Counts())),
            whiten=True,
            norm="l1" if treaty.training.mechanism == "laplace" else "l2",
            radius_quantile=share,
        )
        yield Option(_with(treaty, whole), f"whitened, {whole.components} components")


def by_frequency(treaty: Treaty) -> Treaty:
    """Return a treaty with columns by frequency and nothing else."""
    return _with(treaty, BY_FREQUENCY)


def _with(treaty: Treaty, terms: DictionaryTerms) -> Treaty:
    return treaty.model_copy(update={"dictionary": terms})
