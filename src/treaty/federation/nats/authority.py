"""The federation's own authority: certificates, one credential a party, and the server's configuration.

Everything is made once, by whoever sets the federation up, and handed out folder by folder: `server`,
`operator`, `learner`, and one for each owner. Keys never leave their folder.
"""

import ipaddress
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import tomli_w
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from pydantic import field_validator

from treaty.errors import TreatyError
from treaty.federation.messages import LONGEST
from treaty.federation.nats import subjects
from treaty.plain import Plain, read_plain
from treaty.private_files import make_private_folder, write_private
from treaty.terms.names import LEARNER, token

YEARS = 2
LOOPBACK = {"localhost": "127.0.0.1", "127.0.0.1": "127.0.0.1", "::1": "[::1]"}
"""What a server listens on that is to be reached from its own machine only."""


@dataclass(frozen=True)
class Credential:
    """What a party needs to take part: who it is, where the server is, and its certificate.

    Args:
        folder: where the certificates are.
        name: the party.
        server: the server's address.
        learners: the tokens of those who may ask it.
    """

    folder: Path
    name: str
    server: str
    learners: tuple[str, ...]

    @property
    def token(self) -> str:
        """The party's word in subjects."""
        return token(self.name)

    @classmethod
    def load(cls, folder: str | Path) -> "Credential":
        """Read a credential's folder."""
        folder = Path(folder)
        file = folder / "party.toml"
        if not file.is_file():
            raise TreatyError(f"{folder}: not a credential; there is no party.toml in it")
        party = read_plain(_PartyFile, file)
        return cls(folder, party.name, party.server, party.learners)


class _PartyFile(Plain):
    name: str
    server: str
    learners: tuple[str, ...]

    @field_validator("server")
    @classmethod
    def _is_an_address(cls, server: str) -> str:
        try:
            parts = urlsplit(server)
            sound = parts.scheme == "tls" and parts.hostname and parts.port
        except ValueError:
            sound = False
        if not sound:
            raise ValueError(f'a server is written "tls://nats.example.org:4222", not "{server}"')
        return server


def make_federation(
    folder: str | Path, parties: Sequence[str], *, host: str = "localhost", port: int = 4222
) -> Path:
    """Make an authority, a server's configuration and a credential for every party.

    Every owner may also be a learner of its own, for peers; it can then ask the others, and nobody can
    ask in its name.

    Args:
        folder: where; it must not exist yet.
        parties: the owners' names, as in the treaty.
        host: the name or address under which the server is reached.
        port: its port.
    """
    folder = Path(folder)
    if folder.exists():
        raise TreatyError(f"{folder}: exists already; a federation is made in a new folder")
    if LEARNER in parties or "operator" in parties:
        raise TreatyError('no party may be called "learner" or "operator"')
    _check_host(host)
    make_private_folder(folder)
    authority = _Authority.new()
    authority.write(folder / "authority")
    authority.issue(folder / "server", host, server=True)
    learners = [token(name) for name in (LEARNER, *parties)]
    address = f"tls://[{host}]:{port}" if ":" in host else f"tls://{host}:{port}"
    for name in ("operator", LEARNER, *parties):
        where = folder / ("owners/" + token(name) if name in parties else name)
        authority.issue(where, _identity(name))
        party = {"name": name, "server": address, "learners": learners}
        write_private(where / "party.toml", tomli_w.dumps(party).encode())
    configuration = server_configuration(parties, host=host, port=port)
    write_private(folder / "server" / "nats.conf", configuration.encode())
    return folder


def _check_host(host: str) -> None:
    """Refuse what is neither a name nor an address of a machine."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        labels = host.removesuffix(".").split(".")
        label = re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(?<!-)")
        if len(host) > 253 or not all(label.fullmatch(part) for part in labels):
            raise TreatyError(
                f'the host "{host}" is neither the name nor the address of a machine: write it as '
                "nats.example.org, 192.0.2.7 or 2001:db8::7"
            ) from None


def _identity(name: str) -> str:
    return f"{token(name)}.treaty"


def server_configuration(parties: Sequence[str], *, host: str, port: int) -> str:
    """Return a nats-server configuration in which everybody is held to their own subjects."""
    # The operator makes one stream and one consumer an owner, once, and can do nothing else: once made,
    # neither can be changed or made anew with another configuration.
    tasks = [f"$JS.API.STREAM.CREATE.{subjects.STREAM}"]
    for owner in (token(name) for name in parties):
        tasks.append(f"$JS.API.CONSUMER.DURABLE.CREATE.{subjects.STREAM}.{owner}")
    users = [_user("operator", tasks, ["_INBOX.>"])]
    for name in (LEARNER, *parties):
        me = token(name)
        may_say = [subjects.query(me, token(owner)) for owner in parties]
        may_say.append(subjects.call(me))
        may_hear = [subjects.answer(me, "*"), subjects.ready(me, "*")]
        if name != LEARNER:
            may_say += [subjects.answer("*", me), subjects.ready("*", me)]
            may_hear += [subjects.delivery(me), subjects.call("*")]
        users.append(_user(name, may_say, may_hear))
    listen = "[::]" if ":" in host else "0.0.0.0"
    if host in LOOPBACK:
        listen = LOOPBACK[host]
    return "\n".join(
        [
            "# Everybody is known by the certificate of this federation's authority.",
            'server_name: "treaty"',
            f'listen: "{listen}:{port}"',
            f"max_payload: {LONGEST}",
            'jetstream { store_dir: "jetstream", max_file_store: 4GB }',
            "tls {",
            '  cert_file: "certificate.pem"',
            '  key_file: "key.pem"',
            '  ca_file: "authority.pem"',
            "  verify_and_map: true",
            "  # TLS before anything is said, and no older one: nobody can ask for less.",
            "  handshake_first: true",
            '  min_version: "1.3"',
            "  timeout: 10",
            "}",
            "authorization {",
            "  users = [",
            *users,
            "  ]",
            "}",
            "",
        ]
    )


def _user(name: str, may_say: list[str], may_hear: list[str]) -> str:
    permissions: dict[str, Any] = {"publish": {"allow": may_say}, "subscribe": {"allow": may_hear}}
    return "    " + json.dumps({"user": _identity(name), "permissions": permissions})


@dataclass(frozen=True, eq=False)
class _Authority:
    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @classmethod
    def new(cls) -> "_Authority":
        key = ec.generate_private_key(ec.SECP256R1())
        name = _name("treaty authority")
        made = (
            _builder(name, name, key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(authority=True), critical=True)
            .sign(key, hashes.SHA256())
        )
        return cls(key, made)

    def write(self, folder: Path) -> None:
        make_private_folder(folder)
        _write_key(folder / "key.pem", self.key)
        write_private(folder / "authority.pem", _pem(self.certificate))

    def issue(self, folder: Path, name: str, *, server: bool = False) -> None:
        """Write a key, a certificate for a name, and the authority's certificate into a folder."""
        make_private_folder(folder)
        key = ec.generate_private_key(ec.SECP256R1())
        names: list[x509.GeneralName] = [_general_name(name)]
        if server and name == "localhost":
            names.append(x509.IPAddress(ipaddress.ip_address("127.0.0.1")))
        purpose = ExtendedKeyUsageOID.SERVER_AUTH if server else ExtendedKeyUsageOID.CLIENT_AUTH
        made = (
            _builder(_name(name), self.certificate.subject, key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(authority=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .sign(self.key, hashes.SHA256())
        )
        _write_key(folder / "key.pem", key)
        write_private(folder / "certificate.pem", _pem(made))
        write_private(folder / "authority.pem", _pem(self.certificate))


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text[:64])])


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=365 * YEARS))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=authority,
        crl_sign=authority,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _write_key(path: Path, key: ec.EllipticCurvePrivateKey) -> None:
    write_private(
        path,
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    )
