"""The body of a batch in C as wire.stored_properties and wire.batch read it."""

import struct

from hypothesis import example, given
from hypothesis import strategies as st

from rocketwire import _kernel as kernel
from rocketwire.wire.batch import BATCH_ITEM, BatchItem, encode_batch
from rocketwire.wire.errors import BatchInvalid
from rocketwire.wire.stored_properties import batch_messages

int32 = st.integers(-(2**31), 2**31 - 1)
properties = st.text(st.characters(exclude_categories=["Cs"]), max_size=30).map(str.encode)
messages = st.builds(BatchItem, int32, st.binary(max_size=40), properties)
batches = st.lists(messages, max_size=5).map(encode_batch)
edges = st.sampled_from([-(2**31), -1, 0, 1, 19, 20, 21, 22, 23, 0x7FFF, 0x8000, 2**31 - 1])


def expected(body: bytes) -> list[tuple[int, bytes, bytes]] | None:
    """What C is to give: None where Python refuses, and where it has to replace what is no UTF-8."""
    try:
        found = [(message.flag, message.body, message.properties) for message in batch_messages(body)]
        for _, _, text in found:
            text.decode()
    except (BatchInvalid, UnicodeDecodeError):
        return None
    return found


@given(batches)
def test_a_batch_is_read_as_it_is_declared(body: bytes) -> None:
    assert kernel.take_batch(body) == declared(body) == expected(body)


def declared(body: bytes) -> list[tuple[int, bytes, bytes]]:
    result = []
    while body:
        item = BATCH_ITEM.parse(body)
        result.append((item.flag, item.body, item.properties))
        body = body[item.total_size :]
    return result


@given(batches, st.integers(0, 200), st.binary(max_size=4))
def test_a_damaged_batch_is_left_to_python(body: bytes, at: int, other: bytes) -> None:
    damaged = body[:at] + other + body[at + len(other) :]
    assert kernel.take_batch(damaged) == expected(damaged)
    assert kernel.take_batch(body[:at]) == expected(body[:at])


@given(edges | int32, edges | int32, st.integers(0, 0xFFFF), st.binary(max_size=60))
@example(22, 0, 0, b"")
@example(2**31 - 1, 2**31 - 23, 0, b"")
@example(22 + 0x8000, 0, 0x8000, bytes(0x8000))
@example(22 + 0x7FFF, 0, 0x7FFF, b"a" * 0x7FFF)
def test_lengths_of_any_size(total: int, body_length: int, properties_length: int, rest: bytes) -> None:
    body = struct.pack(">iiiiiH", total, 0, 0, 7, body_length, properties_length) + rest
    assert kernel.take_batch(body) == expected(body)


@given(st.binary(max_size=12), messages)
def test_properties_that_are_no_utf_8_are_left_to_python(text: bytes, other: BatchItem) -> None:
    body = encode_batch([other, BatchItem(0, b"body", text), other])
    assert kernel.take_batch(body) == expected(body)
