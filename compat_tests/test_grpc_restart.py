"""Clients of 5.x go on when their endpoint stops or is killed under load, and starts again: no message is lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from compat_tests.endpoints import GRPC_TARGETS, Rocketwire
from compat_tests.proxied import APACHE_5, Proxied
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
_BETWEEN = 1.0  # seconds from the restart of a proxy to its end

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
    access = Access(namesrv=endpoint.namesrv, grpc=endpoint.grpc)
    _account_of_all(access, lambda: again(endpoint), two_processes)


@pytest.mark.usefixtures("only_rocketwire")
def test_nothing_is_lost_while_a_proxy_is_restarted_and_killed(
    tmp_path: Path, two_processes: tuple[Clients, Clients]
) -> None:
    """It stands in front of two brokers of Apache's."""
    with running(Proxied(tmp_path, kind=APACHE_5)) as proxied:

        def again() -> None:
            proxied.restart()
            time.sleep(_BETWEEN)
            proxied.proxy.kill()
            proxied.proxy.start()

        access = Access(namesrv=proxied.namesrv, grpc=proxied.namesrv)  # the one port serves both
        _account_of_all(access, again, two_processes)


def _account_of_all(access: Access, again: Callable[[], None], two_processes: tuple[Clients, Clients]) -> None:
    """Send and consume while something is done to the endpoint: what was sent is received."""
    facts = probe(access)
    always = {"endpoints": access.grpc}
    producer, consumer = (
        Client(clients=each, id=_CLIENT, namesrv=access.namesrv, always=always) for each in two_processes
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
        again()
        load.join()
        assert set(sent) == set(bodies)  # each was taken in the end
        end = time.monotonic() + _WITHIN
        while received != set(bodies) and time.monotonic() < end:
            received |= {event["text"] for event in listening.taken(1, settle=500)}
    assert received == set(bodies)
