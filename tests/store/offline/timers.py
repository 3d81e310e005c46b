"""A small store in which messages wait for their time, made step by step as the timer does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rocketwire.store.timer.timer_index import TimerIndex
from rocketwire.store.timer.units import TimerRecord
from rocketwire.wire.java import string_hash
from rocketwire.wire.names import TIMER_TOPIC
from tests.store.offline.support import Quick
from tests.store.support import START, Clock, draft, kill, open_store, small

NOW = START - START % 1000


class Timers:
    """The store of `made`: `add` stores a timer record, and gives it a unit, unless `unit` is false."""

    def __init__(self, root: Path, **changes: Any) -> None:
        self.clock = Clock(NOW)
        settings = small(root, commit_log_file_size=65536, timer_log_file_size=2600, **changes)
        self.store = open_store(settings, self.clock, Quick())
        self.index = TimerIndex.open(settings, self.store, Quick(), now=NOW)
        assert list(self.index.recovery()) == []
        self.numbers = 0

    def add(
        self,
        out: int,
        *,
        topic: str = "T",
        key: str | None = None,
        cancels: str | None = None,
        rolls: int = 0,
        unit: bool = True,
    ) -> int:
        """Physical offset of the record of a message due by `out`; the position of its unit is `last`."""
        number = self.numbers
        self.numbers += 1
        key = key or f"U{number:07d}"
        items = {"UNIQ_KEY": key, "TAGS": "tag", "KEYS": f"k{number} all", "TIMER_OUT_MS": out}
        items |= {"REAL_TOPIC": topic, "REAL_QID": number % 2}
        items |= {"TIMER_DEL_UNIQKEY": cancels} if cancels else {}
        items |= {"TIMER_ROLL_TIMES": rolls} if rolls else {}
        text = "\x02".join(f"{name}\x01{value}" for name, value in items.items())
        said: dict[str, Any] = {"tags_code": string_hash("tag"), "unique_key": key, "keys": f"k{number} all"}
        (done,) = self.store.append([draft(number, topic=TIMER_TOPIC, properties=text.encode(), **said)])
        if unit:
            waiting = TimerRecord(out, done.physical_offset, done.size, string_hash(topic), cancels is not None)
            ((self.last, _),) = self.index.put([waiting], self.clock.now)
            self.index.queue_offset += 1
        return done.physical_offset

    def copy(self, place: int, *, out: int, key: str, topic: str = "T") -> int:
        """Physical offset of the copy of the record at a place."""
        text = f"UNIQ_KEY\x01{key}\x02TIMER_OUT_MS\x01{out}\x02REAL_TOPIC\x01{topic}\x02REAL_QID\x010"
        text += f"\x02TIMER_DEQUEUE_MS\x01{self.clock.now}"
        said: dict[str, Any] = {"tags_code": 0, "unique_key": key, "prepared_offset": place}
        (done,) = self.store.append([draft(0, topic=topic, properties=text.encode(), **said)])
        return done.physical_offset

    def save(self) -> None:
        """Write timercheck, as it is done each second."""
        snapshot = self.index.snapshot()
        assert snapshot is not None
        self.index.save(snapshot)


@contextmanager
def made(root: Path, **changes: Any) -> Iterator[Timers]:
    """The store, open; at the end it is in the state after a kill."""
    timers = Timers(root, **changes)
    try:
        yield timers
    finally:
        timers.index.log.close()
        timers.index.wheel.unmap()
        kill(timers.store)
