"""Messages of a key come in order, also while consumers join and leave, attempts fail and the endpoint restarts."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import pytest

from compat_tests import remoting
from compat_tests.programs import Programs
from rocketwire.compat.brokers.endpoint import Endpoint
from rocketwire.compat.clients.client import Client, Clients, events
from rocketwire.compat.clients.process import Argument
from rocketwire.compat.messages import Event

KEYS = 12
QUEUES = 6

HEART_BEAT = 34
GET_CONSUMER_LIST_BY_GROUP = 38
LOCK_BATCH_MQ = 41

#: The official client looks for its queues every 20 s, and keeps the lock of one that it gives up for 20 s more.
QUICK = (
    "-Drocketmq.client.rebalance.waitInterval=1000 "
    "-Drocketmq.client.rebalance.lockInterval=1000 "
    "-Drocketmq.client.unlockDelayTimeMills=100"
)


@pytest.fixture(scope="module")
def quick_clients(programs: Programs) -> Iterator[Clients]:
    """Clients that hand queues on within seconds."""
    with Clients(programs, {"JAVA_TOOL_OPTIONS": QUICK}) as started:
        yield started


@dataclass(slots=True)
class Queue:
    """What consumers did with one queue, followed event by event."""

    next_offset: int = 0
    """The offset to be consumed next, if nothing was lost."""
    holder: str = ""
    """The consumer that began the last message."""
    inside: set[str] = field(default_factory=set)
    """The consumers whose listeners are running."""
    reached: int = 0
    """The offset behind the last one that was ever consumed."""
    texts: dict[int, str] = field(default_factory=dict)
    """What was seen, by offset."""
    restarted: bool = False
    """Whether the endpoint restarted: commits may have been lost, and locks, which no broker keeps on disk.

    A client that had a lock relies on it until it asks again, and another may have got it by then.
    """

    def begin(self, event: Event, number: int) -> None:
        """A listener takes a message: the next one, or, of a new holder, one that was consumed and not committed."""
        offset, by = event["offset"], event["by"]
        at_work = self.inside & {by} if self.restarted else self.inside
        assert not at_work, f"{event} (event {number}): {at_work} is not done yet"
        most = self.reached if self.restarted else self.next_offset
        assert offset <= most, f"{event} (event {number}): {most} was passed over"
        if offset < self.next_offset:
            assert by != self.holder or self.restarted, f"{event} (event {number}): goes back for no reason"
        self.inside.add(by)
        self.holder, self.next_offset = by, offset
        assert self.texts.setdefault(offset, event["text"]) == event["text"]

    def end(self, event: Event) -> None:
        """A listener is done."""
        self.inside.discard(event["by"])
        if event["event"] == "end":
            behind = event["offset"] + 1
            self.reached = max(self.reached, behind)
            if event["by"] == self.holder:
                self.next_offset = behind


def check_order(got: Sequence[Event], *, restarted: bool = False) -> None:
    """Everything sent was consumed, one message of a queue at a time, in the order of its key."""
    queues: defaultdict[int, Queue] = defaultdict(lambda: Queue(restarted=restarted))
    for number, event in enumerate(got):
        if event["event"] == "begin":
            queues[event["queue"]].begin(event, number)
        elif event["event"] in {"end", "suspend"}:
            queues[event["queue"]].end(event)
    (total,) = events(got, "total")
    again = {event["text"] for event in events(got, "again")}
    assert total["sent"] == total["done"] > 0
    numbers: dict[int, list[int]] = defaultdict(list)
    for queue in queues.values():
        assert not queue.inside
        assert queue.next_offset == queue.reached, "went back and did not come on again"
        assert sorted(queue.texts) == list(range(queue.reached)), "a message was passed over"
        for key, number_of_key in numbered(queue.texts[offset] for offset in range(queue.reached)):
            numbers[key].append(number_of_key)
    for key, of_key in numbers.items():
        # What was sent again may have been stored the first time; no other message is stored twice.
        once = [n for at, n in enumerate(of_key) if not (at and n == of_key[at - 1] and f"{key}-{n}" in again)]
        assert once == list(range(len(once))), f"key {key}"
    assert sum(len(set(of_key)) for of_key in numbers.values()) == total["sent"]


def numbered(texts: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Key and number of each message."""
    for text in texts:
        key, _, number = text.partition("-")
        yield int(key), int(number)


def takers(got: Sequence[Event]) -> set[str]:
    """Who consumed."""
    return {event["by"] for event in events(got, "end")}


def suspended(got: Sequence[Event]) -> list[str]:
    """What was suspended, each once."""
    return [event["text"] for event in events(got, "suspend")]


@pytest.fixture
def topic_of_order(quick_clients: Clients, endpoint: Endpoint, unique: Callable[[str], str]) -> str:
    """A topic with as many queues as consumers share evenly."""
    name = unique("Ordered")
    client = Client(clients=quick_clients, id="java-4.9.7", namesrv=endpoint.namesrv)
    client.run("CreateTopic", topic=name, queues=QUEUES)
    return name


def test_order_is_kept_while_consumers_join_and_leave(
    quick_clients: Clients, endpoint: Endpoint, topic_of_order: str, group: str
) -> None:
    client = Client(clients=quick_clients, id="java-4.9.7", namesrv=endpoint.namesrv)
    changes = ["+a", "+b", "+c", "-a", "-b"]
    got = client.run(
        "OrderedGroup", topic=topic_of_order, group=group, keys=KEYS, failing=10, pause=1500, change=changes
    )
    check_order(got)
    assert takers(got) == {"a", "b", "c"}
    failures = suspended(got)
    assert len(set(failures)) == len(failures) > KEYS


def test_order_is_kept_over_a_restart(quick_clients: Clients, own_endpoint: Endpoint) -> None:
    """The endpoint restarts when the last to join consumes.

    What consumes afterwards joins then: official push consumers notice only 30 s later that a pull is lost.
    """
    client = Client(clients=quick_clients, id="java-4.9.7", namesrv=own_endpoint.namesrv)
    named: dict[str, Argument] = {"topic": "Ordered", "group": "ordered", "keys": KEYS, "failing": 10}
    client.run("CreateTopic", named, queues=QUEUES)
    changes = ["+a", "+b", "+c", "away", "+d", "-a", "-b", "-c"]
    seen: list[Event] = []

    def restart(event: Event) -> None:
        if event["event"] == "end" and event["by"] == "c" and not seen:
            seen.append(event)
            own_endpoint.restart()

    got = client.run("OrderedGroup", named, pause=1200, change=changes, watch=restart)
    check_order(got, restarted=bool(seen))
    assert takers(got) == {"a", "b", "c", "d"}
    assert events(got, "again")


def test_a_client_that_dies_keeps_its_locks(endpoint: Endpoint, group: str) -> None:
    """No other client gets its queues before the locks expire (60 s); it gets them itself when it comes back."""
    with remoting.Connection(endpoint.broker) as dying, remoting.Connection(endpoint.broker) as other:
        assert dying.ask(HEART_BEAT, body=consumer("dying", group)).code == 0
        assert lock(dying, "dying", group, 0, 1) == {0, 1}
        assert lock(other, "other", group, 1, 2) == {2}
    with remoting.Connection(endpoint.broker) as other:
        end = time.monotonic() + 120
        while other.ask(GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": group}).code == 0:
            assert time.monotonic() < end, "the broker has not noticed that the client is gone"
            time.sleep(0.02)
        assert lock(other, "other", group, 0, 1, 2) == {2}
        assert lock(other, "dying", group, 0, 1, 2) == {0, 1}


def consumer(client_id: str, group: str) -> bytes:
    """The heartbeat of a consumer."""
    data = {
        "groupName": group,
        "consumeType": "CONSUME_PASSIVELY",
        "messageModel": "CLUSTERING",
        "consumeFromWhere": "CONSUME_FROM_FIRST_OFFSET",
        "subscriptionDataSet": [{"topic": "Locked", "subString": "*", "subVersion": 1}],
    }
    return json.dumps({"clientID": client_id, "consumerDataSet": [data], "producerDataSet": []}).encode()


def lock(connection: remoting.Connection, client_id: str, group: str, *queues: int) -> set[int]:
    """Those of the queues that the client holds then."""
    wanted = [{"topic": "Locked", "brokerName": "broker-a", "queueId": queue} for queue in queues]
    body = {"clientId": client_id, "consumerGroup": group, "mqSet": wanted}
    answer = connection.ask(LOCK_BATCH_MQ, body=json.dumps(body).encode())
    assert answer.code == 0, answer
    return {queue["queueId"] for queue in json.loads(answer.body)["lockOKMQSet"]}
