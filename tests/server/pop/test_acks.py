"""The records of acknowledgements and changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocketwire.server.core.client_errors import NotInQueue
from rocketwire.server.core.errors import GroupNotFound, MessageIllegal
from rocketwire.server.core.request import Reply
from rocketwire.wire.bodies.pop import BatchAck, encode_bit_set
from rocketwire.wire.errors import BodyInvalid, PopHandleInvalid
from rocketwire.wire.names import TIMER_TOPIC
from rocketwire.wire.pop_handle import ORDER_REVIVE_QUEUE
from tests.server.pop.requests import Got
from tests.server.pop.reviving.test_reviver import filled
from tests.server.pop.rooms import PopTimers

REMOTE = "10.0.0.1:5"


@pytest.fixture
def room(tmp_path: Path) -> PopTimers:
    return filled(tmp_path)


def batch(got: Got, **changes: object) -> BatchAck:
    handle = got.handle
    values = {
        "consumer_group": "G",
        "topic": "T",
        "retry": "0",
        "start_offset": handle.start_offset,
        "queue_id": handle.queue_id,
        "revive_queue_id": handle.revive_queue,
        "pop_time": handle.pop_time,
        "invisible_time": handle.invisible_time,
        "bit_set": encode_bit_set([0]),
        **changes,
    }
    return BatchAck(**values)  # type: ignore[arg-type]  # as the test says


async def test_offsets_outside_the_queue_are_skipped(room: PopTimers) -> None:
    (got, *_) = room.pop()
    before = room.store.max_offset(TIMER_TOPIC, 0)
    made = room.pops.services.acks.ack_all([batch(got, bit_set=encode_bit_set([100]))], "broker-a", REMOTE)
    assert not hasattr(made, "drafts")
    assert room.store.max_offset(TIMER_TOPIC, 0) == before
    room.stop()


async def test_malformed_acknowledgements_are_refused(room: PopTimers) -> None:
    acks = room.pops.services.acks
    (got, *_) = room.pop()
    for changes, error in (
        ({"consumer_group": "Unknown"}, GroupNotFound),
        ({"queue_id": 7}, MessageIllegal),
        ({"revive_queue_id": 8}, PopHandleInvalid),
        ({"invisible_time": 10**15}, PopHandleInvalid),  # its record would wait in the timer without end
        ({"pop_time": 10**15}, PopHandleInvalid),
        ({"bit_set": "I"}, BodyInvalid),
    ):
        with pytest.raises(error):
            acks.ack_all([batch(got, **changes)], "broker-a", REMOTE)
    with pytest.raises(PopHandleInvalid):
        acks.ack_all([batch(got)], "a\x01b", REMOTE)
    for handle in (got.handle._replace(invisible_time=10**15), got.handle._replace(pop_time=10**15)):
        forged = got._replace(handle=handle)
        with pytest.raises(PopHandleInvalid):
            room.ack(forged)
        with pytest.raises(PopHandleInvalid):
            room.change(forged, 20_000)
    with pytest.raises(NotInQueue):
        acks.ack_all([], "broker-a", REMOTE)
    room.stop()


async def test_ordered_messages_are_for_the_client_that_holds_them(room: PopTimers) -> None:
    before = room.store.max_physical_offset
    first, second, *_ = room.pop(order=True)
    assert first.handle.in_order
    room.change(second, 100)
    room.ack(first)
    third = room.pops.services.acks.ack_all(
        [batch(first, revive_queue_id=ORDER_REVIVE_QUEUE, bit_set=encode_bit_set([0, 1]))], "broker-a", REMOTE
    )
    assert third == Reply()
    assert room.store.max_physical_offset == before  # nothing is stored of them
    room.stop()


async def test_a_change_within_the_ms_of_the_pop_has_a_separate_check_point(room: PopTimers) -> None:
    (got, *_) = room.pop()
    changed = room.change(got, 20_000)
    assert changed.handle.pop_time == got.handle.pop_time + 1
    with pytest.raises(MessageIllegal, match="max delay"):
        room.change(changed, 41 * 86_400_000)
    room.stop()


async def test_returning_no_messages_stores_nothing(room: PopTimers) -> None:
    before = room.store.max_physical_offset
    room.pops.services.acks.give_back([])
    assert room.store.max_physical_offset == before
    room.stop()
