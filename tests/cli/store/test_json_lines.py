"""Lines of whole blocks, by the kernel and without it, compared with the object of each message made singly."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any
from unittest import mock

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire import native
from rocketwire.cli.shown_message import json_object
from rocketwire.cli.store.json_lines import write_lines
from rocketwire.store.offline.read.log import RecordBlock
from rocketwire.store.offline.read.scan import ReadProblem
from rocketwire.store.offline.read.selected import with_properties
from rocketwire.store.records.walk import WalkEnd, walk
from rocketwire.wire.message import MessageRecord, decode_record, encode_record
from tests.spark.records import records, stored


def written(
    blocks: Iterable[tuple[RecordBlock, Any]], most: int | None, troubles: list[ReadProblem]
) -> tuple[int, bytes]:
    out = io.BytesIO()
    with mock.patch("sys.stdout", SimpleNamespace(buffer=out)):
        return write_lines(blocks, most, troubles.append), out.getvalue()


def made_singly(block: RecordBlock, numbers: list[int], troubles: list[ReadProblem]) -> bytes:
    lines = b""
    for number in numbers:
        data = block.record(number)
        one = with_properties(decode_record(data, check_crc=False), len(data))
        lines += msgspec.json.encode(json_object(one, troubles.append)) + b"\n"
    return lines


@pytest.mark.parametrize("kernel", [pytest.param(native.kernel, id="kernel"), pytest.param(None, id="twin")])
@given(some=st.lists(records(), min_size=1, max_size=6), most=st.none() | st.integers(0, 7), left=st.integers(0, 63))
def test_lines_are_those_of_single_messages(
    some: list[dict[str, Any]], most: int | None, left: int, kernel: Any
) -> None:
    buffer = stored(some)
    found = walk(buffer, base=0, whole=False, check_crc=False)
    block = RecordBlock(buffer, 0, found.records, found.position, WalkEnd.MORE, "")
    numbers = [number for number in range(len(some)) if not left >> number & 1]
    expected: list[ReadProblem] = []
    lines = made_singly(block, numbers[:most], expected)
    troubles: list[ReadProblem] = []
    with mock.patch.object(native, "kernel", kernel):
        assert written([(block, np.array(numbers, np.intp))], most, troubles) == (len(numbers[:most]), lines)
    assert troubles == expected


def test_a_limit_holds_over_blocks() -> None:
    message = MessageRecord(topic="T", queue_id=0, body=b"b", store_timestamp=1)
    buffer = encode_record(message) * 3
    block = RecordBlock(buffer, 0, walk(buffer, base=None, whole=False).records, len(buffer), WalkEnd.MORE, "")
    requested: list[int] = []

    def blocks() -> Iterator[tuple[RecordBlock, Any]]:
        for number in range(9):
            requested.append(number)
            yield block, np.arange(3)

    count, lines = written(blocks(), 5, [])
    assert (count, lines.count(b"\n"), requested) == (5, 5, [0, 1])
