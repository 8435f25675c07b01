"""Mechanisms by the name that a treaty calls them."""

from treaty.errors import TreatyError, nearest
from treaty.privacy.gaussian import Gaussian
from treaty.privacy.laplace import Laplace
from treaty.privacy.mechanism import Mechanism

MECHANISMS: dict[str, Mechanism] = {
    mechanism.name: mechanism
    for mechanism in (
        Laplace(),
        Gaussian(),
    )
}


def mechanism_named(name: str) -> Mechanism:
    """Return the mechanism called `name`."""
    if name not in MECHANISMS:
        meant = nearest(name, MECHANISMS)
        raise TreatyError(
            f'no mechanism is called "{name}"{meant}; there are {", ".join(MECHANISMS)}'
        )
    return MECHANISMS[name]
