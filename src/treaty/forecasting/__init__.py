"""Forecasting: what a collaboration is worth, before anyone trains."""

from treaty.forecasting.forecasts import Forecast as Forecast
from treaty.forecasting.forecasts import evidence_from as evidence_from
from treaty.forecasting.forecasts import forecast as forecast
from treaty.forecasting.forecasts import forecasts_of as forecasts_of
from treaty.forecasting.forecasts import with_owners as with_owners
from treaty.forecasting.outlook import Outlook as Outlook
from treaty.forecasting.outlook import outlook_on as outlook_on
from treaty.forecasting.own_view import gains_from as gains_from
from treaty.forecasting.rehearsal import Rehearsal as Rehearsal
from treaty.forecasting.rehearsal import concluded as concluded
from treaty.forecasting.rehearsal import rehearsals as rehearsals
