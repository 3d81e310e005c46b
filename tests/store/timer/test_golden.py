"""The timer files that a real 5.5.0 broker wrote: they are read, and the same units make the same bytes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rocketwire.store.disk.files import FileSystem
from rocketwire.store.layout.timer_log import UNIT_SIZE
from rocketwire.store.layout.timer_wheel import SLOT_COUNT
from rocketwire.store.settings import StoreSettings
from rocketwire.store.store import MessageStore
from rocketwire.store.timer.timer_index import TimerIndex
from rocketwire.store.timer.units import TimerRecord
from tests.store.support import HOST, Clock, Golden

WINDOW = 30
#: When the broker stopped.
STOPPED = 1_795_252_066_097
PENDING = 1_795_252_078_000


@pytest.fixture(scope="module")
def lines(golden_550: Golden) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for line in golden_550.lines("expected-timer.jsonl"):
        found.setdefault(line["type"], []).append(line)
    return found


def settings_of(golden: Golden, root: Path) -> StoreSettings:
    return replace(golden.settings(root), timer_log_file_size=2600, timer_roll_window=WINDOW)


def opened(settings: StoreSettings, now: int = STOPPED) -> tuple[MessageStore, TimerIndex]:
    files = FileSystem()
    store = MessageStore.open(settings, clock=Clock(now), store_host=HOST, files=files)
    index = TimerIndex.open(settings, store, files, now=now)
    for _ in index.recovery():
        pass
    return store, index


def units_of(index: TimerIndex) -> list[list[int]]:
    found = []
    for segment in index.log.segments:
        for number in range(index.log.units_a_file):
            unit = index.log.unit(segment.start + number * UNIT_SIZE)
            if unit is not None:
                found.append(list(unit))
    return found


def slots_of(index: TimerIndex) -> list[list[int]]:
    slots = (index.wheel.at(number) for number in range(SLOT_COUNT))
    return [list(slot) for slot in slots if slot is not None]


UNIT_KEYS = [
    "offset",
    "prevPos",
    "magic",
    "currWriteTime",
    "delayedTime",
    "offsetPy",
    "sizePy",
    "topicHash",
    "reserved",
]


def test_the_golden_store_is_opened_as_it_is(
    golden_550: Golden, lines: dict[str, list[dict[str, Any]]], tmp_path: Path
) -> None:
    root = golden_550.copy(tmp_path)
    store, index = opened(settings_of(golden_550, root))
    (check,) = lines["checkpoint"]
    assert index.queue_offset == check["lastTimerQueueOffset"]
    assert index.log.end == check["lastTimerLogFlushPos"]
    waiting = [line for line in lines["unit"] if line["slotTime"] == PENDING]
    # Of those that Apache had done it does not say so: we do.
    expected = [[line[key] for key in UNIT_KEYS] for line in lines["unit"]]
    for row, line in zip(expected, lines["unit"], strict=True):
        row[-1] = 0 if line["slotTime"] == PENDING else -1
    assert units_of(index) == expected
    keys = ("firstPos", "lastPos", "num", "magic")
    assert slots_of(index) == [[line["timeMs"] // 1000, *(line[key] for key in keys)] for line in lines["slot"]]
    assert [unit.position for unit in index.waiting_in(PENDING)] == [line["offset"] for line in reversed(waiting)]
    assert index.next_slot(index.read_time, index.read_time + WINDOW * 1000) == PENDING
    assert index.next_slot(PENDING + 1, PENDING + 7 * 86_400_000) is None
    messages = [line["topicHash"] for line in waiting if "DELETE" not in line["magicNames"]]
    assert (len(waiting), index.pending, index.stale, list(index.already)) == (5, 4, 0, [])
    assert index.pending_by_hash == Counter(messages)
    index.close()
    store.close()


def test_the_same_units_make_the_same_bytes(
    golden_550: Golden, lines: dict[str, list[dict[str, Any]]], tmp_path: Path
) -> None:
    settings = settings_of(golden_550, tmp_path)
    store, index = opened(settings, lines["unit"][0]["currWriteTime"])
    for line in lines["unit"]:
        out = int(line["message.TIMER_OUT_MS"])
        waiting = TimerRecord(
            out, line["offsetPy"], line["sizePy"], line["topicHash"], cancels="DELETE" in line["magicNames"]
        )
        assert index.put([waiting], line["currWriteTime"]) == [(line["offset"], line["slotTime"])]
    for name in ("00000000000000000000", "00000000000000002600"):
        written = (tmp_path / "timerlog" / name).read_bytes()
        assert written == (golden_550.untouched / "timerlog" / name).read_bytes()
    assert (tmp_path / "timerwheel").read_bytes() == (golden_550.untouched / "timerwheel").read_bytes()
    index.close()
    store.close()
