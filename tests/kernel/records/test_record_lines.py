"""Lines of JSON that the kernel writes of records: tests/cli/store/test_json_lines.py holds them against the twin."""

from __future__ import annotations

import base64
import ctypes
import json
from array import array
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire import _kernel as kernel
from rocketwire.cli.shown_message import json_object
from rocketwire.store.offline.read.selected import with_properties
from rocketwire.wire.facts.codes import SysFlag
from rocketwire.wire.message import MessageRecord, decode_record, encode_record
from tests.spark.records import positions_in

_TEXTS = st.text('ab "\\/\b\f\n\r\t\0\x1f\x7fé日𝄞\ud7ff', max_size=40)
_BODIES = st.binary(max_size=70) | _TEXTS.map(str.encode)
_PROPERTIES = st.lists(
    st.tuples(
        st.sampled_from([b"TAGS", b"KEYS", b"UNIQ_KEY", b"k", b'"']), st.binary(max_size=20) | _TEXTS.map(str.encode)
    ),
    max_size=5,
).map(lambda items: b"\x02".join(name + b"\x01" + value for name, value in items))


def stored(body: bytes, properties: bytes = b"", **fields: Any) -> MessageRecord:
    return MessageRecord(topic="T", queue_id=0, body=body, properties=properties, **fields)


def lines_of(log: bytes, places: list[int]) -> tuple[int, bytes]:
    tight = (ctypes.c_ubyte * len(log)).from_buffer_copy(log)  # under a sanitizer, what reads on is found out
    result: tuple[int, bytes] = kernel.record_lines(tight, array("q", places))
    return result


@given(st.lists(st.builds(stored, _BODIES, _PROPERTIES), max_size=5))
def test_a_line_is_the_message_as_json(messages: list[MessageRecord]) -> None:
    log = b"".join(map(encode_record, messages))
    count, lines = lines_of(log, positions_in(log))
    records = map(encode_record, messages)
    expected = [json_object(with_properties(decode_record(data), len(data)), print) for data in records]
    assert (count, [json.loads(line) for line in lines.split(b"\n")[:-1]]) == (len(messages), expected)


@pytest.mark.parametrize(
    "other",
    [stored(b"b", sys_flag=SysFlag.COMPRESSED), stored(b"b", born_host=("::1", 1))],
    ids=["compressed", "IPv6"],
)
def test_lines_end_before_a_record_that_python_writes(other: MessageRecord) -> None:
    plain = stored(b"b")
    log = b"".join(map(encode_record, [plain, plain, other, plain]))
    places = positions_in(log)
    assert lines_of(log, places)[0] == 2
    assert lines_of(log, places[2:]) == (0, b"")


def test_a_call_writes_about_a_mebibyte() -> None:
    log = encode_record(stored(b"\x00" * 100_000)) * 9
    count, lines = lines_of(log, positions_in(log))
    assert (count, len(lines) > 1 << 20) == (2, True)
    big = encode_record(stored(bytes(range(128, 256)) * 9))
    _, line = lines_of(big, [0])
    assert base64.b64decode(json.loads(line)["body_base64"]) == bytes(range(128, 256)) * 9


def test_what_is_no_record_is_refused() -> None:
    log = encode_record(stored(b"b"))
    for place in (-1, 1, len(log)):
        with pytest.raises(ValueError, match="no whole record"):
            lines_of(log, [place])
