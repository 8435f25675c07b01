"""An owner: its records, its home, its policy; it answers a question within its budget, or refuses."""

from treaty.owner.home import Home as Home
from treaty.owner.offer import Offer as Offer
from treaty.owner.open_home import OpenHome as OpenHome
from treaty.owner.owner import Owner as Owner
from treaty.owner.policy import Policy as Policy
from treaty.owner.query import Query as Query
