"""The copies that another broker stored before it was killed are read in short steps, once."""

from __future__ import annotations

import itertools
import time
from pathlib import Path

from rocketwire.server.messages.stored_message import stored_message
from rocketwire.server.pop.reviving.redelivered_index import RedeliveredIndex
from rocketwire.store.append.drafts import Draft
from rocketwire.wire.pop_records import CheckPoint
from tests.server.pop.reviving.test_reviver import RETRY, filled
from tests.server.timer.support import HOST

_COPIES = 1000
_STEP_SECONDS = 0.004
"""A step takes some 0.0003 s of processor time; all at once take 0.01."""


def _point(due: int) -> CheckPoint:
    return CheckPoint(
        topic="T",
        group="G",
        queue_id=0,
        start_offset=0,
        offset_differences=(0,),
        pop_time=due - 1000,
        invisible_time=1000,
        broker="b",
        count=1,
    )


async def test_a_long_retry_topic_is_read_in_steps_and_once(tmp_path: Path) -> None:
    room = filled(tmp_path, count=1)
    now = room.clock.now
    room.topics.create_own_retry(RETRY, 1)
    for number in range(_COPIES - 1):
        room.store.append([Draft(RETRY, 0, b"other %d" % number, b"", 0, 0, now, HOST, reconsume_times=1)])
    room.store.append([Draft(RETRY, 0, b"m0", b"", 0, 0, now, HOST, reconsume_times=1)])
    copies, point = RedeliveredIndex(room.store, now + 1), _point(now)
    times = [time.thread_time()]
    times += [time.thread_time() for _ in copies.read(point, RETRY)]
    assert len(times) > _COPIES // 32
    assert max(after - before for before, after in itertools.pairwise(times)) < _STEP_SECONDS
    assert list(copies.read(point, RETRY)) == []  # it is indexed
    place = room.store.place(("T", 0), 0)
    record = None if place is None else room.store.record_at(place)
    assert record is not None
    message = stored_message(record)
    assert copies.was_redelivered(message, point, RETRY)
    assert not copies.was_redelivered(message, point, RETRY)  # each copy counts once
    room.stop()


async def test_after_a_clean_stop_nothing_is_read(tmp_path: Path) -> None:
    room = filled(tmp_path, count=1)
    copies = RedeliveredIndex(room.store, None)
    assert list(copies.read(_point(room.clock.now), RETRY)) == []
    room.stop()
