"""Levers: what can be changed in a treaty to make its model better, one file each."""

from treaty.settings.levers.basis import Basis as Basis
from treaty.settings.levers.categories import Categories as Categories
from treaty.settings.levers.clip import with_best_clip as with_best_clip
from treaty.settings.levers.knots import Knots as Knots
from treaty.settings.levers.lever import Lever as Lever
from treaty.settings.levers.lever import Option as Option
from treaty.settings.levers.mechanism import NoiseKind as NoiseKind
from treaty.settings.levers.question import one_question as one_question
from treaty.settings.levers.weights import Weighing as Weighing
