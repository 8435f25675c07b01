"""A federation over NATS: certificates, server, subjects, connection, channel."""

from importlib.util import find_spec

from treaty.errors import TreatyError

if any(find_spec(name) is None for name in ("cryptography", "nats")):
    raise TreatyError("a federation needs more packages: pip install 'treaty[federation]'")
