"""Forecast: what a collaboration is worth, before anyone trains."""

from treaty.forecast.bounds import Bound as Bound
from treaty.forecast.bounds import bound_for as bound_for
from treaty.forecast.estimate import Estimate as Estimate
from treaty.forecast.forecast import Forecast as Forecast
from treaty.forecast.forecast import forecast as forecast
from treaty.forecast.forecast import forecast_of as forecast_of
from treaty.forecast.outlook import Outlook as Outlook
from treaty.forecast.outlook import outlook as outlook
from treaty.forecast.outlook import with_steps as with_steps
from treaty.forecast.rehearsal import Rehearsal as Rehearsal
