"""What passes between learner and owners: versioned plain data, MessagePack on the wire.

`docs/protocol.md` describes it for other languages. Numbers that matter are sent as the bytes of their
doubles, so that nothing is rounded. Whatever is not exactly a message is refused.
"""

import struct
from dataclasses import dataclass, fields
from typing import Any, Literal, cast, get_args

import msgpack

from treaty.owner import Query as Query
from treaty.questions import QUESTIONS, MeanGradient

VERSION = 1
LONGEST = 1 << 20
"""No message is longer, in bytes."""
LONGEST_TEXT = 512

Meeting = Literal["broadcast", "request"]


class Malformed(Exception):
    """Bytes that are not a message. Nothing is spent for them."""


@dataclass(frozen=True)
class Answer:
    """An owner's noised answer: as many numbers as the question asks for."""

    treaty: str
    run: str
    round: int
    values: tuple[float, ...]


@dataclass(frozen=True)
class Refused:
    """An owner does not answer, and why."""

    treaty: str
    run: str
    round: int
    reason: str


@dataclass(frozen=True)
class Call:
    """A learner asks who is there: for one round, or for as long as the run lasts."""

    treaty: str
    run: str
    round: int
    meeting: Meeting


@dataclass(frozen=True)
class Ready:
    """An owner is ready to be asked."""

    treaty: str
    run: str
    round: int


Message = Query | Answer | Refused | Call | Ready
_KINDS: dict[str, type[Message]] = {
    "query": Query,
    "answer": Answer,
    "refused": Refused,
    "call": Call,
    "ready": Ready,
}
_NAMES = {of: kind for kind, of in _KINDS.items()}
_FIELDS = {of: tuple(field.name for field in fields(of)) for of in _KINDS.values()}
_VECTORS = {"theta", "values"}
_ON_THE_WIRE = {"values": "gradient"}
"""Fields that are called otherwise on the wire."""
_LEFT_OUT = {"question": MeanGradient.name}
"""A field that is left out where it has its usual value."""


def kind_of(message: Message) -> str:
    """Return what a message is called on the wire."""
    return _NAMES[type(message)]


def encode(message: Message) -> bytes:
    """Return a message as bytes."""
    values = {
        _ON_THE_WIRE.get(name, name): struct.pack(f"<{len(value)}d", *value)
        if name in _VECTORS
        else value
        for name, value in vars(message).items()
        if _LEFT_OUT.get(name) != value
    }
    plain = {"v": VERSION, "kind": kind_of(message), **values}
    return cast(bytes, msgpack.packb(plain, use_bin_type=True))


def decode(data: bytes) -> Message:
    """Return the message that some bytes are.

    Raises:
        Malformed: they are none.
    """
    if len(data) > LONGEST:
        raise Malformed(f"{len(data):,} bytes are too long for a message")
    try:
        unpacked = cast(
            object,
            msgpack.unpackb(
                data,
                raw=False,
                strict_map_key=True,
                max_array_len=0,
                max_map_len=16,
                max_ext_len=0,
                max_str_len=LONGEST_TEXT,
                max_bin_len=LONGEST,
            ),
        )
    except (ValueError, UnicodeDecodeError, msgpack.UnpackException, RecursionError) as error:
        raise Malformed(f"not MessagePack ({type(error).__name__})") from error
    if not isinstance(unpacked, dict):
        raise Malformed("a message is a map")
    plain = cast(dict[str, Any], unpacked)
    version, kind = plain.pop("v", None), plain.pop("kind", None)
    if type(version) is not int or version != VERSION:
        raise Malformed(f"version {version!r:.20} is not understood, only {VERSION} is")
    of = _KINDS.get(kind) if isinstance(kind, str) else None
    if of is None:
        raise Malformed(f"there is no message {kind!r:.20}")
    wire = {name: _ON_THE_WIRE.get(name, name) for name in _FIELDS[of]}
    given = {name: plain[key] for name, key in wire.items() if key in plain}
    missing = wire.keys() - given.keys() - _LEFT_OUT.keys()
    if missing or len(given) != len(plain) or any(given.get(n) == v for n, v in _LEFT_OUT.items()):
        fields = ", ".join(key for name, key in wire.items() if name not in _LEFT_OUT)
        raise Malformed(f"a {kind} has exactly the fields {fields}")
    message = of(**{name: _field(name, value) for name, value in given.items()})
    if isinstance(message, Query) and message.question == MeanGradient.name and not message.theta:
        raise Malformed("theta is not a vector of doubles")
    return message


def _field(name: str, value: Any) -> Any:
    if name in _VECTORS:
        if type(value) is not bytes or len(value) % 8 or not (value or name == "theta"):
            raise Malformed(f"{_ON_THE_WIRE.get(name, name)} is not a vector of doubles")
        return struct.unpack(f"<{len(value) // 8}d", value)
    if name == "round":
        if type(value) is not int or not 0 <= value < 1 << 31:
            raise Malformed("round is not a number of a round")
        return value
    if type(value) is not str or not value or not value.isprintable():
        raise Malformed(f"{name} is not a text that can be printed")
    if name == "question" and value not in QUESTIONS:
        raise Malformed(f"there is no question {value!r:.20}")
    if name == "meeting" and value not in get_args(Meeting):
        raise Malformed(f"there is no meeting {value!r:.20}")
    return value
