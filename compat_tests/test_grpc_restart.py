"""Clients of 5.x continue when their endpoint stops or is killed under load, and starts again.

No message is lost, and none that is done is redelivered. A simple consumer knows that from the answer to each
acknowledgement. A push consumer keeps the answers for itself: what it had consumed two seconds before counts as done.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pytest

from compat_tests.endpoints import GRPC_TARGETS, Rocketwire
from compat_tests.progress import acknowledged_twice
from compat_tests.proxied import APACHE_5, OURS, Proxied, ProxyProcess
from rocketwire.compat.brokers.endpoint import ApacheProxy, running
from rocketwire.compat.brokers.ports import free_rows
from rocketwire.compat.case import Case
from rocketwire.compat.clients.adapter import Engine
from rocketwire.compat.clients.client import Client, Clients
from rocketwire.compat.clients.registry import adapters
from rocketwire.compat.endpoint import Access
from rocketwire.compat.engine.pool import Pool
from rocketwire.compat.engine.probe import probe
from rocketwire.compat.messages import Event, Outgoing
from rocketwire.compat.reader import read_topic
from rocketwire.compat.sdk import SHORTEST, push, simple

_JAVA: Final = "java-grpc-5.2.0"
_PYTHON: Final = "python-grpc-5.1.2"
_MESSAGES = 400
_PAUSE = 10  # ms
_BEFORE = 50  # messages that are sent before the endpoint stops
_WITHIN = 120.0  # seconds
_BETWEEN = 1.0  # seconds from the restart of a proxy to its end
_DONE_AFTER = 2.0  # seconds from a listener's end to the answer that its message is done, at most
_AGAIN_WITHIN = SHORTEST + 5.0  # seconds; what is not done is redelivered by then

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


@contextlib.contextmanager
def _loaded(access: Access, client: str) -> Iterator[_Load]:
    """A producer and a consumer, each in a separate process: one runs one program at a time."""
    adapters()[client].prepare(Engine.HOST)
    pool = Pool(Engine.HOST, adapters())
    with Clients(pool) as one, Clients(pool) as two:
        yield _Load(access, client, one, two)


class _Load:
    """Messages that are sent while something is done to the endpoint."""

    def __init__(self, access: Access, client: str, producing: Clients, consuming: Clients) -> None:
        facts = probe(access)
        always = {"endpoints": access.grpc}
        self._producer, consumer = (
            Client(clients=each, id=client, namesrv=access.namesrv, always=always) for each in (producing, consuming)
        )
        self.case = Case(
            client=consumer, offered=adapters()[client].programs, helper=None, endpoint=facts, prefix="restart"
        )
        self.topic = self.case.topic(4, kind="NORMAL")
        self.bodies = [f"message {number}" for number in range(_MESSAGES)]
        self.sent: set[str] = set()
        self._enough = threading.Event()

    def _watch(self, event: Event) -> None:
        if event["event"] == "sent":
            self.sent.add(event["text"])
        if len(self.sent) == _BEFORE:
            self._enough.set()

    def _publish(self) -> None:
        messages = [Outgoing(body=body) for body in self.bodies]
        self._producer.run("Publish", topic=self.topic, message=messages, pause=_PAUSE, again=1, watch=self._watch)

    @contextlib.contextmanager
    def sending(self) -> Iterator[None]:
        """Send all while the `with` runs, which begins when some were sent; each is taken in the end."""
        load = threading.Thread(target=self._publish)
        load.start()
        try:
            assert self._enough.wait(_WITHIN)
            yield
        finally:
            load.join()
        assert self.sent == set(self.bodies)


@pytest.mark.parametrize("again", [_stop_cleanly, _kill])
def test_nothing_is_lost(again: Callable[[Endpoint], None], own_grpc_endpoint: Endpoint) -> None:
    endpoint = own_grpc_endpoint
    access = Access(namesrv=endpoint.namesrv, grpc=endpoint.grpc)
    _pushed(access, lambda: again(endpoint), _JAVA)


@pytest.mark.parametrize("again", [_stop_cleanly, _kill])
def test_nothing_acknowledged_is_redelivered(again: Callable[[Endpoint], None], own_grpc_endpoint: Endpoint) -> None:
    endpoint = own_grpc_endpoint
    access = Access(namesrv=endpoint.namesrv, grpc=endpoint.grpc)
    _received(access, lambda: again(endpoint), _JAVA)


@pytest.mark.usefixtures("only_rocketwire")
@pytest.mark.parametrize("kind", [APACHE_5, OURS])
@pytest.mark.parametrize("client", [_JAVA, _PYTHON])
@pytest.mark.parametrize("consumer", ["push", "simple"])
def test_nothing_is_lost_or_redelivered_while_proxies_are_restarted_and_killed(
    kind: str, client: str, consumer: str, tmp_path: Path
) -> None:
    """Two stand in front of two brokers; clients know both."""
    with running(Proxied(tmp_path, kind=kind, brokers=2)) as cluster, contextlib.ExitStack() as stack:
        other = ProxyProcess(cluster.upstream, port=free_rows(1)[0][0], options=("--broker-ports", "0"))
        stack.callback(other.stop)
        other.start()
        both = cluster.proxy, other

        def again() -> None:
            for end in (ProxyProcess.stop, ProxyProcess.kill):
                for proxy in both:
                    end(proxy)
                    proxy.start()
                    time.sleep(_BETWEEN)

        every = ";".join(each.namesrv for each in both)  # the one port serves remoting and gRPC
        account = _pushed if consumer == "push" else _received
        account(Access(namesrv=every, grpc=every), again, client)


def _pushed(access: Access, again: Callable[[], None], client: str) -> None:
    """What was sent is received by a push consumer, and not again when it was done before the endpoint stopped."""
    received: set[str] = set()
    with _loaded(access, client) as load, push(load.case, load.topic, load.case.consumers()) as listening:

        def taken(count: int, settle: int) -> set[str]:
            return {event["text"] for event in listening.taken(count, settle=settle)}

        received |= taken(0, 3000)  # until it knows its queues
        with load.sending():
            received |= taken(1, 0)
            done = frozenset(received)
            time.sleep(_DONE_AFTER)
            received |= taken(0, 0)
            again()
        after: set[str] = set()
        end = time.monotonic() + _WITHIN
        while received | after != load.sent and time.monotonic() < end:
            after |= taken(1, 500)
    assert received | after == load.sent
    assert not done & after


def _received(access: Access, again: Callable[[], None], client: str) -> None:
    """What was sent is received by a simple consumer, and not again when its acknowledgement was answered."""
    received: set[str] = set()
    acknowledged: Counter[str] = Counter()
    with _loaded(access, client) as load, simple(load.case, load.topic, load.case.consumers()) as consumer:

        def take() -> None:
            got = consumer.rest(1.0, invisible=SHORTEST)
            received.update(event["text"] for event in got)
            acknowledged.update(consumer.acked(*got))

        with load.sending(), ThreadPoolExecutor(1) as pool:
            restarting = pool.submit(again)
            while not restarting.done():
                take()
            restarting.result()
        end = time.monotonic() + _WITHIN
        while received != load.sent and time.monotonic() < end:
            take()
        quiet = time.monotonic() + _AGAIN_WITHIN
        while time.monotonic() < quiet:
            take()
        stored = read_topic(access, load.topic, len(load.sent), until=time.monotonic() + _WITHIN)
    assert received == load.sent
    assert acknowledged.total() > len(load.sent) / 2  # the others' answers went with a proxy
    assert acknowledged_twice(acknowledged, stored) == []
