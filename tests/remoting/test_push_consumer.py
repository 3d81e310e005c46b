"""Push consumers of both front ends, against a real server. tests/remoting/test_trio_timing.py has the times."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from rocketwire.remoting import Begin, Later, Message, Producer, PushConsumer, ReceivedMessage
from rocketwire.remoting.admin.topics import put_topic
from rocketwire.remoting.cluster import BlockingCluster
from rocketwire.remoting.errors import ClientClosed, NotReached, Refused, SubscriptionInvalid
from rocketwire.wire.bodies.topic import TopicConfig
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.headers.client import GetConsumerListByGroupRequestHeader
from tests.cli.endpoint import Addresses, Answers, FakeAnswer, fake_server, real_endpoint
from tests.server.harness import free_port
from tests.server.processes import eventually


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Addresses]:
    """A server whose retries take a second, and that filters by properties."""
    changes: dict[str, Any] = {"message_delay_level": "1s " * 17 + "1s", "enable_property_filter": True}
    with real_endpoint(tmp_path_factory.mktemp("store"), **changes) as addresses:
        yield addresses


class Handler:
    def __init__(self) -> None:
        self.messages: list[ReceivedMessage] = []

    def __call__(self, message: ReceivedMessage) -> Later | None:
        self.messages.append(message)
        if message.body == b"raises" and message.reconsume_times == 0:
            raise ValueError("as wanted")
        return Later(1) if message.body == b"later" and message.reconsume_times < 2 else None

    @property
    def bodies(self) -> list[bytes]:
        return sorted(each.body for each in self.messages)


def send(front_end: Any, endpoint: Addresses, *messages: Message) -> None:
    with front_end.producer("P", str(endpoint.name_server)) as producer:
        for each in messages:
            producer.send(each)


def members(endpoint: Addresses, group: str) -> int:
    with BlockingCluster(str(endpoint.name_server)) as cluster:
        answer = cluster.broker("broker-a").ask(
            RequestCode.GET_CONSUMER_LIST_BY_GROUP,
            GetConsumerListByGroupRequestHeader(consumer_group=group),
            fine=(0, 1),
        )
    return bytes(answer.body).count(b"@")


def test_each_message_is_handled_and_failures_are_redelivered(front_end: Any, endpoint: Addresses) -> None:
    topic, group, handler = f"Pushed_{front_end.name}", f"pushed_{front_end.name}", Handler()
    send(front_end, endpoint, *(Message(topic, body) for body in (b"fine", b"raises", b"later")))
    with front_end.push_consumer(group, str(endpoint.name_server), begin=Begin.FIRST) as consumer:
        consumer.subscribe(topic)
        consumer.start(handler)
        assert eventually(lambda: len(handler.messages) == 6)
        assert members(endpoint, group) == 1
    assert Counter(handler.bodies) == {b"fine": 1, b"raises": 2, b"later": 3}
    assert {each.topic for each in handler.messages} == {topic}
    assert [each.reconsume_times for each in handler.messages if each.body == b"later"] == [0, 1, 2]
    assert len({each.message_id for each in handler.messages}) == 3
    assert members(endpoint, group) == 0
    with front_end.push_consumer(group, str(endpoint.name_server), begin=Begin.FIRST) as consumer:
        consumer.subscribe(topic)
        consumer.start(handler)
        send(front_end, endpoint, Message(topic, b"new"))
        assert eventually(lambda: len(handler.messages) == 7)
    assert handler.messages[-1].body == b"new"  # the others were committed


@pytest.mark.parametrize(("named", "expected"), [({"tags": "a||b"}, b"12"), ({"sql": "number > 1"}, b"23")])
def test_it_filters(front_end: Any, endpoint: Addresses, named: dict[str, str], expected: bytes) -> None:
    topic, handler = f"Filtered_{front_end.name}_{min(named)}", Handler()
    messages = [
        Message(topic, b"%d" % number, tags=tags, properties={"number": str(number)})
        for number, tags in ((1, "a"), (2, "b"), (3, "c"))
    ]
    send(front_end, endpoint, *messages)
    group = f"filtered_{front_end.name}_{min(named)}"
    with front_end.push_consumer(group, str(endpoint.name_server), begin=Begin.FIRST) as consumer:
        consumer.subscribe(topic, **named)
        consumer.start(handler)
        assert eventually(lambda: len(handler.messages) == 2)
    assert b"".join(handler.bodies) == expected


def test_members_share_the_queues(front_end: Any, endpoint: Addresses) -> None:
    topic, group = f"Shared_{front_end.name}", f"shared_{front_end.name}"
    first, second = Handler(), Handler()

    def spread() -> tuple[int, int]:
        """In how many queues each of two members gets messages that are sent now."""
        first.messages.clear()
        second.messages.clear()
        for queue in producer.queues(topic):
            producer.send(Message(topic, b"x"), queue=queue)
        assert eventually(lambda: len(first.messages) + len(second.messages) >= 4)
        return len({each.queue for each in first.messages}), len({each.queue for each in second.messages})

    with front_end.producer("P", str(endpoint.name_server)) as producer:
        producer.send(Message(topic, b"x"))
        with front_end.push_consumer(group, str(endpoint.name_server), begin=Begin.FIRST) as one:
            one.subscribe(topic)
            one.start(first)
            assert eventually(lambda: spread() == (4, 0))
            with front_end.push_consumer(group, str(endpoint.name_server), begin=Begin.FIRST) as two:
                two.subscribe(topic)
                two.start(second)
                assert eventually(lambda: spread() == (2, 2))
            assert eventually(lambda: spread() == (4, 0))


def test_members_share_queues_that_came_meanwhile(front_end: Any, endpoint: Addresses) -> None:
    """The first member has a route that is not old yet: with it, some queues would have no member."""
    topic, group = f"Grown_{front_end.name}", f"grown_{front_end.name}"
    names, handler = str(endpoint.name_server), Handler()

    def grown(queues: int) -> None:
        with BlockingCluster(names) as cluster:
            config = TopicConfig(topic_name=topic, read_queue_nums=queues, write_queue_nums=queues)
            put_topic(cluster.broker("broker-a"), config)

    grown(4)
    with front_end.push_consumer(group, names, begin=Begin.FIRST) as one:
        one.subscribe(topic)
        one.start(handler)
        assert eventually(lambda: members(endpoint, group) == 1)
        grown(8)
        with front_end.push_consumer(group, names, begin=Begin.FIRST) as two:
            two.subscribe(topic)
            two.start(handler)
            with front_end.producer("P", names) as producer:
                for queue in producer.queues(topic):
                    producer.send(Message(topic, b"x"), queue=queue)
            assert eventually(lambda: len({each.queue for each in handler.messages}) == 8, 15)


def test_what_cannot_start(front_end: Any, endpoint: Addresses) -> None:
    with front_end.push_consumer("G", str(endpoint.name_server)) as consumer:
        with pytest.raises(SubscriptionInvalid, match="there is no subscription"):
            consumer.start(Handler())
        send(front_end, endpoint, Message("Known", b"x"))
        consumer.subscribe("Known", sql="number >")
        with pytest.raises(Refused):
            consumer.start(Handler())
        consumer.subscribe("Known")
        consumer.start(Handler())
        with pytest.raises(SubscriptionInvalid, match="before the consumer starts"):
            consumer.subscribe("Other")
        with pytest.raises(SubscriptionInvalid, match="has started"):
            consumer.start(Handler())
    with front_end.push_consumer("G", f"127.0.0.1:{free_port()}") as consumer:
        consumer.subscribe("T")
        with pytest.raises(NotReached):
            consumer.start(Handler())
    with pytest.raises(SubscriptionInvalid, match="blank"), front_end.push_consumer(" ", str(endpoint.name_server)):
        pass


def test_run_ends_with_stop_and_close_waits_for_the_handler(endpoint: Addresses) -> None:
    with PushConsumer("running", str(endpoint.name_server), begin=Begin.FIRST) as consumer:
        from tests.remoting.front_ends import Blocking

        send(Blocking(), endpoint, Message("Running", b"x"))
        done = threading.Event()

        def handle(_: ReceivedMessage) -> None:
            consumer.stop()
            assert not done.wait(0.3)
            done.set()

        consumer.subscribe("Running")
        consumer.run(handle)
    assert done.is_set()
    with pytest.raises(ClientClosed):
        consumer.start(handle)


def test_a_handler_that_returns_something_else(endpoint: Addresses, caplog: pytest.LogCaptureFixture) -> None:
    from tests.remoting.front_ends import Blocking

    send(Blocking(), endpoint, Message("Odd", b"x"))
    seen: list[int] = []

    def handle(message: ReceivedMessage) -> Any:
        seen.append(message.reconsume_times)
        return "done" if len(seen) == 1 else None

    with PushConsumer("odd", str(endpoint.name_server), begin=Begin.FIRST) as consumer:
        consumer.subscribe("Odd")
        consumer.start(handle)
        assert eventually(lambda: len(seen) == 2)
    assert "the handler returned 'done': None or Later is wanted" in caplog.text
    assert seen == [0, 1]


def test_a_broker_that_refuses_heartbeats_is_logged(front_end: Any, caplog: pytest.LogCaptureFixture) -> None:
    answers: Answers = {RequestCode.HEART_BEAT: lambda _: FakeAnswer(1, remark="no more clients")}
    with fake_server(answers) as server, front_end.push_consumer("G", server.address) as consumer:
        consumer.subscribe("T")
        consumer.start(Handler())
        assert eventually(lambda: "no more clients" in caplog.text)


@pytest.mark.slow
def test_a_handler_that_exits_fails_its_message_and_the_consumer_continues(endpoint: Addresses) -> None:
    handled: list[bytes] = []

    def handle(message: ReceivedMessage) -> None:
        if message.body == b"exits" and not message.reconsume_times:
            raise SystemExit
        handled.append(message.body)

    with (
        Producer("P", str(endpoint.name_server)) as producer,
        PushConsumer("exiting", str(endpoint.name_server), begin=Begin.FIRST, concurrency=1) as consumer,
    ):
        consumer.subscribe("Exits")
        for body in (b"exits", b"next"):
            producer.send(Message("Exits", body, order_key="one queue"))
        consumer.start(handle)
        assert eventually(lambda: handled == [b"next", b"exits"])
