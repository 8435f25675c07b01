"""Federation: rounds between a learner and owners on different machines, behind a small channel.

Each owner guards its own budget. What carries the letters is in a package of its own: `nats`.
"""

from importlib.util import find_spec

from treaty.errors import TreatyError

if find_spec("msgpack") is None:
    raise TreatyError("a federation needs more packages: pip install 'treaty[federation]'")
