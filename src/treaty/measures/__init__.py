"""Measures: how far predictions are off, in the user's own unit, with intervals."""

from treaty.measures.comparison import Comparison as Comparison
from treaty.measures.errors import Errors as Errors
from treaty.measures.estimate import Estimate as Estimate
from treaty.measures.measure import MEASURES as MEASURES
from treaty.measures.measure import Measure as Measure
from treaty.measures.measure import main_measure as main_measure
from treaty.measures.measure import measures_for as measures_for
