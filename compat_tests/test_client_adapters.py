"""Every program of the remoting clients besides Apache's Java client, with messages that others read or sent.

The programs of the clients that speak gRPC run in the scenarios of `test_catalogue_grpc`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final

import pytest

from rocketwire.compat.brokers.endpoint import Endpoint
from rocketwire.compat.clients.adapter import Adapter, Engine
from rocketwire.compat.clients.client import Client, Clients, events
from rocketwire.compat.clients.registry import adapters
from rocketwire.compat.endpoint import Access
from rocketwire.compat.engine.pool import Pool
from rocketwire.compat.messages import Event, Outgoing, body_digest, by_queue, digest, user_properties
from rocketwire.compat.reader import read_topic
from rocketwire.compat.scenario import catalogue
from rocketwire.remoting import Message, Producer, Queue
from rocketwire.remoting.admin.topics import put_topic
from rocketwire.wire.bodies.topic import TopicConfig
from rocketwire.wire.facts.codes import Permission

_OTHERS: Final = [each for each in adapters().values() if not each.grpc and not each.id.startswith("java-")]
_GRPC: Final = [each for each in adapters().values() if each.grpc]
_PROGRAMS: Final = [(each.id, program) for each in _OTHERS for program in sorted(each.programs)]
# The second version of Spring's starter differs by the Java client that it brings.
_SKIPPED: Final = {("spring-5.3", program) for program in ("PushBroadcast", "PushDelayed", "PushOrderly", "Traced")}
_MESSAGES: Final = [
    Outgoing(body=f"消息 {number}", tags="AB"[number % 2], keys=f"k{number}", properties={"n": str(number)})
    for number in range(6)
]
_QUEUES: Final = 2
_WITHIN: Final = 120.0  # seconds


class Bench:
    """One client at an endpoint, and what a test does there by other means."""

    def __init__(self, client: Client, endpoint: Endpoint, topic: str, unique: Callable[[str], str]) -> None:
        self.client = client
        self.topic = topic
        self.group = unique("group")
        self._access = Access(namesrv=endpoint.namesrv)

    def make_topic(self, name: str) -> None:
        """Make a topic of two queues."""
        perm = Permission.READ | Permission.WRITE
        config = TopicConfig(topic_name=name, read_queue_nums=_QUEUES, write_queue_nums=_QUEUES, perm=perm)
        with self._access.cluster() as cluster:
            for broker in cluster.all_brokers().values():
                put_topic(broker, config)

    def stored(self, count: int) -> list[Event]:
        """What is in the topic."""
        return read_topic(self._access, self.topic, count, until=time.monotonic() + _WITHIN)

    def send(self, *messages: Outgoing) -> None:
        """Send with rocketwire's own client, a message's queue is its place modulo two."""
        with Producer("others", self._access.namesrv) as producer:
            broker = producer.queues(self.topic)[0].broker
            for number, each in enumerate(messages):
                keys = (each.keys,) if each.keys else ()
                message = Message(self.topic, each.content, tags=each.tags, keys=keys, properties=each.properties)
                producer.send(message, queue=Queue(self.topic, broker, number % _QUEUES))

    def run(self, program: str, **arguments: str | int | list[str] | list[Outgoing]) -> list[Event]:
        """What a program of the client prints, at the topic, in the group."""
        return self.client.run(program, {"topic": self.topic, "group": self.group, **arguments})

    def got(self, program: str, **arguments: str | int | list[str] | list[Outgoing]) -> list[Event]:
        """What a program of the client receives."""
        return events(self.run(program, **arguments), "received")


def sends(bench: Bench, program: str, *, told: bool = True) -> None:
    """Every message is stored once, whole; what the client tells of it is so."""
    messages = [replace(each, properties={}) for each in _MESSAGES] if bench.client.id == "camel" else _MESSAGES
    got = bench.run(program, message=messages)
    stored = bench.stored(len(messages))
    assert told_of(stored) == told_of_sent(messages)
    for event in stored:
        assert user_properties(event) in [dict(each.properties) for each in messages if each.body == event["text"]]
    sent = events(got, "sent")
    assert len(sent) == (len(messages) if told else 0)
    ids = {event["msgId"] for event in stored} | {None}
    assert all(event.get("msgId") in ids for event in sent)


def sends_one_way(bench: Bench) -> None:
    sends(bench, "SendOneway", told=False)


def sends_a_batch(bench: Bench) -> None:
    got = bench.run("SendBatch", message=[Outgoing(body=each.body, tags="T") for each in _MESSAGES])
    if "send.batch" in adapters()[bench.client.id].lacks:
        assert len(events(got, "refused")) == 1
        assert bench.stored(0) == []
        return
    (sent,) = events(got, "sent")
    stored = bench.stored(len(_MESSAGES))
    assert [(event["text"], event["queueId"]) for event in stored] == [(m.body, sent["queueId"]) for m in _MESSAGES]


def sends_to_queues(bench: Bench, program: str) -> None:
    messages = [Outgoing(body=str(number), queue=number % _QUEUES) for number in range(4)]
    sent = events(bench.run(program, message=messages), "sent")
    assert [event["queueId"] for event in sent] == [0, 1, 0, 1]
    stored = by_queue(bench.stored(4))
    assert {queue: [event["text"] for event in found] for queue, found in stored.items()} == {
        0: ["0", "2"],
        1: ["1", "3"],
    }


def sends_in_transactions(bench: Bench) -> None:
    """Committed at once, rolled back, and committed at the first back-check."""
    messages = [Outgoing(body=plan, keys=plan) for plan in ("c", "r", "uc")]
    got = bench.run("SendInTransaction", producerGroup=f"{bench.group}_p", message=messages, checks=1)
    assert [event["text"] for event in events(got, "checked")] == ["uc"]
    assert sorted(event["text"] for event in bench.stored(2)) == ["c", "uc"]


def names_the_queues(bench: Bench) -> None:
    (route,) = events(bench.run("Route"), "route")
    assert [name.rpartition(":")[2] for name in route["queues"]] == ["0", "1"]


def pulls(bench: Bench) -> None:
    bench.send(*_MESSAGES)
    received = bench.got("PullAll", count=len(_MESSAGES))
    assert told_of(received) == told_of_sent(_MESSAGES)


def pulls_at_an_offset(bench: Bench) -> None:
    bench.send(*_MESSAGES)
    got = bench.run("PullAt", queue=0, offset=["1", "99"])
    assert [event["status"] for event in events(got, "pulled")] == ["FOUND", "OFFSET_ILLEGAL"]
    assert [event["text"] for event in events(got, "received")] == ["消息 2", "消息 4"]


def subscribes(bench: Bench, program: str) -> None:
    bench.send(*_MESSAGES)
    assert told_of(bench.got(program, count=len(_MESSAGES))) == told_of_sent(_MESSAGES)


def seeks(bench: Bench) -> None:
    bench.send(*_MESSAGES)
    got = bench.run("LiteAssign", **{"queue": 1, "from": 1, "count": 2, "all": 3})
    received = [(event["by"], event["text"]) for event in events(got, "received")]
    assert [text for by, text in received if by == "after seek"] == ["消息 3", "消息 5"]
    assert len([text for by, text in received if by == "from the beginning"]) == 3
    assert events(got, "committed")


def takes_tags(bench: Bench) -> None:
    """All of a topic, and those with a tag, by clients that can choose."""
    subscribes(bench, "PushConcurrent")
    if "push.tags" not in adapters()[bench.client.id].lacks or bench.client.id == "go-2.1":
        only = bench.client.only(
            "received", "PushConcurrent", topic=bench.topic, group=f"{bench.group}_2", count=3, expression="A"
        )
        assert {event["tags"] for event in only} == {"A"}


def takes_in_order(bench: Bench) -> None:
    bench.send(*_MESSAGES)
    got = bench.run("PushOrderly", count=len(_MESSAGES))
    for found in by_queue(events(got, "received")).values():
        assert [event["queueOffset"] for event in found] == [0, 1, 2]
    assert [event["count"] for event in events(got, "overlaps")] == [0]


def broadcasts(bench: Bench) -> None:
    received = bench.got("PushBroadcast", message=_MESSAGES)
    assert Counter(event["by"] for event in received) == {"a": 6, "b": 6}


def fails_messages(bench: Bench) -> None:
    """A message that fails once comes again, counted."""
    bench.run("PushFailing", count=0, settle=0)  # so that the group's retry topic is there
    bench.send(Outgoing(body="once", tags="T", properties={"fail": "1"}))
    received = bench.got("PushFailing", count=2)
    assert [(event["text"], event["reconsumeTimes"]) for event in received] == [("once", 0), ("once", 1)]


def filters_by_sql(bench: Bench) -> None:
    bench.send(*_MESSAGES)
    received = bench.got("PushSql", sql=["n > 3", "n < 1"], count=3)
    assert sorted((event["by"], event["text"]) for event in received) == [
        ("0", "消息 4"),
        ("0", "消息 5"),
        ("1", "消息 0"),
    ]


def delays(bench: Bench) -> None:
    busy = f"{bench.topic}_busy"
    bench.make_topic(busy)
    got = bench.run(
        "PushDelayed", busy=busy, count=2, message=[Outgoing(body=str(level), delay=level) for level in (1, 2)]
    )
    received = {event["text"]: event["storeTimestamp"] - event["bornTimestamp"] for event in events(got, "received")}
    assert received["1"] >= 900
    assert received["2"] >= 1900


def is_woken(bench: Bench) -> None:
    got = bench.run("PushWhileSending", message=_MESSAGES[:2])
    assert [event["text"] for event in events(got, "received")] == ["消息 0", "消息 1"]
    assert all(event["ms"] < 10_000 for event in events(got, "delay"))


def traces(bench: Bench) -> None:
    got = bench.run("Traced", producerGroup=f"{bench.group}_p", message=[Outgoing(body="traced", keys="k")])
    (sent,) = events(got, "sent")
    bench.topic = "RMQ_SYS_TRACE_TOPIC"

    def came() -> bool:
        return any(sent["msgId"] in each["text"] and each["text"].startswith("Pub") for each in bench.stored(0))

    until = time.monotonic() + _WITHIN
    while not came():
        assert time.monotonic() < until
        time.sleep(0.05)


_CHECKS: Final[Mapping[str, Callable[[Bench], None]]] = {
    "SendSync": lambda bench: sends(bench, "SendSync"),
    "SendThrough": lambda bench: sends(bench, "SendThrough"),
    "SendAsync": lambda bench: sends(bench, "SendAsync"),
    "SendOneway": sends_one_way,
    "SendBatch": sends_a_batch,
    "SendToQueue": lambda bench: sends_to_queues(bench, "SendToQueue"),
    "SendBySelector": lambda bench: sends_to_queues(bench, "SendBySelector"),
    "SendInTransaction": sends_in_transactions,
    "Route": names_the_queues,
    "PullAll": pulls,
    "PullAt": pulls_at_an_offset,
    "LiteSubscribe": lambda bench: subscribes(bench, "LiteSubscribe"),
    "LiteAssign": seeks,
    "PushConcurrent": takes_tags,
    "PushOrderly": takes_in_order,
    "PushBroadcast": broadcasts,
    "PushFailing": fails_messages,
    "PushSql": filters_by_sql,
    "PushDelayed": delays,
    "PushWhileSending": is_woken,
    "Traced": traces,
}


def told_of(received: list[Event]) -> list[tuple[object, ...]]:
    """What all clients tell of messages."""
    return sorted((*digest(event), event["tags"], event["keys"]) for event in received)


def told_of_sent(messages: list[Outgoing]) -> list[tuple[object, ...]]:
    """The same of messages as they were sent."""
    return sorted((*body_digest(each.content), each.tags, each.keys) for each in messages)


@pytest.fixture(scope="module")
def others() -> Iterator[Callable[[str], Clients]]:
    """The processes of the clients, each started when it is first needed."""
    started: dict[str, Clients] = {}
    pool = Pool(Engine.HOST, adapters())

    def start(client: str) -> Clients:
        if client not in started:
            adapter = adapters()[client]
            adapter.prepare(Engine.HOST)
            started[client] = Clients(pool, adapter.environment(frozenset()))
        return started[client]

    yield start
    for each in started.values():
        each.close()


@pytest.mark.parametrize(("client", "program"), [each for each in _PROGRAMS if each not in _SKIPPED])
def test_a_program_does_what_it_says(
    client: str,
    program: str,
    others: Callable[[str], Clients],
    swift: Endpoint,
    unique: Callable[[str], str],
) -> None:
    at_endpoint = Client(clients=others(client), id=client, namesrv=swift.namesrv)
    bench = Bench(at_endpoint, swift, unique("Adapter"), unique)
    bench.make_topic(bench.topic)
    _CHECKS[program](bench)


@pytest.mark.parametrize("adapter", [*_OTHERS, *_GRPC], ids=lambda each: each.id)
def test_what_a_client_lacks_is_in_the_catalogue(adapter: Adapter) -> None:
    """A scenario that it names is there, and would run if it were not named."""
    for scenario, reason in adapter.lacks.items():
        assert reason
        assert set(catalogue()[scenario].programs) <= adapter.programs, scenario
    assert adapter.version


@pytest.mark.parametrize("adapter", _OTHERS, ids=lambda each: each.id)
def test_each_program_is_checked_here(adapter: Adapter) -> None:
    assert adapter.programs <= set(_CHECKS)


@pytest.mark.parametrize("adapter", _GRPC, ids=lambda each: each.id)
def test_each_program_that_speaks_grpc_is_in_a_scenario(adapter: Adapter) -> None:
    runs = [each for each in catalogue().values() if each.id not in adapter.lacks]
    used = {program for each in runs if set(each.programs) <= adapter.programs for program in each.programs}
    assert adapter.programs == used
