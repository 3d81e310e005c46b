"""kill -9 of a broker, of each proxy and of the name server while Apache's client sends and consumes through proxies.

Then the proxies are restarted, one after the other, as for a new version. Every message is accounted for: what was
acknowledged to the producer is consumed, and sends and consumption continue within seconds. What a consumer has
acknowledged, by the committed offset, stays so: no offset goes back, and no message below it is redelivered. The
clients know both proxies as name servers. They query routes every second in this test: by default every 30 s, and that
long they would send to a proxy that has ended. The consumer is a client of 5.5.0: one of 4.9.7 does not notice that a
connection has ended, and waits 30 s for the answer of a pull, 3 s for that of a send, and as long for that of a route.
"""

from __future__ import annotations

import contextlib
import itertools
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from compat_tests.programs import Programs
from compat_tests.progress import Committed
from compat_tests.proxied import APACHE_4, OURS, QUEUES, Proxied, ProxyProcess, create_topic
from compat_tests.waiting import wait_until
from rocketwire.compat.brokers.endpoint import running
from rocketwire.compat.brokers.ports import free_rows
from rocketwire.compat.clients.client import Client, Clients
from rocketwire.compat.clients.process import ProgramFailed
from rocketwire.compat.messages import Event, Outgoing

MESSAGES: Final = 6000  # more than are sent until the test ends the producer
PAUSE: Final = 20  # ms between two sends
DOWN: Final = 3.0  # seconds that a server stays away
UP: Final = 2.0  # and that follow
GO_ON_WITHIN: Final = {"5.5.0": 5.0, "4.9.7": 10.0}
SEEN: Final = {"5.5.0": 6.0, "4.9.7": 11.0}  # seconds after a kill in which pauses are looked for
ARRIVE_WITHIN: Final = 60.0
PROXIES: Final = ("proxy 1", "proxy 2")
RESTARTS: Final = ("restart of proxy 1", "restart of proxy 2")
ALL: Final = ("broker", *PROXIES, "name server", *RESTARTS)  # Apache's broker takes 20 s to come back


class Traffic:
    """A producer and a consumer, each in a separate JVM, and when their events came."""

    def __init__(self, producer: Client, consumer: Client, topic: str, group: str, committed: Committed) -> None:
        self._producer = producer
        self._consumer = consumer
        self._topic = topic
        self._group = group
        self._committed = committed
        self._ending = threading.Event()
        self.failed: list[Event] = []
        self.sent: list[tuple[float, Event]] = []
        self.received: list[tuple[float, Event]] = []

    @property
    def acknowledged(self) -> set[str]:
        """The bodies that a broker has acknowledged."""
        return {event["text"] for _, event in self.sent}

    def join(self) -> None:
        """Have the consumer join its group."""
        self._consumer.run("Join", name=self._group, group=self._group, topic=self._topic, poll=1000)

    def send(self) -> None:
        """Send until the producer is ended."""
        message = [Outgoing(body=f"m{number}") for number in range(MESSAGES)]

        def on_event(event: Event) -> None:
            if event["event"] == "sent":
                self.sent.append((time.monotonic(), event))
            else:
                self.failed.append(event)

        with contextlib.suppress(ProgramFailed):
            self._producer.run(
                "SendThrough", message=message, topic=self._topic, pause=PAUSE, poll=1000, timeout=3000, watch=on_event
            )
        assert self._ending.is_set(), (len(self.sent), self.failed[-3:])

    def receive(self) -> None:
        """Take what comes until the sends are over and all that was acknowledged has come."""
        until = float("inf")
        while time.monotonic() < until:
            self._committed.look()
            got = self._consumer.only("received", "Collect", name=self._group, count=1, wait=1, settle=1)
            self._committed.take(got)
            self.received += [(time.monotonic(), event) for event in got]
            if self._ending.is_set():
                until = min(until, time.monotonic() + ARRIVE_WITHIN)
                if self.acknowledged <= {event["text"] for _, event in self.received}:
                    break
        self._consumer.run("LeaveAll")

    def end(self) -> None:
        """End the producer."""
        self._ending.set()
        self._producer.clients.stop()


def pause(seen_events: Sequence[tuple[float, Event]], since: float, seen: float) -> float:
    """The longest time without an event in so many seconds from then on, while the server is away."""
    until = since + seen
    times = [since, *(at for at, _ in seen_events if since < at < until), until]
    return round(max(later - earlier for earlier, later in itertools.pairwise(times)), 2)


@pytest.fixture
def java(programs: Programs) -> Iterator[Callable[[], Clients]]:
    """Makes processes of the Java client: one runs one program at a time."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(Clients(programs))


@pytest.mark.parametrize(
    ("kind", "brokers", "victims", "sends_by"),
    [(OURS, 3, ALL, "5.5.0"), (APACHE_4, 2, (*PROXIES, *RESTARTS), "4.9.7")],
)
def test_nothing_acknowledged_is_lost_or_redelivered_and_sends_continue(
    kind: str,
    brokers: int,
    victims: Sequence[str],
    sends_by: str,
    java: Callable[[], Clients],
    tmp_path: Path,
    unique: Callable[[str], str],
) -> None:
    with running(Proxied(tmp_path, kind=kind, brokers=brokers)) as cluster, ExitStack() as stack:
        proxies = [ProxyProcess(cluster.upstream, port=row[0]) for row in free_rows(7)[::3][:2]]
        for proxy in proxies:
            stack.callback(proxy.stop)
            proxy.start()
        both = ";".join(proxy.namesrv for proxy in proxies)
        producer, consumer = (Client(clients=java(), id=f"java-{each}", namesrv=both) for each in (sends_by, "5.5.0"))
        topic, group = unique("Killed"), unique("killed")
        for address in proxies[0].brokers.values():
            create_topic(address, topic)
        alive = [each.broker for each in cluster.brokers[1 if "broker" in victims else 0 :]]
        committed = stack.enter_context(Committed(alive, topic=topic, group=group, queues=QUEUES))
        traffic = Traffic(producer, consumer, topic, group, committed)
        traffic.join()
        with ThreadPoolExecutor(2) as pool:
            receiving, sending = pool.submit(traffic.receive), pool.submit(traffic.send)
            try:
                wait_until(lambda: len(traffic.sent) > 50 and len(traffic.received) > 0)
                kills = kill_each(cluster, proxies, victims)
                time.sleep(max(0.0, kills[-1][1] + SEEN[sends_by] - time.monotonic()))
            finally:
                traffic.end()
            sending.result()
            receiving.result()
    pauses = {
        name: tuple(pause(each, at, SEEN[sends_by]) for each in (traffic.sent, traffic.received)) for name, at in kills
    }
    texts = [event["text"] for _, event in traffic.received]
    print(
        f"{kind}: s without a send, without a message: {pauses}; {len(traffic.sent)} sent, {len(traffic.failed)} failed"
    )
    print(f"{len(texts) - len(set(texts))} were redelivered")
    assert committed.total > len(texts) / 3  # so that the account means something
    assert not committed.went_back, committed.went_back[:5]
    assert not committed.again, f"{len(committed.again)} were redelivered: {committed.again[:5]}"
    lost = traffic.acknowledged - set(texts)
    assert not lost, f"{len(lost)} of {len(traffic.acknowledged)} acknowledged are lost: {sorted(lost)[:5]}"
    assert max(max(each) for each in pauses.values()) < GO_ON_WITHIN[sends_by], pauses


def kill_each(cluster: Proxied, proxies: Sequence[ProxyProcess], victims: Sequence[str]) -> list[tuple[str, float]]:
    """Kill servers one after the other, or stop them, and start each again; returns when each was ended."""
    proxy_1, proxy_2 = proxies
    servers = {
        "broker": (cluster.kill, cluster.brokers[0].start),
        "proxy 1": (proxy_1.kill, proxy_1.start),
        "proxy 2": (proxy_2.kill, proxy_2.start),
        "name server": (lambda: cluster.name_server.stop(signal.SIGKILL), cluster.name_server.start),
        RESTARTS[0]: (proxy_1.stop, proxy_1.start),
        RESTARTS[1]: (proxy_2.stop, proxy_2.start),
    }
    kills = []
    for name in victims:
        kill, start = servers[name]
        kills.append((name, time.monotonic()))
        kill()
        time.sleep(0.0 if name in RESTARTS else DOWN)
        start()
        time.sleep(UP)
    return kills
