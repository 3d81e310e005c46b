"""Delayed messages: delivery times, order and content; and exactly once though the broker is killed meanwhile."""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from compat_tests.endpoints import TARGETS
from compat_tests.remoting import Connection
from compat_tests.store_traffic import Delayed, create_topic, send_many_delayed
from compat_tests.store_view import Queue, messages_in
from compat_tests.stored import Stored
from rocketwire.compat.brokers.endpoint import Endpoint, running
from rocketwire.wire.names import SCHEDULE_TOPIC

LEVELS: Final = {1: 1000, 2: 2000, 3: 1000, 18: 3000}  # of `swift`, ms
LATE: Final = 10_000  # ms that a message may be late, on a machine that does much else
WITHIN: Final = 120.0  # seconds
KILLS: Final = 2
AT_ONCE: Final = 400
QUEUE: Final = 0


def delivered(endpoint: Endpoint, queue: Queue) -> list[Stored]:
    """What a queue has."""
    with Connection(endpoint.broker) as connection:
        return list(messages_in(connection, queue))


def keep_sending(endpoint: Endpoint, topic: str, name: str) -> list[Delayed]:
    """Send delayed messages, many at a time, until the broker is gone: those that it acknowledged."""
    acknowledged: list[Delayed] = []
    try:
        with Connection(endpoint.broker) as connection:
            for number in range(1000):
                acknowledged += send_many_delayed(connection, topic, f"{name}-{number}", levels=(1, 2), count=AT_ONCE)
                time.sleep(0.05)
    except OSError:
        pass
    return acknowledged


def keys_in(endpoint: Endpoint, queue: Queue) -> list[str]:
    """The unique keys of what a queue has."""
    return [message.unique_key for message in delivered(endpoint, queue)]


def wait_for_both_levels(endpoint: Endpoint, topic: str, name: str) -> None:
    """Return once messages of both levels with such names have been delivered."""
    end = time.monotonic() + WITHIN
    levels: set[str] = set()
    while levels < {"1", "2"}:
        assert time.monotonic() < end, f"levels {levels} of {name} were delivered"
        time.sleep(0.05)
        levels = {key[-1] for key in keys_in(endpoint, (topic, QUEUE)) if key.startswith(f"{name}-")}


def test_once_each_though_the_broker_is_killed(target: str, tmp_path: Path) -> None:
    """Apache's broker may deliver some twice: it writes down every ten seconds how far it got."""
    topic = "Delayed"
    sent: list[Delayed] = []
    with running(TARGETS[target](tmp_path, settings={"messageDelayLevel": "1s 2s"})) as endpoint:
        with Connection(endpoint.broker) as connection:
            create_topic(connection, topic, 1)
        for number in range(KILLS):
            with ThreadPoolExecutor(1) as pool:
                producer = pool.submit(keep_sending, endpoint, topic, str(number))
                wait_for_both_levels(endpoint, topic, str(number))
                endpoint.kill()
                sent += producer.result(WITHIN)
            endpoint.start()
        end = time.monotonic() + WITHIN
        waiting = [key for level in (0, 1) for key in keys_in(endpoint, (SCHEDULE_TOPIC, level))]
        while missing := set(waiting) - set(keys_in(endpoint, (topic, QUEUE))):  # also what was not acknowledged
            assert time.monotonic() < end, f"{len(missing)} of {len(waiting)} are lost"
            time.sleep(0.2)
        time.sleep(0.5)
        found = keys_in(endpoint, (topic, QUEUE))
    assert len(sent) >= AT_ONCE
    assert {message.unique_key for message in sent} <= set(waiting)
    assert set(found) == set(waiting)
    twice = [key for key, times in Counter(found).items() if times > 1]
    assert not twice or target.startswith("apache"), f"{len(twice)} of {len(found)} came twice: {twice[:3]}"
    for level in (1, 2):
        in_order = [key for key in waiting if key.endswith(f"-{level}")]
        assert [key for key in dict.fromkeys(found) if key.endswith(f"-{level}")] == in_order
