from __future__ import annotations

import logging
import math

import pytest

from rocketwire.server.messages.loss_log import SECONDS, LossLog


def test_the_first_loss_is_told_at_once_and_others_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    now = 100.0
    losses = LossLog(logging.getLogger("jobs"), logging.WARNING, now=lambda: now)

    def told() -> list[str]:
        lines = [record.getMessage() for record in caplog.records]
        caplog.clear()
        return lines

    losses.note("message 1 is lost")
    assert told() == ["message 1 is lost"]
    assert losses.due == math.inf
    for number in range(2, 10_000):
        losses.note(f"message {number} is lost")
    losses.tell()
    assert told() == []
    assert losses.due == now + SECONDS
    now += SECONDS
    losses.tell()
    assert told() == ["9998 more, the last: message 9999 is lost"]
    losses.note("message 10000 is lost")
    assert told() == []
    now += SECONDS
    losses.note("message 10001 is lost")
    assert told() == ["1 more, the last: message 10000 is lost"]
    now += 2 * SECONDS
    losses.tell()
    assert told() == ["1 more, the last: message 10001 is lost"]
    now += SECONDS
    losses.note("message 10002 is lost")
    assert told() == ["message 10002 is lost"]
