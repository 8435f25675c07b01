"""The wire format: what goes in comes out to the last bit, and nothing else comes in."""

import contextlib
import math
import random
import struct

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treaty.federation.messages import (
    LONGEST,
    Answer,
    Call,
    Malformed,
    Query,
    Ready,
    Refused,
    decode,
    encode,
)

texts = st.text(st.characters(codec="utf-8").filter(str.isprintable), min_size=1, max_size=60)
rounds = st.integers(0, (1 << 31) - 1)
vectors = st.lists(st.floats(width=64), min_size=1, max_size=8).map(tuple)
EXAMPLES = [
    Query("ab" * 32, "run", 3, (0.1, -0.0, 5e-324, 1e308)),
    Answer("ab" * 32, "run", 3, (1 / 3, math.inf)),
    Refused("ab" * 32, "run", 3, "the budget is spent"),
    Call("ab" * 32, "run", 0, "request"),
    Ready("ab" * 32, "run", 7),
]


@given(
    st.one_of(
        st.builds(Query, texts, texts, rounds, vectors),
        st.builds(Answer, texts, texts, rounds, vectors),
        st.builds(Refused, texts, texts, rounds, texts),
        st.builds(Call, texts, texts, rounds, st.sampled_from(["broadcast", "request"])),
        st.builds(Ready, texts, texts, rounds),
    )
)
def test_a_message_comes_out_as_it_went_in(message):
    data = encode(message)
    assert encode(decode(data)) == data
    again = decode(data)
    assert type(again) is type(message)
    for name, value in vars(message).items():
        if isinstance(value, tuple):
            packed = struct.pack(f"<{len(value)}d", *value)
            assert struct.pack(f"<{len(value)}d", *getattr(again, name)) == packed
        else:
            assert getattr(again, name) == value


def _with(**changes) -> bytes:
    plain = {
        "v": 1, "kind": "query", "treaty": "t", "run": "r", "round": 1, "theta": struct.pack("<d", 1.0),
    }  # fmt: skip
    plain.update(changes)
    return msgpack.packb({k: v for k, v in plain.items() if v is not ...})


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "not MessagePack"),
        (b"\xc1", "not MessagePack"),
        (msgpack.packb(5), "a message is a map"),
        (msgpack.packb([1, 2]), "not MessagePack"),
        (msgpack.packb({1: 2}), "not MessagePack"),
        (encode(EXAMPLES[0]) + b"\x00", "not MessagePack"),
        (bytes(LONGEST + 1), "too long"),
        (_with(v=2), "version 2 is not understood"),
        (_with(v=True), "version True"),
        (_with(v=...), "version None"),
        (_with(kind="order"), "no message 'order'"),
        (_with(kind=["query"] * 0 or None), "no message None"),
        (_with(theta=...), "exactly the fields"),
        (_with(extra=1), "exactly the fields"),
        (_with(theta=[1.0]), "not MessagePack"),
        (_with(theta=b"1234567"), "not a vector"),
        (_with(theta=b""), "not a vector"),
        (_with(theta="12345678"), "not a vector"),
        (_with(round=-1), "not a number of a round"),
        (_with(round=1 << 31), "not a number of a round"),
        (_with(round=1.0), "not a number of a round"),
        (_with(round=True), "not a number of a round"),
        (_with(treaty=b"t"), "treaty is not a text"),
        (_with(run=""), "run is not a text"),
        (_with(run="x" * 10_000), "not MessagePack"),
        (msgpack.packb({"v": 1, "kind": msgpack.ExtType(1, b"12")}), "not MessagePack"),
        (b"\x81" * 2000, "not MessagePack"),
        (encode(EXAMPLES[3]).replace(b"request", b"reqeust"), "no meeting"),
    ],
)
def test_whatever_is_not_a_message_is_refused(data, says):
    with pytest.raises(Malformed, match=says):
        decode(data)


@given(st.binary(max_size=200))
@settings(max_examples=2000)
def test_any_bytes(data):
    with contextlib.suppress(Malformed):
        decode(data)


def test_a_million_damaged_messages():
    """Cut, flipped, spliced and grown bytes: a message or Malformed, never anything else."""
    dice = random.Random(1)
    seeds = [encode(message) for message in EXAMPLES]
    refused = 0
    for _ in range(1_000_000):
        data = bytearray(seeds[dice.randrange(5)])
        for _ in range(1 + dice.randrange(3)):
            way, at = dice.randrange(4), dice.randrange(len(data) or 1)
            if way == 0 and data:
                data[at] = dice.randrange(256)
            elif way == 1:
                data = data[:at]
            elif way == 2:
                other = seeds[dice.randrange(5)]
                data = data[:at] + other[dice.randrange(len(other)) :]
            else:
                data.insert(at, dice.randrange(256))
        try:
            decode(bytes(data))
        except Malformed:
            refused += 1
    assert 700_000 < refused < 1_000_000


def test_the_longest_answer_fits_into_a_message():
    """What may be ratified can be sent: nothing is paid for and then too long."""
    from treaty.federation.messages import LONGEST
    from treaty.limits import LONGEST_ANSWER, OutsideLimits, check_answer

    longest = Answer("t" * 64 + "/" + "n" * 400, "r" * 512, 1, (0.1,) * LONGEST_ANSWER)
    assert len(encode(longest)) <= LONGEST
    assert decode(encode(longest)) == longest
    check_answer(LONGEST_ANSWER)
    with pytest.raises(OutsideLimits, match="an answer would have 130,001 numbers"):
        check_answer(LONGEST_ANSWER + 1)
