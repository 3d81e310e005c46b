"""Whoever reads a message's properties in C sees those that Python sees."""

from __future__ import annotations

import json
from array import array
from collections.abc import Mapping
from typing import Final

from hypothesis import example, given

from rocketwire import _kernel as kernel
from rocketwire.wire.message import MessageRecord, encode_record
from tests.property_readers import CLUSTER, Reader, check
from tests.test_property_readers import EVERY_NAME, texts


def record_of(text: bytes) -> bytes:
    return encode_record(MessageRecord(topic="T", queue_id=0, body=b"b", properties=text))


def by_kernel_of_a_send(text: bytes) -> Mapping[str, str | None]:
    _, *found, _, _, _ = kernel.rewrite_properties(text, CLUSTER.encode())
    return _three(*found)


def by_kernel_in_a_batch(text: bytes) -> Mapping[str, str | None]:
    _, *found, _, _, _ = kernel.look_at_properties(text)
    return _three(*found)


def by_kernel_of_a_line(text: bytes) -> Mapping[str, str | None]:
    _, line = kernel.record_lines(record_of(text), array("q", [0]))
    row = json.loads(line)
    return {name: row["properties"].get(name) for name in EVERY_NAME} | {"TAGS": row["tags"]}


def _three(unique_key: bytes | None, keys: bytes | None, tags: bytes | None) -> dict[str, str | None]:
    found = {"UNIQ_KEY": unique_key, "KEYS": keys, "TAGS": tags}
    return {name: None if value is None else value.decode() for name, value in found.items()}


IN_C: Final[Mapping[str, Reader]] = {
    "of a send": by_kernel_of_a_send,
    "in a batch": by_kernel_in_a_batch,
    "of a line": by_kernel_of_a_line,
}


@given(texts)
@example(b"TAGS\x01a\x02TAGS\x01b\x02TAGS\x01")
def test_all_readers_in_c_see_the_same(text: bytes) -> None:
    check(text, IN_C)
