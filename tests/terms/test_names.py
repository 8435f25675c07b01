"""Names that nobody could tell apart are refused when a treaty is read."""

import pytest

from treaty.errors import TreatyError
from treaty.terms import loads
from treaty.terms.names import appearance

TREATY = """
version = 1
[features.a]
kind = "number"
bounds = [0, 1]
[target]
column = "y"
bounds = [0, 1]
[loss]
name = "squared"
theta_max = 1.0
[training]
method = "shrinking-steps"
horizon = 2
"""


def _with(*names: str) -> str:
    return TREATY + "".join(
        f'[[parties]]\nname = "{name}"\nrecords = 100\nepsilon = 1.0\n' for name in names
    )


@pytest.mark.parametrize(
    "other",
    [
        "north bank",
        "North  Bank",
        "North\\u00a0Bank",
        "N\\u043erth Bank",  # a Cyrillic o
        "N\\u00f6rth Bank",
        "North B\\u0430nk",
    ],
)
def test_parties_that_look_alike_are_told(other):
    with pytest.raises(TreatyError, match=r"look alike|cannot be printed"):
        loads(_with("North Bank", other))


@pytest.mark.parametrize("name", ["North Bank ", " North Bank"])
def test_a_name_that_ends_in_a_blank_is_told(name):
    with pytest.raises(TreatyError, match="begins or ends with a blank"):
        loads(_with(name))


def test_names_that_differ_are_kept():
    names = ["9E", "9-E", "bank 1", "bank 2", "bank 11", "bank 1.1", "Å-Bank", "B-Bank"]
    assert len(loads(_with(*names)).parties) == len(names)
    assert len({appearance(name) for name in names}) == len(names)
