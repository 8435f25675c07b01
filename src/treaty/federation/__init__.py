"""Federation: a learner and owners on different machines, each owner guarding its own budget."""

from importlib.util import find_spec

from treaty.errors import TreatyError

if any(find_spec(name) is None for name in ("cryptography", "msgpack", "nats")):
    raise TreatyError("a federation needs more packages: pip install 'treaty[federation]'")
