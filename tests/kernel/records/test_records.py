"""Records as columns: the kernel reads what wire.message wrote, and believes what store.records.walk believes.

tests/spark/columns/test_kernel.py holds the same against the twin, with Arrow around it.
"""

from __future__ import annotations

import ctypes
import struct
from array import array
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocketwire import _kernel as kernel
from rocketwire.store.records.walk import walk
from rocketwire.wire.facts.record import MAGIC_V1, MAGIC_V2
from rocketwire.wire.message import MessageRecord, encode_record
from tests.kernel.records.record_rows import (
    INTS,
    LONGS,
    NAMES,
    TIMES,
    host_text,
    message,
    positions_of,
    row_of,
    rows_of,
    walked,
)

_INT32 = st.integers(-(1 << 31), (1 << 31) - 1)
_INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
_HOSTS = st.tuples(st.ip_addresses().map(str), _INT32)
_PIECES = st.sampled_from(
    [b"TAGS", b"KEYS", b"UNIQ_KEY", b"name", b"\x01", b"\x01", b"\x02", b" ", b"a", b"\xff", b"\xe6\x97", "ü".encode()]
)
_TEXTS = st.lists(_PIECES, max_size=40).map(b"".join) | st.binary(max_size=40)
_MESSAGES = st.builds(
    MessageRecord,
    topic=st.sampled_from(["T", "Orders", "Thème", "a-topic-that-is-longer-than-one-word"]),
    queue_id=_INT32,
    body=st.binary(max_size=200),
    properties=_TEXTS,
    flag=_INT32,
    queue_offset=_INT64,
    physical_offset=_INT64,
    sys_flag=_INT32,
    born_timestamp=_INT64,
    born_host=_HOSTS | st.just(("127.0.0.1", 10911)),
    store_timestamp=_INT64,
    store_host=_HOSTS | st.just(("::1", 10911)),
    reconsume_times=_INT32,
    prepared_transaction_offset=_INT64,
    magic=st.sampled_from([MAGIC_V1, MAGIC_V2]),
    body_crc=st.none() | _INT32,
)


def tight(data: bytes | bytearray) -> ctypes.Array[ctypes.c_ubyte]:
    """The data with nothing behind it: under a sanitizer, what reads on is found out."""
    return (ctypes.c_ubyte * len(data)).from_buffer_copy(data)


def cut(log: bytes) -> list[tuple[int, bytes]]:
    """The records of a log and where they are."""
    found, at = [], 0
    while at < len(log):
        (size,) = struct.unpack_from(">i", log, at)
        found.append((at, log[at : at + size]))
        at += size
    return found


@given(st.lists(_MESSAGES, max_size=6), st.permutations(NAMES), st.integers(0, len(NAMES)))
def test_columns_are_what_the_messages_were(messages: list[MessageRecord], order: list[str], count: int) -> None:
    log = b"".join(map(encode_record, messages))
    names = tuple(order[:count])
    places = [at for at, _ in cut(log)]
    expected = [{name: row_of(record)[name] for name in names} for _, record in cut(log)]
    assert rows_of(tight(log), places, names) == (expected if names else [])
    assert rows_of(tight(log), places) == [row_of(record) for _, record in cut(log)]


@given(_TEXTS)
@example(b"TAGS\x01a\x02TAGS\x01")
@example(b"TAGS\x01a\x02TAGS\x01b\x01c\x02TAGS")
@example(b"\xffTAGS\x01a\x02xTAGS\x01b\x02TAGS\x01\xe6\x97\x02")
def test_tags_and_keys_alone_are_those_of_all_properties(text: bytes) -> None:
    record = encode_record(message(properties=text))
    for name in ("tags", "keys", "message_id"):
        assert rows_of(tight(record), [0], (name,)) == [{name: row_of(record)[name]}]


@pytest.mark.parametrize("value", ["", "v", "a-value-that-is-longer-than-a-window"])
def test_tags_stand_anywhere_in_texts_of_any_length(value: str) -> None:
    for before in range(40):
        for after in range(40):
            text = f"{'n' * before}\x01x\x02TAGS\x01{value}\x02{'m' * after}".encode()
            record = encode_record(message(properties=text[2 if before == 0 else 0 :]))
            assert rows_of(tight(record), [0], ("tags",)) == [{"tags": value or None}]


@given(st.lists(st.sampled_from([b"\x80", b"\xc3", b"\xe0", b"\xa0", b"\xed", b"\xf0", b"\x90", b"\xf4", b"a"])))
def test_what_is_no_utf_8_is_replaced_as_python_does(parts: list[bytes]) -> None:
    text = b"".join(parts)
    record = encode_record(message(properties=b"TAGS\x01" + text + b"\x02" + text + b"\x01v"))
    assert rows_of(tight(record), [0]) == [row_of(record)]
    assert rows_of(tight(record), [0], ("tags",)) == [{"tags": text.decode("utf-8", "replace") or None}]


def test_a_name_stands_there_once_however_many_there_are() -> None:
    numbers = [*range(3000), *range(0, 3000, 7), 5, 5]
    text = "\x02".join(f"{number:x}\x01{count % 10}" for count, number in enumerate(numbers)).encode()
    messages = [message(properties=text), message(properties=b"a\x011\x02a\x012"), message(properties=b"a\x011")]
    log = b"".join(encode_record(each) for each in [*messages, *messages])
    assert rows_of(log, [at for at, _ in cut(log)]) == [row_of(record) for _, record in cut(log)]


@given(st.lists(_MESSAGES, max_size=5), st.binary(max_size=100), st.data())
def test_a_walk_believes_what_the_stores_walk_does(
    messages: list[MessageRecord], tail: bytes, data: st.DataObject
) -> None:
    log = bytearray(b"".join(map(encode_record, messages)) + tail)
    for _ in range(data.draw(st.integers(0, 3))):
        if log:
            log[data.draw(st.integers(0, len(log) - 1))] ^= data.draw(st.integers(1, 255))
    expected = walk(log, base=None, whole=False, check_crc=False)
    found, behind = walked(tight(log))
    assert (found.tolist(), behind) == (expected.records.position.tolist(), expected.position)
    sizes = positions_of(expected.records.size.tolist())
    good = bytearray(len(found))
    kernel.check_records(tight(log), found, sizes, None, good)
    assert good == b"\x01" * len(found)
    kernel.check_bodies(tight(log), found, good)
    for at, good_body in zip(found, good, strict=True):
        whole = walk(log, base=None, position=at, whole=False, most=1)
        assert bool(good_body) == bool(len(whole.records.position))


def test_a_walk_looks_at_physical_offsets_where_it_is_told_a_base() -> None:
    log = encode_record(message(physical_offset=70))
    log += encode_record(message(physical_offset=70 + len(log)))
    found, behind = walked(log, base=70)
    assert (len(found), behind) == (2, len(log))
    assert walked(log, base=71) == (array("q"), 0)
    good = bytearray(2)
    kernel.check_records(log, found, positions_of([len(log) // 2] * 2), 70, good)
    assert good == b"\1\1"
    kernel.check_records(log, found, positions_of([len(log) // 2, 91]), 69, good)
    assert good == b"\0\0"


@given(st.lists(_MESSAGES, min_size=1, max_size=3), st.data())
def test_nothing_outside_of_a_damaged_buffer_is_read(messages: list[MessageRecord], data: st.DataObject) -> None:
    log = bytearray(b"".join(map(encode_record, messages)))
    for _ in range(data.draw(st.integers(1, 9))):
        log[data.draw(st.integers(0, len(log) - 1))] = data.draw(st.sampled_from([0, 1, 0x30, 0x7F, 0x80, 0xFF]))
    buffer = tight(log[: data.draw(st.integers(0, len(log)))])
    places = st.integers(-10, len(log) + 10) | st.just(0) | _INT64
    for at in data.draw(st.lists(places, min_size=3, max_size=20)):
        position, good, codes = positions_of([at]), bytearray(1), bytearray(4)
        kernel.check_records(buffer, position, positions_of([len(buffer)]), None, good)
        numbers = tuple(bytearray(8) for _ in (*INTS, *LONGS, *TIMES))
        calls: list[Any] = [
            lambda p=position: kernel.record_columns(buffer, p, NAMES, bytearray, host_text),
            lambda p=position: kernel.record_columns(buffer, p, ("flag", "born_host"), bytearray, host_text),
            lambda p=position, n=numbers: kernel.read_heads(buffer, p, (*INTS, *LONGS, *TIMES), n),
            lambda p=position, c=codes: kernel.topics_of_records(buffer, p, c),
            lambda p=position, g=good: kernel.tags_of_records(buffer, p, frozenset([b"a"]), g),
            lambda p=position, g=good: kernel.check_bodies(buffer, p, g),
        ]
        for call in calls:
            try:
                call()
            except ValueError as error:
                assert str(error) == f"no whole record at {at}"


def test_numbers_of_many_records() -> None:
    messages = [message(queue_id=n, store_timestamp=n * 3, prepared_transaction_offset=-n) for n in range(1000)]
    log = b"".join(map(encode_record, messages))
    positions = positions_of(at for at, _ in cut(log))
    ints, longs, times = np.empty(1000, np.int32), np.empty(1000, np.int64), np.empty(1000, np.int64)
    names = ("queue_id", "prepared_transaction_offset", "store_timestamp")
    kernel.read_heads(log, positions, names, (ints.data, longs.data, times.data))
    assert ints.tolist() == list(range(1000))
    assert longs.tolist() == [-n for n in range(1000)]
    assert times.tolist() == [n * 3 for n in range(1000)]


def test_many_topics_and_tags() -> None:
    messages = [message(topic=f"T{n * n % 700}", properties=b"TAGS\x01%d" % (n % 600)) for n in range(2000)]
    log = b"".join(map(encode_record, messages))
    positions = positions_of(at for at, _ in cut(log))
    codes, found = np.empty(2000, np.int32), bytearray(2000)
    topics = kernel.topics_of_records(log, positions, codes.data)
    assert [topics[code].decode() for code in codes] == [each.topic for each in messages]
    kernel.tags_of_records(log, positions, frozenset(b"%d" % n for n in range(0, 600, 7)), found)
    assert list(found) == [n % 600 % 7 == 0 for n in range(2000)]


def test_what_does_not_fit() -> None:
    record = encode_record(message())
    one, odd = positions_of([0]), memoryview(bytes(17))[1:]
    refused: list[tuple[Any, str]] = [
        (lambda: kernel.walk_records(record, None, -1, 0, bytearray(8)), "outside of the buffer"),
        (lambda: kernel.walk_records(record, None, 0, len(record) + 1, bytearray(8)), "outside of the buffer"),
        (lambda: kernel.walk_records(record, None, 0, 0, bytearray(9)), "positions are 64-bit numbers"),
        (lambda: kernel.check_records(record, odd, one, None, bytearray(2)), "positions are 64-bit numbers"),
        (lambda: kernel.check_records(record, one, positions_of([]), None, bytearray(1)), "one size a position"),
        (lambda: kernel.check_records(record, one, one, None, bytearray(2)), "one result a position"),
        (lambda: kernel.check_bodies(record, one, bytearray(0)), "one result a position"),
        (lambda: kernel.topics_of_records(record, one, bytearray(5)), "one result a position"),
        (lambda: kernel.tags_of_records(record, one, frozenset(), bytearray(3)), "one result a position"),
        (lambda: kernel.read_heads(record, one, ("flag",), ()), "one buffer a field"),
        (lambda: kernel.read_heads(record, one, ("topic",), (bytearray(4),)), "no fixed field of records: topic"),
        (lambda: kernel.read_heads(record, one, ("flag",), (bytearray(3),)), "flag needs more room"),
        (lambda: kernel.read_heads(record, odd, ("flag",), (bytearray(8),)), "positions are 64-bit numbers"),
        (lambda: kernel.record_columns(record, one, ("none",), bytearray, host_text), "no column none"),
        (lambda: kernel.record_columns(record, one, ("flag",) * 33, bytearray, host_text), "more than 32 columns"),
        (lambda: kernel.record_columns(record, one, ("flag",), lambda n: bytearray(n - 1), host_text), "less memory"),
        (lambda: kernel.record_columns(record, odd, ("flag",), bytearray, host_text), "positions are 64-bit numbers"),
    ]
    for call, text in refused:
        with pytest.raises(ValueError, match=text):
            call()


def test_what_python_raises_is_passed_on() -> None:
    record = encode_record(message(born_host=("::1", 1)))
    one = positions_of([0])

    def fails(_: object) -> Any:
        raise KeyError

    with pytest.raises(KeyError):
        kernel.record_columns(record, one, ("flag",), fails, host_text)
    with pytest.raises(KeyError):
        kernel.record_columns(record, one, ("born_host",), bytearray, fails)
    with pytest.raises(TypeError):
        kernel.record_columns(record, one, ("born_host",), bytearray, str)  # type: ignore[arg-type]  # no bytes
    with pytest.raises(BufferError):
        kernel.record_columns(record, one, ("flag",), bytes, host_text)
    with pytest.raises(TypeError):
        kernel.walk_records(record, "0", 0, 0, bytearray(8))  # type: ignore[arg-type]  # no number
    with pytest.raises(TypeError):
        kernel.record_columns(record, one, (1,), bytearray, host_text)  # type: ignore[arg-type]  # no name


def test_a_column_is_never_longer_than_arrow_can_say() -> None:
    record = encode_record(message(body=bytes(1 << 20)))
    with pytest.raises(ValueError, match="2 GiB or more"):
        kernel.record_columns(record, positions_of([0] * 2048), ("body",), bytearray, host_text)
