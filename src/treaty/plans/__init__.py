"""Plans: who is asked what, how often, with how much noise, from where; all of it public."""

from treaty.plans.blocs import Bloc as Bloc
from treaty.plans.clocks import NOBODY as NOBODY
from treaty.plans.clocks import PoissonClocks as PoissonClocks
from treaty.plans.clocks import Timetable as Timetable
from treaty.plans.driver import Driver as Driver
from treaty.plans.party import Party as Party
from treaty.plans.peers import peer_plans as peer_plans
from treaty.plans.plan import Plan as Plan
