"""kill -9 while delayed and timed messages are sent and delivered: what was acknowledged comes once, when it is due."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from compat_tests.endpoints import TARGETS
from compat_tests.remoting import Connection
from compat_tests.store_traffic import create_topic, send_many_delayed, send_timed
from compat_tests.store_view import Queue, messages_in
from compat_tests.stored import Stored
from compat_tests.waiting import wait_until
from rocketwire.compat.brokers.endpoint import Endpoint, running
from rocketwire.wire.names import SCHEDULE_TOPIC

TOPIC: Final = "Delivered"
KILLS: Final = 2
AT_ONCE: Final = 200
SPREAD: Final = 2000  # ms over which times are spread, from 1 s on
WITHIN: Final = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A way to have messages delivered later.

    Attributes:
        send: Sends `AT_ONCE` messages whose keys begin with a name; the keys of those that were acknowledged.
        waiting: The queues where messages wait.
        settings: Of the broker.
    """

    send: Callable[[Connection, str], list[str]]
    waiting: tuple[Queue, ...]
    settings: Mapping[str, str]


def send_delayed(connection: Connection, name: str) -> list[str]:
    return [each.unique_key for each in send_many_delayed(connection, TOPIC, name, levels=(1, 2), count=AT_ONCE)]


def send_with_times(connection: Connection, name: str) -> list[str]:
    start = time.time_ns() // 1_000_000 + 1000
    due = {f"{name}-{i}": start + i * SPREAD // AT_ONCE for i in range(AT_ONCE)}
    answers = send_timed(connection, TOPIC, {key: {"TIMER_DELIVER_MS": str(at)} for key, at in due.items()})
    return [key for key, answer in zip(due, answers, strict=True) if answer.code == 0]


KINDS: Final = {
    "levels": Kind(
        send=send_delayed,
        waiting=((SCHEDULE_TOPIC, 0), (SCHEDULE_TOPIC, 1)),
        settings={"messageDelayLevel": "1s 2s"},
    ),
    # Times of 2 s and more roll.
    "times": Kind(
        send=send_with_times,
        waiting=(("rmq_sys_wheel_timer", 0),),
        settings={"timerRollWindowSlot": "2", "mappedFileSizeTimerLog": str(400 * 52 + 16)},
    ),
}


def keep_sending(endpoint: Endpoint, kind: Kind, name: str) -> list[str]:
    """Send messages, many at a time, until the broker has ended: the keys of those that it acknowledged."""
    acknowledged: list[str] = []
    try:
        with Connection(endpoint.broker) as connection:
            for number in range(1000):
                acknowledged += kind.send(connection, f"{name}-{number}")
                time.sleep(0.05)
    except OSError:
        pass
    return acknowledged


def stored_in(endpoint: Endpoint, *queues: Queue) -> list[Stored]:
    """What queues have."""
    with Connection(endpoint.broker) as connection:
        return [message for queue in queues for message in messages_in(connection, queue)]


def keys_in(endpoint: Endpoint, *queues: Queue) -> list[str]:
    return [message.unique_key for message in stored_in(endpoint, *queues)]


def wait_for_some(endpoint: Endpoint, mark: str) -> None:
    """Return once messages whose keys begin so have been delivered."""
    wait_until(lambda: any(key.startswith(mark) for key in keys_in(endpoint, (TOPIC, 0))))


@pytest.mark.parametrize("name", KINDS)
def test_each_message_is_delivered_once_though_the_broker_is_killed(target: str, tmp_path: Path, name: str) -> None:
    """Apache's broker may deliver some twice: those that it delivered since it wrote down how far it got."""
    if (target, name) == ("apache-4.9.7", "times"):
        pytest.skip("Apache's broker has timers since 5.0")
    kind = KINDS[name]
    sent: list[str] = []
    with running(TARGETS[target](tmp_path, settings=kind.settings)) as endpoint:
        with Connection(endpoint.broker) as connection:
            create_topic(connection, TOPIC, 1)
        for number in range(KILLS):
            with ThreadPoolExecutor(1) as pool:
                producer = pool.submit(keep_sending, endpoint, kind, str(number))
                wait_for_some(endpoint, f"{number}-")
                time.sleep(1 + time.time_ns() % 1_000_000 / 1e6)  # level 2 is due, times roll; no moment like another
                endpoint.kill()
                sent += producer.result(WITHIN)
            endpoint.start()
        waiting = keys_in(endpoint, *kind.waiting)
        wait_until(lambda: set(waiting) <= set(keys_in(endpoint, (TOPIC, 0))))  # also what was not acknowledged
        time.sleep(0.5)
        found = stored_in(endpoint, (TOPIC, 0))
    assert len(sent) >= KILLS * AT_ONCE
    times = Counter(message.unique_key for message in found)
    assert set(sent) <= set(waiting) == times.keys()
    twice = [key for key, count in times.items() if count > 1]
    assert not twice or target.startswith("apache"), f"{len(twice)} of {len(times)} came twice: {twice[:3]}"
    early = [each for each in found if each.store_timestamp < int(each.properties.get("TIMER_DELIVER_MS", "0"))]
    assert not early, f"{len(early)} came too early, as {early[0].properties}"
    if name == "levels":
        for level in (1, 2):
            in_order = [key for key in waiting if key.endswith(f"-{level}")]
            assert [key for key in times if key.endswith(f"-{level}")] == in_order
