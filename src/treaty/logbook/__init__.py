"""Logbooks: events that are only ever appended, chained by hashes, in one file that survives."""

from treaty.logbook.chain import Event as Event
from treaty.logbook.chain import verify_events as verify_events
from treaty.logbook.logbook import Broken as Broken
from treaty.logbook.logbook import Logbook as Logbook
from treaty.logbook.logbook import NoRoom as NoRoom
from treaty.logbook.logbook import Unwritable as Unwritable
from treaty.logbook.mark import Mark as Mark
