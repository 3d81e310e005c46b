from __future__ import annotations

import time

from rocketwire.server.clock import system_clock


def test_the_clock_tells_milliseconds_since_1970() -> None:
    before = time.time()
    now = system_clock()
    assert isinstance(now, int)
    assert before * 1000 - 1 <= now <= time.time() * 1000
