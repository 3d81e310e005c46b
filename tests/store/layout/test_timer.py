"""The timer's layouts, on what a real 5.5.0 broker wrote and on generated values."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.store.layout import timer_check, timer_log, timer_wheel
from rocketwire.store.layout.derive import dtype_fields, fixed_struct
from rocketwire.wire.facts.layout import positions
from rocketwire.wire.facts.record import BLANK_MAGIC
from tests.store.support import Golden

INT32 = st.integers(-(1 << 31), (1 << 31) - 1)
INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
UNIT_KEYS = ["size", "prevPos", "magic", "currWriteTime", "delayedTime", "offsetPy", "sizePy", "topicHash", "reserved"]
CHECK_KEYS = [
    "lastReadTimeMs",
    "lastTimerLogFlushPos",
    "lastTimerQueueOffset",
    "masterTimerQueueOffset",
    "dataVersionStateVersion",
    "dataVersionTimestamp",
    "dataVersionCounter",
]


def test_sizes_are_apaches() -> None:
    assert timer_log.UNIT_SIZE == 52
    assert timer_log.BLANK_SIZE == 16
    assert timer_wheel.SLOT_SIZE == 32
    assert timer_wheel.FILE_SIZE == 38_707_200
    assert timer_check.CHECK_STRUCT.size == 56 <= timer_check.EXTENSION_AT
    assert timer_check.EXTENSION_STRUCT.size == 24


@given(data=st.data())
def test_fast_codecs_are_the_declarations(data: st.DataObject) -> None:
    for declaration in (timer_log.UNIT, timer_log.BLANK, timer_wheel.SLOT, timer_check.CHECK, timer_check.EXTENSION):
        fast = fixed_struct(declaration)
        names = list(positions(declaration))
        values = [data.draw(INT64 if code == "q" else INT32) for code in fast.format.lstrip(">")]
        packed = fast.pack(*values)
        assert packed == declaration.build(dict(zip(names, values, strict=True)))
        array = np.frombuffer(packed, np.dtype(dtype_fields(declaration)))
        assert [int(array[0][name]) for name in names] == values


@pytest.fixture(scope="module")
def timer_bytes(golden_550: Golden) -> bytes:
    files = sorted((golden_550.untouched / "timerlog").iterdir())
    return b"".join(file.read_bytes() for file in files)


def test_every_unit_of_the_golden_timer_log_is_read(golden_550: Golden, timer_bytes: bytes) -> None:
    units = [line for line in golden_550.lines("expected-timer.jsonl") if line["type"] == "unit"]
    assert len(units) == 52
    for line in units:
        values = timer_log.UNIT_STRUCT.unpack_from(timer_bytes, line["offset"])
        assert list(values) == [line[key] for key in UNIT_KEYS]
        magic = timer_log.UnitMagic(values[2])
        assert [bit.name for bit in magic] == line["magicNames"].split()
        assert not values[2] & ~timer_log.MAGIC_MASK


def test_the_golden_timer_logs_blank_is_the_one_made_here(golden_550: Golden, timer_bytes: bytes) -> None:
    (line,) = [line for line in golden_550.lines("expected-timer.jsonl") if line["type"] == "blank"]
    at = line["offset"]
    assert timer_bytes[at : at + timer_log.BLANK_SIZE] == timer_log.blank(line["size"])
    assert timer_log.BLANK_STRUCT.unpack_from(timer_bytes, at) == (line["size"], line["prevPos"], BLANK_MAGIC)


def test_every_slot_of_the_golden_wheel_is_read(golden_550: Golden) -> None:
    wheel: Path = golden_550.untouched / "timerwheel"
    assert wheel.stat().st_size == timer_wheel.FILE_SIZE
    slots = [line for line in golden_550.lines("expected-timer.jsonl") if line["type"] == "slot"]
    assert len(slots) == 16
    with wheel.open("rb") as file:
        for line in slots:
            number = timer_wheel.slot_number(line["timeMs"] // 1000)
            assert (number, number * timer_wheel.SLOT_SIZE) == (line["index"], line["byteOffset"])
            file.seek(line["byteOffset"])
            time, *others = timer_wheel.SLOT_STRUCT.unpack(file.read(timer_wheel.SLOT_SIZE))
            assert [time * 1000, *others] == [line[key] for key in ("timeMs", "firstPos", "lastPos", "num", "magic")]


def test_the_golden_timercheck_is_read(golden_550: Golden) -> None:
    (line,) = [line for line in golden_550.lines("expected-timer.jsonl") if line["type"] == "checkpoint"]
    data = (golden_550.untouched / line["file"]).read_bytes()
    assert len(data) == timer_check.FILE_SIZE
    assert list(timer_check.CHECK_STRUCT.unpack_from(data)) == [line[key] for key in CHECK_KEYS]
    assert not any(data[timer_check.CHECK_STRUCT.size :])


def test_a_slots_units_are_chained_from_the_last_to_the_first(golden_550: Golden, timer_bytes: bytes) -> None:
    for line in golden_550.lines("expected-timer.jsonl"):
        if line["type"] != "slot":
            continue
        position, seen = line["lastPos"], []
        while position != timer_log.NO_UNIT:
            seen.append(position)
            unit = dict(
                zip(positions(timer_log.UNIT), timer_log.UNIT_STRUCT.unpack_from(timer_bytes, position), strict=True)
            )
            assert unit["write_time"] + unit["delay"] == line["timeMs"]
            position = unit["previous"]
        assert seen[-1] == line["firstPos"]


def test_a_blank_is_refused_what_no_field_holds() -> None:
    with pytest.raises(struct.error):
        timer_log.blank(1 << 31)
