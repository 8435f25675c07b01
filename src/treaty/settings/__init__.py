"""Settings: the lines of a treaty that make its model good, found on public rows alone."""

from treaty.settings.planning import Candidate as Candidate
from treaty.settings.planning import Limits as Limits
from treaty.settings.planning import plan as plan
