"""The properties in a line of JSON are those that Python reads; of sends, tests.kernel.fuzz.sends compares them."""

from __future__ import annotations

import json
from array import array
from collections.abc import Mapping

from hypothesis import example, given

from rocketwire import _kernel as kernel
from rocketwire.wire.message import MessageRecord, encode_record
from tests.property_readers import check
from tests.test_property_readers import EVERY_NAME, texts


def record_of(text: bytes) -> bytes:
    return encode_record(MessageRecord(topic="T", queue_id=0, body=b"b", properties=text))


def by_kernel_of_a_line(text: bytes) -> Mapping[str, str | None]:
    _, line = kernel.record_lines(record_of(text), array("q", [0]))
    row = json.loads(line)
    return {name: row["properties"].get(name) for name in EVERY_NAME} | {"TAGS": row["tags"]}


@given(texts)
@example(b"TAGS\x01a\x02TAGS\x01b\x02TAGS\x01")
def test_a_line_has_the_properties_that_python_reads(text: bytes) -> None:
    check(text, {"of a line": by_kernel_of_a_line})
