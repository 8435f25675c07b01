"""A party's connection to the server: TLS with its own certificate, and back again by itself."""

import asyncio
import math
import ssl
from collections.abc import Awaitable, Callable

from nats.aio.client import Client
from nats.errors import Error as NatsError

from treaty.errors import TreatyError
from treaty.federation.channel import Say
from treaty.federation.nats.authority import Credential


class _Client(Client):
    """A client that gets over a failed handshake.

    nats-py waits for the end of a connection whose upgrade to TLS has failed, and never hears of it: one
    visit of whoever does not speak TLS, and it would never try again.
    """

    async def _process_connect_init(self) -> None:
        try:
            await super()._process_connect_init()
        except BaseException:
            failed, self._transport = self._transport, None
            if failed is not None:
                failed.close()
                # Under TLS that closes the session, and the socket only when the other side agrees.
                bare = getattr(failed, "_bare_io_writer", None)
                if bare is not None:
                    bare.close()
            raise


async def connect(
    credential: Credential, *, patience: float = 20.0, say: Say | None = None
) -> Client:
    """Connect, and stay connected: after a cut the connection comes back by itself.

    Args:
        credential: who connects, and where to.
        patience: how many seconds to wait for the server at first.
        say: is told when the connection goes and comes.

    Raises:
        TreatyError: the server was not reached, or did not let this party in.
    """
    last = ["no answer"]

    async def on_error(error: Exception) -> None:
        said = f"{type(error).__name__}: {error}"
        if say is not None and not isinstance(error, OSError | asyncio.TimeoutError):
            say(f"the server says: {error}")
        elif say is not None and said != last[0]:
            say(f"the server cannot be reached ({said}); trying again")
        last[0] = said

    def says(text: str) -> Callable[[], Awaitable[None]]:
        async def tell() -> None:
            if say is not None and not connection.is_closed:
                say(text)

        return tell

    connection = _Client()
    try:
        # Until the server is there the client tries again by itself; so it does after every cut.
        await asyncio.wait_for(
            connection.connect(
                credential.server,
                name=credential.name,
                tls=context_of(credential),
                # TLS before anything else: a server's greeting in the clear decides nothing.
                tls_handshake_first=True,
                max_reconnect_attempts=-1,
                reconnect_time_wait=0.2,  # pyright: ignore[reportArgumentType]
                connect_timeout=5,
                allow_reconnect=True,
                error_cb=on_error,
                disconnected_cb=says("the connection is cut"),
                reconnected_cb=says("the connection is back"),
                pending_size=16 << 20,
            ),
            None if patience == math.inf else patience,
        )
    except (TimeoutError, NatsError, OSError) as error:
        await connection.close()
        if not isinstance(error, TimeoutError):
            last[0] = f"{type(error).__name__}: {error}"
        raise TreatyError(
            f"{credential.server}: {credential.name} was not let in or there is no server ({last[0]})"
        ) from error
    except asyncio.CancelledError:
        await connection.close()
        raise
    return connection


def context_of(credential: Credential) -> ssl.SSLContext:
    """Return the TLS settings of a party: its own certificate, and only the federation's authority."""
    files = {
        name: credential.folder / f"{name}.pem" for name in ("authority", "certificate", "key")
    }
    try:
        context = ssl.create_default_context(
            ssl.Purpose.SERVER_AUTH, cafile=str(files["authority"])
        )
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.load_cert_chain(str(files["certificate"]), str(files["key"]))
    except (OSError, ValueError) as error:
        missing = [str(path) for path in files.values() if not path.is_file()]
        what = f"{missing[0]} is missing" if missing else f"a certificate is damaged ({error})"
        raise TreatyError(f"{credential.folder}: not a credential: {what}") from error
    return context
