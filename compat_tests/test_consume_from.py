"""Where new groups begin: at the first message, at the last or at a time, as the client decides."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from compat_tests.endpoints import TARGETS
from rocketwire.compat.brokers.endpoint import Endpoint, running
from rocketwire.compat.clients.client import Client, Clients, events
from rocketwire.compat.messages import Event

EARLY, LATE, NEW = (
    {f"{when} {queue} {number}" for queue in (0, 1) for number in (0, 1)} for when in ("early", "late", "new")
)
EVERYTHING = EARLY | LATE | NEW


@pytest.fixture(scope="module")
def old_queues(target: str) -> Iterator[Endpoint]:
    """An endpoint that treats every message as old, that is, no longer in memory."""
    settings = {"accessMessageInMemoryMaxRatio": "0"}
    folder = tempfile.TemporaryDirectory(prefix="compat-")
    with folder as name, running(TARGETS[target](Path(name), settings=settings)) as started:
        yield started


def begun(client: Client, unique: Callable[[str], str], *wanted: set[str]) -> list[set[str]]:
    """What new groups got from the first message, from the last and from a time on; each message once."""
    names = ("FIRST_OFFSET", "LAST_OFFSET", "TIMESTAMP")
    topic = unique("Begun")
    client.run("CreateTopic", topic=topic, queues=2)
    counts = {name: len(messages) for name, messages in zip(names, wanted, strict=True)}
    got = events(client.run("ConsumeFrom", counts, topic=topic, group=unique("new")), "received")
    return [once([event for event in got if event["by"] == name]) for name in names]


def once(received: list[Event]) -> set[str]:
    bodies = [event["text"] for event in received]
    assert len(bodies) == len(set(bodies))
    return set(bodies)


def test_on_an_old_queue_the_client_decides(
    clients: Clients, old_queues: Endpoint, version: str, unique: Callable[[str], str]
) -> None:
    client = Client(clients=clients, id=f"java-{version}", namesrv=old_queues.namesrv)
    wanted = [EVERYTHING, NEW, LATE | NEW]
    assert begun(client, unique, *wanted) == wanted


@pytest.mark.parametrize("version", ["4.9.7"])
def test_on_a_young_queue_everybody_gets_everything(client: Client, unique: Callable[[str], str]) -> None:
    """The broker answers a new group with offset 0 while the queue's first message counts as in memory."""
    wanted = [EVERYTHING] * 3
    assert begun(client, unique, *wanted) == wanted
