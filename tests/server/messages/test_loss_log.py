from __future__ import annotations

import logging
import math

import pytest

from rocketwire.server.messages.loss_log import SECONDS, LossLog


def test_the_first_loss_is_logged_at_once_and_others_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    now = 100.0
    losses = LossLog(logging.getLogger("jobs"), logging.WARNING, now=lambda: now)

    def logged() -> list[str]:
        lines = [record.getMessage() for record in caplog.records]
        caplog.clear()
        return lines

    losses.add("message 1 is lost")
    assert logged() == ["message 1 is lost"]
    assert losses.due == math.inf
    for number in range(2, 10_000):
        losses.add(f"message {number} is lost")
    losses.log_if_due()
    assert logged() == []
    assert losses.due == now + SECONDS
    now += SECONDS
    losses.log_if_due()
    assert logged() == ["9998 more, the last: message 9999 is lost"]
    losses.add("message 10000 is lost")
    assert logged() == []
    now += SECONDS
    losses.add("message 10001 is lost")
    assert logged() == ["1 more, the last: message 10000 is lost"]
    now += 2 * SECONDS
    losses.log_if_due()
    assert logged() == ["1 more, the last: message 10001 is lost"]
    now += SECONDS
    losses.add("message 10002 is lost")
    assert logged() == ["message 10002 is lost"]
