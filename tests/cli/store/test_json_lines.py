"""Lines of whole blocks, by the kernel and without it, compared with the object of each message made one by one."""

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
from rocketwire.store.archive.read.log import Block
from rocketwire.store.archive.read.scan import Trouble
from rocketwire.store.archive.read.selected import with_properties
from rocketwire.store.records.walk import Stop, walk
from rocketwire.wire.message import Message, decode_record, encode_record
from tests.spark.records import records, stored


def written(blocks: Iterable[tuple[Block, Any]], most: int | None, troubles: list[Trouble]) -> tuple[int, bytes]:
    out = io.BytesIO()
    with mock.patch("sys.stdout", SimpleNamespace(buffer=out)):
        return write_lines(blocks, most, troubles.append), out.getvalue()


def one_by_one(block: Block, numbers: list[int], troubles: list[Trouble]) -> bytes:
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
    block = Block(buffer, 0, found.records, found.position, Stop.MORE, "")
    numbers = [number for number in range(len(some)) if not left >> number & 1]
    expected: list[Trouble] = []
    lines = one_by_one(block, numbers[:most], expected)
    troubles: list[Trouble] = []
    with mock.patch.object(native, "kernel", kernel):
        assert written([(block, np.array(numbers, np.intp))], most, troubles) == (len(numbers[:most]), lines)
    assert troubles == expected


def test_a_limit_holds_over_blocks() -> None:
    message = Message(topic="T", queue_id=0, body=b"b", store_timestamp=1)
    buffer = encode_record(message) * 3
    block = Block(buffer, 0, walk(buffer, base=None, whole=False).records, len(buffer), Stop.MORE, "")
    asked: list[int] = []

    def blocks() -> Iterator[tuple[Block, Any]]:
        for number in range(9):
            asked.append(number)
            yield block, np.arange(3)

    count, lines = written(blocks(), 5, [])
    assert (count, lines.count(b"\n"), asked) == (5, 5, [0, 1])
