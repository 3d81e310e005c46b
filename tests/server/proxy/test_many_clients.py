"""A thousand clients through a proxy, with ten thousand queues: each is served, none costs much.

Clients and servers are processes, or share this one with nothing of the proxy, so its memory and processor time can be
read. Run it with `--log-cli-level=INFO` to see the figures.
"""

from __future__ import annotations

import contextlib
import logging
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from bench.processes import cpu_seconds
from rocketwire.wire.bodies import decode_body
from rocketwire.wire.bodies.route import TopicRouteData
from rocketwire.wire.facts.codes import FLAG_RESPONSE, RequestCode, ResponseCode
from rocketwire.wire.frame import Frame
from tests.server.harness import consumer, heartbeat, pull_ext, records, send_ext, subscription, topic_ext
from tests.server.processes import Caller, Process, process
from tests.server.proxy.process import ProxyProcess

pytestmark = pytest.mark.slow

log = logging.getLogger(__name__)

CLIENTS: Final = 1000
TOPICS_OF_ONE: Final = 5
QUEUES: Final = 2
AT_ONCE: Final = 100
"""Requests that are written before their answers are read; the answers must fit into the buffers of sockets."""
CONNECTION_BYTES: Final = 16 * 1024
REQUEST_SECONDS: Final = 0.001
"""Of processor time of the proxy, for any of these requests: several times the usual cost."""
FRAME_SECONDS: Final = 0.0005


@contextlib.contextmanager
def many_files() -> Iterator[None]:
    """As many open files as the system allows this process: its child processes inherit that."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture
def behind(tmp_path: Path) -> Iterator[Process]:
    with many_files(), process(tmp_path / "store", "--set", "mappedFileSizeConsumeQueue=2000") as server:
        with Caller(server.broker) as client:
            for start in range(0, CLIENTS * TOPICS_OF_ONE, AT_ONCE):
                for number in range(start, start + AT_ONCE):
                    client.write(client.frame(17, topic_ext(f"T{number}", QUEUES)))
                for _ in range(AT_ONCE):
                    assert client.receive().header.code == ResponseCode.SUCCESS
        yield server


class Spent:
    """Logs the resources that a process used for a step."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._before = cpu_seconds(pid)

    def each(self, what: str, count: int) -> float:
        """Seconds of processor time for each of `count` since the last call."""
        now = cpu_seconds(self._pid)
        found, self._before = (now - self._before) / count, now
        log.info("%s: %.0f us of the proxy's processor time each, %d of them", what, found * 1e6, count)
        return found


TOPICS: Final = [[f"T{number * TOPICS_OF_ONE + place}" for place in range(TOPICS_OF_ONE)] for number in range(CLIENTS)]
"""Of each client."""
GROUPS: Final = [range(start, start + AT_ONCE) for start in range(0, CLIENTS, AT_ONCE)]


def test_a_thousand_clients_with_ten_thousand_queues_are_served_cheaply(behind: Process) -> None:
    proxy = ProxyProcess(behind.name_server)
    try:
        with Caller(proxy.broker) as first:  # the cost of the first client does not count
            beat(first, "first", ["T0"])
            assert answer_to(first).header.code == ResponseCode.SUCCESS
        before = proxy.rss()
        spent = Spent(proxy.pid)
        with contextlib.ExitStack() as stack:
            names = [stack.enter_context(Caller(proxy.names)) for _ in range(CLIENTS)]
            clients = [stack.enter_context(Caller(proxy.broker)) for _ in range(CLIENTS)]
            for what in ("connections and first heartbeats", "further heartbeats"):
                beat_all(clients)
                assert spent.each(what, CLIENTS) < 2 * REQUEST_SECONDS
            for place in range(TOPICS_OF_ONE):
                request_routes(names, place, proxy.broker)
            assert spent.each("routes", CLIENTS * TOPICS_OF_ONE) < 2 * REQUEST_SECONDS
            hold_pulls(clients)
            with Caller(proxy.broker) as sender:
                sent = sum(send_to(sender, owned) for owned in TOPICS)
            assert sent == CLIENTS * TOPICS_OF_ONE * QUEUES == 10_000
            for client, owned in zip(clients, TOPICS, strict=True):
                assert {bytes(each) for each in woken(client)} == set(bodies(owned))
            assert spent.each("pulls that were held and woken, and a send each", sent) < 2 * FRAME_SECONDS
            grown = (proxy.rss() - before) / (2 * CLIENTS)
            log.info("%.2f KiB of RSS for each of %d connections, routes included", grown / 1024, 2 * CLIENTS)
            assert grown < CONNECTION_BYTES
    finally:
        proxy.stop()


def beat(client: Caller, name: str, topics: list[str]) -> None:
    """Send a heartbeat of a consumer with a separate group."""
    member = consumer(f"G-{name}", *(subscription(topic) for topic in topics))
    client.write(client.frame(34, None, heartbeat(name, member)))


def beat_all(clients: list[Caller]) -> None:
    """A heartbeat of each client."""
    for group in GROUPS:
        for number in group:
            beat(clients[number], f"client-{number}", TOPICS[number])
        for number in group:
            assert answer_to(clients[number]).header.code == ResponseCode.SUCCESS


def request_routes(names: list[Caller], place: int, broker: str) -> None:
    """Each client queries the route of one of its topics."""
    for group in GROUPS:
        for number in group:
            client = names[number]
            client.write(client.frame(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": TOPICS[number][place]}))
        for number in group:
            route = decode_body(TopicRouteData, answer_to(names[number]).body)
            assert route.broker_datas[0].broker_addrs == {0: broker}
            assert route.queue_datas[0].read_queue_nums == QUEUES


def hold_pulls(clients: list[Caller]) -> None:
    """Each client has a held pull for each of its queues."""
    for number, client in enumerate(clients):
        options: dict[str, Any] = {
            "consumer_group": f"G-client-{number}",
            "sys_flag": 6,
            "suspend_timeout_millis": 60_000,
        }
        for topic in TOPICS[number]:
            for queue in range(QUEUES):
                client.write(client.frame(11, pull_ext(topic, queue_id=queue, **options)))


def bodies(topics: list[str]) -> list[bytes]:
    """The messages sent to the queues of a client."""
    return [f"{topic}/{queue}".encode() for topic in topics for queue in range(QUEUES)]


def send_to(sender: Caller, topics: list[str]) -> int:
    """Send a message to each queue of a client; their number."""
    for body in bodies(topics):
        topic, _, queue = body.decode().partition("/")
        sender.write(sender.frame(310, send_ext(topic, queue_id=int(queue)), body))
    for _ in bodies(topics):
        assert answer_to(sender).header.code == ResponseCode.SUCCESS
    return len(bodies(topics))


def woken(client: Caller) -> list[bytes | memoryview]:
    """The bodies of the answers to all held pulls of a client."""
    return [each.body for _ in range(TOPICS_OF_ONE * QUEUES) for each in records(answer_to(client).body)]


def answer_to(client: Caller) -> Frame:
    """The next answer; the broker notifies members of a new group of each other, too."""
    while not (found := client.receive()).header.flag & FLAG_RESPONSE:
        pass
    return found
