"""The delay of redeliveries, by a real clock: each pop has another time, at a steady rate."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.facts.properties import FIRST_POP_TIME
from rocketwire.wire.properties import decode_stored_properties
from tests.server.harness import send_ext, topic_ext
from tests.server.pop.test_killed import pop
from tests.server.processes import Caller, process

INVISIBLE = 3000
MESSAGES = 800
AT_ONCE = 4
SECONDS = 2.0


@pytest.mark.slow
def test_messages_are_redelivered_at_most_100_ms_late(tmp_path: Path) -> None:
    with process(tmp_path / "store") as server, Caller(server.broker) as caller:
        assert caller.request(RequestCode.UPDATE_AND_CREATE_TOPIC, topic_ext("T", 4)).header.code == 0
        for number in range(MESSAGES):
            assert (
                caller.request(RequestCode.SEND_MESSAGE_V2, send_ext("T", queue_id=number % 4), b"x").header.code == 0
            )
        began = time.monotonic()
        for number in range(0, MESSAGES, AT_ONCE):
            time.sleep(max(0.0, began + SECONDS * number / MESSAGES - time.monotonic()))
            assert len(pop(caller, INVISIBLE, max_msg_nums=AT_ONCE)) == AT_ONCE
        late: list[int] = []
        while len(late) < MESSAGES and time.monotonic() < began + 60:
            found = pop(caller, 60_000, max_msg_nums=32)
            if not found:
                time.sleep(0.05)
            for got in found:
                first = int(decode_stored_properties(got.message.properties)[FIRST_POP_TIME])
                late.append(got.message.store_timestamp - first - INVISIBLE)
    assert len(late) == MESSAGES
    late.sort()
    assert late[0] >= 0
    assert late[MESSAGES * 99 // 100] <= 100, late[-20:]
