"""Levers: what can be changed in a treaty to make its model better, one file each."""

from treaty.settings.levers.axes import Axes as Axes
from treaty.settings.levers.basis import Basis as Basis
from treaty.settings.levers.basis import by_frequency as by_frequency
from treaty.settings.levers.bounds import Bounds as Bounds
from treaty.settings.levers.categories import Categories as Categories
from treaty.settings.levers.clip import with_best_clip as with_best_clip
from treaty.settings.levers.dates import Dates as Dates
from treaty.settings.levers.knots import Knots as Knots
from treaty.settings.levers.lever import Lever as Lever
from treaty.settings.levers.lever import Option as Option
from treaty.settings.levers.mechanism import NoiseKind as NoiseKind
from treaty.settings.levers.method import Method as Method
from treaty.settings.levers.method import Rounds as Rounds
from treaty.settings.levers.method import under as under
from treaty.settings.levers.start import Start as Start
from treaty.settings.levers.weights import Weighing as Weighing
