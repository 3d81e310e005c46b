"""Clients of 5.x go on when their endpoint stops or is killed under load, and starts again: no message is lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from compat_tests.endpoints import GRPC_TARGETS, Rocketwire
from rocketwire.compat.brokers.endpoint import ApacheProxy, running
from rocketwire.compat.case import Case
from rocketwire.compat.clients.adapter import Engine
from rocketwire.compat.clients.client import Client, Clients
from rocketwire.compat.clients.registry import adapters
from rocketwire.compat.endpoint import Access
from rocketwire.compat.engine.pool import Pool
from rocketwire.compat.engine.probe import probe
from rocketwire.compat.messages import Event, Outgoing
from rocketwire.compat.sdk import push

_CLIENT = "java-grpc-5.2.0"
_MESSAGES = 400
_PAUSE = 10  # ms
_BEFORE = 50  # messages that are sent before the endpoint stops
_WITHIN = 120.0  # seconds

Endpoint = Rocketwire | ApacheProxy


def _stop_cleanly(endpoint: Endpoint) -> None:
    endpoint.restart()


def _kill(endpoint: Endpoint) -> None:
    endpoint.kill()
    endpoint.start()


@pytest.fixture
def own_grpc_endpoint(target: str, tmp_path: Path) -> Iterator[Endpoint]:
    if target not in GRPC_TARGETS:
        pytest.skip(f"{target} has nothing for clients of 5.x")
    with running(GRPC_TARGETS[target](tmp_path / "endpoint")) as started:
        yield started


@pytest.fixture
def two_processes() -> Iterator[tuple[Clients, Clients]]:
    """One for a producer and one for a consumer: each runs one program at a time."""
    adapters()[_CLIENT].prepare(Engine.HOST)
    pool = Pool(Engine.HOST, adapters())
    with Clients(pool) as one, Clients(pool) as two:
        yield one, two


@pytest.mark.parametrize("again", [_stop_cleanly, _kill])
def test_nothing_is_lost(
    again: Callable[[Endpoint], None], own_grpc_endpoint: Endpoint, two_processes: tuple[Clients, Clients]
) -> None:
    endpoint = own_grpc_endpoint
    facts = probe(Access(namesrv=endpoint.namesrv, grpc=endpoint.grpc))
    always = {"endpoints": endpoint.grpc}
    producer, consumer = (
        Client(clients=each, id=_CLIENT, namesrv=endpoint.namesrv, always=always) for each in two_processes
    )
    case = Case(client=consumer, offered=adapters()[_CLIENT].programs, helper=None, endpoint=facts, prefix="restart")
    topic, group = case.topic(4, kind="NORMAL"), case.consumers()
    bodies = [f"message {number}" for number in range(_MESSAGES)]
    sent: list[str] = []
    enough = threading.Event()

    def watch(event: Event) -> None:
        if event["event"] == "sent":
            sent.append(event["text"])
        if len(sent) == _BEFORE:
            enough.set()

    def publish() -> None:
        messages = [Outgoing(body=body) for body in bodies]
        producer.run("Publish", topic=topic, message=messages, pause=_PAUSE, again=1, watch=watch)

    with push(case, topic, group) as listening:
        received = {event["text"] for event in listening.taken(0, settle=3000)}  # until it has been told its queues
        load = threading.Thread(target=publish)
        load.start()
        assert enough.wait(_WITHIN)
        again(endpoint)
        load.join()
        assert set(sent) == set(bodies)  # each was taken in the end
        end = time.monotonic() + _WITHIN
        while received != set(bodies) and time.monotonic() < end:
            received |= {event["text"] for event in listening.taken(1, settle=500)}
    assert received == set(bodies)
