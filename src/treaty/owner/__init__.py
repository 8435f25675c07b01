"""An owner answers a query, or refuses, within its budget."""

from treaty.owner.owner import Owner as Owner
from treaty.owner.query import Answer as Answer
from treaty.owner.query import Query as Query
