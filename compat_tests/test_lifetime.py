"""Log files expire: readers in them get the next offset that exists, and lose nothing of what remains.

A broker searches for expired files a minute after its start at the earliest. So one endpoint with small files serves
all client versions; and what the tests do runs in threads at the same time, begun by the first of them, so that all
wait for their brokers in the same minute. A test ends as its thread does.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, TypeVar

import pytest

from compat_tests import remoting
from compat_tests.endpoints import TARGETS
from compat_tests.shared_store import SharedStore
from compat_tests.store_traffic import assert_there, create_topic, send_all_kinds
from compat_tests.store_view import look
from rocketwire.compat.brokers.apache import ApacheNameServer
from rocketwire.compat.brokers.endpoint import Endpoint, running
from rocketwire.compat.brokers.ports import LOOPBACK, free_ports
from rocketwire.compat.clients.client import Client, Clients
from rocketwire.compat.environment.artifacts import CLIENT_VERSIONS
from rocketwire.compat.messages import Outgoing, assert_each_once

GET_MIN_OFFSET: Final = 31
CLEAN_EXPIRED_CONSUMEQUEUE: Final = 306
DELETE_EXPIRED_COMMITLOG: Final = 329
FOUND, NOT_FOUND, RETRY_IMMEDIATELY, OFFSET_MOVED = 0, 19, 20, 21

Broker = TypeVar("Broker")

EARLY: Final = 20  # messages that the group consumes before it leaves
ROUNDS: Final = 10
A_ROUND: Final = 20
MEGABYTE: Final = 1 << 20
# The broker whose store the other one opens; none where Apache alone is tested.
LEFT: Final = {"rocketwire": ("rocketwire", "apache"), "apache-4.9.7": ()}
MOST_LEFT: Final = 2  # log files: the last, and the next that is made ahead
WITHIN: Final = 240  # seconds: a broker first searches for expired files 60 s after its start


EXPIRING: Final = {
    "fileReservedTime": "0",
    "deleteWhen": f"{(time.localtime().tm_hour + 12) % 24:02}",  # no hour that comes soon
    "cleanResourceInterval": "1000",
}


@pytest.fixture(scope="module")
def courses(
    target: str, clients: Clients, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Future[None]]]:
    """What the tests do, by names. Brokers start one after the other: a free port is free until a process listens."""
    folder = tmp_path_factory.mktemp("lifetime")
    with contextlib.ExitStack() as stack:
        name_server = ApacheNameServer(folder / "namesrv", address=f"{LOOPBACK}:{free_ports()[0]}")
        stack.enter_context(running(name_server))
        threads = stack.enter_context(ThreadPoolExecutor())
        readers = _begun(small_files(target, folder / "endpoint"))
        started = {"readers": threads.submit(_readers, *readers, clients, target, folder / "endpoint" / "store")}
        for first in LEFT[target]:
            store = SharedStore(folder / first, name_server)
            broker = _begun(store.rocketwire(**EXPIRING) if first == "rocketwire" else store.apache(**EXPIRING))[0]
            started[first] = threads.submit(_left, store, first, broker)
        yield started


def _begun(broker: AbstractContextManager[Broker]) -> tuple[contextlib.ExitStack, Broker]:
    """A started broker, and what stops it."""
    stops = contextlib.ExitStack()
    return stops, stops.enter_context(broker)


def small_files(target: str, folder: Path) -> AbstractContextManager[Endpoint]:
    """An endpoint whose log files are small and expire at once."""
    settings = {
        "mappedFileSizeCommitLog": str(MEGABYTE),
        "mappedFileSizeConsumeQueue": str(20 * 32),
        **EXPIRING,
    }
    return running(TARGETS[target](folder, settings=settings))


class Follower:
    """A topic of one queue with a group that consumes it, by one version of the client."""

    def __init__(self, clients: Clients, version: str, endpoint: Endpoint) -> None:
        self.client = Client(clients=clients, id=f"java-{version}", namesrv=endpoint.namesrv)
        self.broker = endpoint.broker
        self.topic = f"Expiring_{version.replace('.', '_')}"
        self.group = f"group_{version.replace('.', '_')}"
        self.sent: list[Outgoing] = []

    def send(self, count: int, size: int) -> None:
        """Send messages of so many bytes; too few for a client to compress them."""
        first = len(self.sent)
        messages = [Outgoing(body=f"{first + i}", size=size) for i in range(count)]
        self.client.run("SendSync", topic=self.topic, message=messages)
        self.sent += messages

    def consume(self, messages: list[Outgoing]) -> None:
        """The group gets these messages, each once, and no others."""
        received = self.client.only(
            "received", "PushConcurrent", topic=self.topic, group=self.group, count=len(messages), settle=1500
        )
        assert_each_once(received, messages)

    def bounds(self) -> tuple[int, int]:
        """The queue's smallest offset and the next message's."""
        answer = remoting.request(self.broker, GET_MIN_OFFSET, {"topic": self.topic, "queueId": 0})
        return int(answer.fields["offset"]), remoting.max_offset(self.broker, self.topic, 0)

    def pull(self, offset: int) -> tuple[int, str, list[int]]:
        """Code, remark, and next, min and max offset of a pull's answer."""
        ask = remoting.pull(self.topic, "asker", queueOffset=offset, suspendTimeoutMillis=1000)
        answer = remoting.request(self.broker, *ask)
        offsets = [int(answer.fields[name]) for name in ("nextBeginOffset", "minOffset", "maxOffset")]
        return answer.code, answer.remark, offsets


def test_readers_of_expired_files_continue_with_what_remains(courses: Mapping[str, Future[None]]) -> None:
    courses["readers"].result()


@pytest.mark.usefixtures("only_rocketwire")
@pytest.mark.parametrize("first", ["rocketwire", "apache"])
def test_what_one_broker_left_the_other_serves(courses: Mapping[str, Future[None]], first: str) -> None:
    courses[first].result()


def _readers(
    stops: AbstractContextManager[object], endpoint: Endpoint, clients: Clients, target: str, store: Path
) -> None:
    """Consumers and pulls use offsets that were removed. `stops` stops the endpoint."""
    with stops:
        removed = Follower(clients, "4.9.7", endpoint)
        removed.topic = "Gone"
        removed.client.run("CreateTopic", topic=removed.topic, queues=1)
        # Its first message is not the first of the log: Apache's broker reads other bytes for it once it is removed.
        followers = [Follower(clients, version, endpoint) for version in CLIENT_VERSIONS]
        for follower in followers:
            follower.client.run("CreateTopic", topic=follower.topic, queues=1)
            follower.send(EARLY, 100)
            follower.consume(follower.sent)
        removed.send(5, 100)
        for _ in range(ROUNDS):
            for follower in followers:
                follower.send(A_ROUND, 4000)

        assert remoting.request(endpoint.broker, DELETE_EXPIRED_COMMITLOG).code == 0
        _wait_until_expired(store, lambda: [follower.bounds() for follower in (*followers, removed)])
        for follower in followers:
            least, most = follower.bounds()
            assert EARLY < least < most == len(follower.sent)
            for offset in (0, EARLY, least - 1):
                assert follower.pull(offset) == (OFFSET_MOVED, "OFFSET_TOO_SMALL", [least, least, most])
            assert follower.pull(least)[:2] == (FOUND, "FOUND")
            assert follower.pull(most) == (NOT_FOUND, "OFFSET_OVERFLOW_ONE", [most, least, most])
            assert follower.pull(most + 1) == (OFFSET_MOVED, "OFFSET_OVERFLOW_BADLY", [most, least, most])

        # The official consumers, which left at the offset EARLY.
        with ThreadPoolExecutor(len(followers)) as threads:
            runs = [threads.submit(each.consume, each.sent[each.bounds()[0] :]) for each in followers]
            for run in runs:
                run.result()

        # A queue without messages. Apache's broker still reports 0 as its minimum offset.
        smallest = 5 if target == "rocketwire" else 0
        assert removed.pull(0) == (RETRY_IMMEDIATELY, "MESSAGE_WAS_REMOVING", [5, smallest, 5])
        assert removed.pull(5) == (NOT_FOUND, "OFFSET_OVERFLOW_ONE", [5, smallest, 5])
        assert remoting.request(endpoint.broker, CLEAN_EXPIRED_CONSUMEQUEUE).code == 0
        assert removed.bounds() == (0, 0)
        assert removed.pull(5) == (OFFSET_MOVED, "NO_MESSAGE_IN_QUEUE", [0, 0, 0])
        removed.send(1, 100)
        assert removed.bounds() == (0, 1)


def _left(store: SharedStore, first: str, stops: AbstractContextManager[object]) -> None:
    """The other broker serves what `first` has left. `stops` stops that one."""
    with stops, remoting.Connection(store.broker) as connection:
        create_topic(connection, "Left", 2)
        send_all_kinds(connection, "Left", "removed", queues=2, count=1500)
        send_all_kinds(connection, "Left", "kept", queues=2, count=50)
        assert connection.ask(DELETE_EXPIRED_COMMITLOG).code == 0
        smallest = [remoting.FrameRequest(GET_MIN_OFFSET, {"topic": "Left", "queueId": queue}) for queue in (0, 1)]
        _wait_until_expired(store.path, lambda: [answer.fields["offset"] for answer in connection.ask_all(smallest)])
        before = look(store.broker)
    assert before.ends["Left", 0][0] > 0
    with (
        store.apache() if first == "rocketwire" else store.rocketwire(),
        remoting.Connection(store.broker) as connection,
    ):
        after = look(store.broker)
        assert after.ends == before.ends
        assert after.raw() == before.raw()
        more = send_all_kinds(connection, "Left", "more", queues=2, count=20)
        assert_there(look(store.broker), more)


def _wait_until_expired(store: Path, bounds: Callable[[], object]) -> None:
    """Return when all files of the log are removed but the last, and what else a pass does is done: bounds stay."""
    end = time.monotonic() + WITHIN
    while len(left := list((store / "commitlog").iterdir())) > MOST_LEFT:
        assert time.monotonic() < end, f"these are not removed: {sorted(path.name for path in left)}"
        time.sleep(0.2)
    before, now = None, bounds()
    while now != before:
        assert time.monotonic() < end, f"the queues' bounds change again and again: {now}"
        time.sleep(2)
        before, now = now, bounds()
