"""Delayed messages: delivery times, order and content; and exactly once though the broker is killed meanwhile."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from compat_tests.endpoints import TARGETS
from compat_tests.remoting import Connection
from compat_tests.store_traffic import SCHEDULE, Delayed, create_topic, send_many_delayed
from compat_tests.store_view import Queue, messages_in
from compat_tests.stored import Stored
from rocketwire.compat.brokers.endpoint import Endpoint, running
from rocketwire.compat.clients.client import Client, events
from rocketwire.compat.messages import Event, Outgoing

LEVELS: Final = {1: 1000, 2: 2000, 3: 1000, 18: 3000}  # of `swift`, ms
LATE: Final = 10_000  # ms that a message may be late, on a machine that does much else
WITHIN: Final = 120.0  # seconds
KILLS: Final = 2
AT_ONCE: Final = 400
QUEUE: Final = 0


def lateness(event: Event, level: int) -> int:
    """How long after it was due a message was delivered, by the times that its records tell."""
    return int(event["storeTimestamp"] - event["bornTimestamp"] - LEVELS[level])


def test_each_level_on_time_and_in_order(swift_client: Client, unique: Callable[[str], str], group: str) -> None:
    """Under load: in its time, each level in the order it was sent; tag, keys and level are kept.

    How punctual rocketwire is, its unit tests say, by a clock of their own.
    """
    topic, busy = unique("Delayed"), unique("Busy")
    for name in (topic, busy):
        swift_client.run("CreateTopic", topic=name, queues=1)
    levels = [1, 2, 3, 18, 99, 0, -1] * 5
    messages = [
        Outgoing(body=f"{level}:{number}", tags=f"Tag{level}", keys=f"key{number}", delay=level)
        for number, level in enumerate(levels)
    ]
    got = swift_client.run(
        "PushDelayed", topic=topic, busy=busy, group=group, message=messages, count=len(messages), settle=1200
    )
    received = events(got, "received")
    assert sorted(event["text"] for event in received) == sorted(message.body for message in messages)
    (load,) = events(got, "busy")
    assert load["sent"] > 100
    for event in received:
        level = int(event["text"].partition(":")[0])
        assert (event["tags"], event["keys"]) == (f"Tag{level}", f"key{event['text'].partition(':')[2]}")
        if level > 0:
            assert -5 <= lateness(event, min(level, 18)) <= LATE, event
            assert event["properties"]["REAL_TOPIC"] == topic
            assert event["properties"]["DELAY"] == str(min(level, 18))
        else:
            assert event["storeTimestamp"] - event["bornTimestamp"] < LATE
    in_queue = sorted(received, key=lambda event: event["queueOffset"])
    for of_level in ({1}, {2}, {3}, {18, 99}):
        numbers = [int(e["text"].partition(":")[2]) for e in in_queue if int(e["text"].partition(":")[0]) in of_level]
        assert numbers == sorted(numbers)
    found = swift_client.only("by key", "Query", topic=topic, key=["key0", "key3", "key4"])
    assert [event["text"] for event in found] == ["1:0", "18:3", "99:4"]
    assert {event["topic"] for event in found} == {topic}


def test_a_filter_by_tag_sees_delayed_messages(swift_client: Client, unique: Callable[[str], str], group: str) -> None:
    topic = unique("Delayed")
    swift_client.run("CreateTopic", topic=topic, queues=2)
    messages = [Outgoing(body=str(number), tags="AB"[number % 2], delay=1) for number in range(10)]
    swift_client.run("SendSync", topic=topic, message=messages)
    received = swift_client.only("received", "PushConcurrent", topic=topic, group=group, expression="B", count=5)
    assert sorted(event["text"] for event in received) == ["1", "3", "5", "7", "9"]


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
        waiting = [key for level in (0, 1) for key in keys_in(endpoint, (SCHEDULE, level))]
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
