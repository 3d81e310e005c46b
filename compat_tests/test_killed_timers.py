"""kill -9 while messages with a time are sent and delivered: what was acknowledged comes once, and not too early."""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pytest

from compat_tests.endpoints import TARGETS
from compat_tests.remoting import Connection
from compat_tests.store_traffic import create_topic, send_timed
from compat_tests.store_view import messages_in
from compat_tests.stored import Stored
from rocketwire.compat.brokers.endpoint import Endpoint, running

TOPIC: Final = "Timed"
WHEEL: Final = "rmq_sys_wheel_timer"
KILLS: Final = 2
AT_ONCE: Final = 200
SPREAD: Final = 2000  # ms over which the times are spread, from 1 s on
WITHIN: Final = 120.0


def keep_sending(endpoint: Endpoint, name: str) -> list[str]:
    """Send messages with times, many at a time, until the broker is gone: the keys of those that it acknowledged."""
    acknowledged: list[str] = []
    try:
        with Connection(endpoint.broker) as connection:
            for number in range(1000):
                start = time.time_ns() // 1_000_000 + 1000
                due = {f"{name}-{number}-{i}": start + i * SPREAD // AT_ONCE for i in range(AT_ONCE)}
                messages = {key: {"TIMER_DELIVER_MS": str(at)} for key, at in due.items()}
                answers = send_timed(connection, TOPIC, messages)
                acknowledged += [key for key, answer in zip(due, answers, strict=True) if answer.code == 0]
                time.sleep(0.05)
    except OSError:
        pass
    return acknowledged


def stored_in(endpoint: Endpoint, topic: str) -> list[Stored]:
    """What a topic's first queue has."""
    with Connection(endpoint.broker) as connection:
        return list(messages_in(connection, (topic, 0)))


def wait_for_some(endpoint: Endpoint, name: str) -> None:
    """Return once messages with such names have been delivered."""
    end = time.monotonic() + WITHIN
    while not any(message.unique_key.startswith(f"{name}-") for message in stored_in(endpoint, TOPIC)):
        assert time.monotonic() < end, f"nothing of {name} was delivered"
        time.sleep(0.05)


def test_once_each_though_the_broker_is_killed(target: str, tmp_path: Path) -> None:
    """Times of 2 s and more roll. Apache's broker delivers again what it did since it wrote down how far it got."""
    if target == "apache-4.9.7":
        pytest.skip("Apache's broker has timers since 5.0")
    settings = {"timerRollWindowSlot": "2", "mappedFileSizeTimerLog": str(400 * 52 + 16)}
    sent: list[str] = []
    with running(TARGETS[target](tmp_path, settings=settings)) as endpoint:
        with Connection(endpoint.broker) as connection:
            create_topic(connection, TOPIC, 1)
        for number in range(KILLS):
            with ThreadPoolExecutor(1) as pool:
                producer = pool.submit(keep_sending, endpoint, str(number))
                wait_for_some(endpoint, str(number))
                time.sleep(1 + time.time_ns() % 1_000_000 / 1e6)  # some roll; no moment like another
                endpoint.kill()
                sent += producer.result(WITHIN)
            endpoint.start()
        end = time.monotonic() + WITHIN
        waited = {message.unique_key for message in stored_in(endpoint, WHEEL)}
        while missing := waited - {message.unique_key for message in stored_in(endpoint, TOPIC)}:
            assert time.monotonic() < end, f"{len(missing)} of {len(waited)} are lost: {sorted(missing)[:3]}"
            time.sleep(0.2)
        time.sleep(0.5)
        found = stored_in(endpoint, TOPIC)
    assert len(sent) >= KILLS * AT_ONCE
    times = Counter(message.unique_key for message in found)
    assert set(sent) <= waited == times.keys()  # also what was stored and not acknowledged
    twice = [key for key, count in times.items() if count > 1]
    assert not twice or target.startswith("apache"), f"{len(twice)} of {len(times)} came twice: {twice[:3]}"
    early = [each for each in found if each.store_timestamp < int(each.properties["TIMER_DELIVER_MS"])]
    assert not early, f"{len(early)} came too early, as {early[0].properties}"
