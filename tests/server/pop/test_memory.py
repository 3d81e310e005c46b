"""The memory of messages in flight: while they are invisible, and when the time of all of them is over at once."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from rocketwire.wire.facts.codes import RequestCode
from tests.server.harness import send_ext
from tests.server.pop.requests import pop_ext
from tests.server.processes import Caller, Process, eventually, process

COUNT = 50_000
BYTES_EACH = 200
INVISIBLE = 8000  # ms
AT_ONCE = 1000


@pytest.mark.slow
def test_an_invisible_message_takes_few_bytes(tmp_path: Path) -> None:
    """A million took 0.1 bytes each while they were invisible, and 80 when all had been redelivered."""
    with process(tmp_path / "store") as server, Caller(server.broker) as caller:
        fill(caller)
        before = server.anonymous()
        deadline = time.monotonic() + INVISIBLE / 1000
        taken = 0
        while taken < COUNT:
            frame = caller.request(RequestCode.POP_MESSAGE, pop_ext("T", invisible_time=INVISIBLE))
            assert frame.header.code == 0
            taken += 32
        assert time.monotonic() < deadline, "too slow: some are visible again"
        assert server.anonymous() - before < COUNT * BYTES_EACH
        assert most_until_all_are_redelivered(server, caller) - before < COUNT * BYTES_EACH


def fill(caller: Caller) -> None:
    caller.create_topic("T")
    frame = caller.frame(RequestCode.SEND_MESSAGE_V2, send_ext("T"), b"x" * 100)
    for _ in range(COUNT // AT_ONCE):
        caller.write(frame * AT_ONCE)
        assert {caller.receive().header.code for _ in range(AT_ONCE)} == {0}


def most_until_all_are_redelivered(server: Process, caller: Caller) -> int:
    most = 0

    def are_all_redelivered() -> bool:
        nonlocal most
        most = max(most, server.anonymous())
        answer = caller.request(RequestCode.GET_MAX_OFFSET, {"topic": "%RETRY%G_T", "queueId": "0"})
        return answer.header.ext == {"offset": str(COUNT)}

    assert eventually(are_all_redelivered)
    return most
