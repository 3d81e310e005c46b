"""Log files expire: readers that stood in them are sent on, and lose nothing of what is left.

One endpoint with small files serves all client versions, because a broker looks for expired files a minute after its
start at the earliest.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pytest

from compat_tests import remoting
from compat_tests.apache import ApacheNameServer
from compat_tests.artifacts import CLIENT_VERSIONS
from compat_tests.clients import Client, Clients
from compat_tests.endpoints import TARGETS, Endpoint, running
from compat_tests.messages import Outgoing, assert_each_once
from compat_tests.ports import LOOPBACK, free_ports
from compat_tests.shared_store import SharedStore
from compat_tests.store_traffic import assert_there, create_topic, send_all_kinds
from compat_tests.store_view import look

PULL: Final = 11
GET_MIN_OFFSET: Final = 31
CLEAN_EXPIRED_CONSUMEQUEUE: Final = 306
DELETE_EXPIRED_COMMITLOG: Final = 329
FOUND, NOT_FOUND, RETRY_IMMEDIATELY, OFFSET_MOVED = 0, 19, 20, 21
SUBSCRIPTION: Final = 4  # the flag of a pull that names what it wants

EARLY: Final = 20  # messages that the group consumes before it leaves
ROUNDS: Final = 10
A_ROUND: Final = 20
MEGABYTE: Final = 1 << 20
FIRST_LOOK: Final = 60  # seconds after its start that a broker first looks for expired files


EXPIRING: Final = {
    "fileReservedTime": "0",
    "deleteWhen": f"{(time.localtime().tm_hour + 12) % 24:02}",  # no hour that comes soon
    "cleanResourceInterval": "1000",
}


@pytest.fixture
def small_files(target: str, tmp_path: Path) -> Iterator[Endpoint]:
    """An endpoint whose log files are small and expire at once."""
    settings = {
        "mappedFileSizeCommitLog": str(MEGABYTE),
        "mappedFileSizeConsumeQueue": str(20 * 32),
        **EXPIRING,
    }
    with running(TARGETS[target](tmp_path / "endpoint", settings=settings)) as started:
        yield started


class Follower:
    """A topic of one queue with a group that consumes it, by one version of the client."""

    def __init__(self, clients: Clients, version: str, endpoint: Endpoint) -> None:
        self.client = Client(clients=clients, version=version, namesrv=endpoint.namesrv)
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
            "received", "PushConcurrent", topic=self.topic, group=self.group, count=len(messages), wait=90, settle=1500
        )
        assert_each_once(received, messages)

    def bounds(self) -> tuple[int, int]:
        """The queue's smallest offset and the next message's."""
        answer = remoting.request(self.broker, GET_MIN_OFFSET, {"topic": self.topic, "queueId": 0})
        return int(answer.fields["offset"]), remoting.max_offset(self.broker, self.topic, 0)

    def pull(self, offset: int) -> tuple[int, str, list[int]]:
        """Code, remark, and next, min and max offset of a pull's answer."""
        fields: dict[str, str | int] = {
            "consumerGroup": "asker",
            "topic": self.topic,
            "queueId": 0,
            "queueOffset": offset,
            "maxMsgNums": 32,
            "sysFlag": SUBSCRIPTION,
            "commitOffset": 0,
            "suspendTimeoutMillis": 1000,
            "subscription": "*",
            "subVersion": 0,
            "expressionType": "TAG",
        }
        answer = remoting.request(self.broker, PULL, fields)
        offsets = [int(answer.fields[name]) for name in ("nextBeginOffset", "minOffset", "maxOffset")]
        return answer.code, answer.remark, offsets


def test_readers_of_expired_files_go_on_with_what_is_left(small_files: Endpoint, clients: Clients, target: str) -> None:
    gone = Follower(clients, "4.9.7", small_files)
    gone.topic = "Gone"
    gone.client.run("CreateTopic", topic=gone.topic, queues=1)
    # Its first message is not the first of the log: Apache's broker reads other bytes for that one once it is gone.
    followers = [Follower(clients, version, small_files) for version in CLIENT_VERSIONS]
    for follower in followers:
        follower.client.run("CreateTopic", topic=follower.topic, queues=1)
        follower.send(EARLY, 100)
        follower.consume(follower.sent)
    gone.send(5, 100)
    for _ in range(ROUNDS):
        for follower in followers:
            follower.send(A_ROUND, 4000)

    assert remoting.request(small_files.broker, DELETE_EXPIRED_COMMITLOG).code == 0
    _wait_until_expired(followers)
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

    # A queue of which nothing is left. Apache's broker goes on calling 0 its smallest offset.
    smallest = 5 if target == "rocketwire" else 0
    assert gone.pull(0) == (RETRY_IMMEDIATELY, "MESSAGE_WAS_REMOVING", [5, smallest, 5])
    assert gone.pull(5) == (NOT_FOUND, "OFFSET_OVERFLOW_ONE", [5, smallest, 5])
    assert remoting.request(small_files.broker, CLEAN_EXPIRED_CONSUMEQUEUE).code == 0
    assert gone.bounds() == (0, 0)
    assert gone.pull(5) == (OFFSET_MOVED, "NO_MESSAGE_IN_QUEUE", [0, 0, 0])
    gone.send(1, 100)
    assert gone.bounds() == (0, 1)


@pytest.mark.usefixtures("only_rocketwire")
@pytest.mark.parametrize("first", ["rocketwire", "apache"])
def test_what_one_broker_left_the_other_serves(tmp_path: Path, first: str) -> None:
    name_server = ApacheNameServer(tmp_path / "namesrv", address=f"{LOOPBACK}:{free_ports()[0]}")
    with running(name_server):
        store = SharedStore(tmp_path, name_server)
        with (
            store.rocketwire(**EXPIRING) if first == "rocketwire" else store.apache(**EXPIRING),
            remoting.Connection(store.broker) as connection,
        ):
            create_topic(connection, "Left", 2)
            send_all_kinds(connection, "Left", "removed", queues=2, count=1500)
            send_all_kinds(connection, "Left", "kept", queues=2, count=50)
            assert connection.ask(DELETE_EXPIRED_COMMITLOG).code == 0
            smallest: dict[str, str | int] = {"topic": "Left", "queueId": 0}
            end = time.monotonic() + FIRST_LOOK + 30
            while connection.ask(GET_MIN_OFFSET, smallest).fields["offset"] == "0":
                assert time.monotonic() < end
                time.sleep(0.2)
            time.sleep(5)
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


def _wait_until_expired(followers: list[Follower]) -> None:
    """Wait until the queues no longer say that their first messages are there."""
    end = time.monotonic() + FIRST_LOOK + 30
    while any(follower.bounds()[0] <= EARLY for follower in followers):
        assert time.monotonic() < end, f"nothing was removed: {[each.bounds() for each in followers]}"
        time.sleep(0.2)
    time.sleep(2)  # the pass ends: ten files with 0.1 s between two
