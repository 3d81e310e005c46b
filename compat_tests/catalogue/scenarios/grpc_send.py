"""Clients of 5.x send: every kind of message, sizes, many at once, and what is refused."""

from __future__ import annotations

from functools import partial
from typing import Final

from rocketwire.compat.case import Case
from rocketwire.compat.clients.client import events
from rocketwire.compat.messages import Outgoing, body_digest, digest, user_properties
from rocketwire.compat.scenario import scenario
from rocketwire.compat.sdk import publish
from rocketwire.wire.facts import properties as names

_SOURCE: Final = "rocketmq.apache.org, Normal Message; Apache 5.5, SendMessageActivity of the proxy"
_MANY: Final = 200


of_send = partial(scenario, programs=("Publish",))


@of_send(
    id="grpc-send.normal",
    proves="A message is stored whole: body, tag, keys and properties, under the id in the answer.",
    source=_SOURCE,
)
def normal(case: Case) -> None:
    topic = case.topic(2, kind="NORMAL")
    messages = [
        Outgoing(body="消息 1", tags="标签", keys="k1", properties={"名": "值", "n": "1"}),
        Outgoing(body="second", tags="B", keys="k2 k3"),
        Outgoing(body="bare"),
    ]
    sent = publish(case, topic, messages)
    stored = {event["text"]: event for event in case.read(topic, 3)}
    assert set(stored) == {each.body for each in messages}
    for each in messages:
        event = stored[each.body]
        assert event["msgId"] == sent[each.body]["msgId"]
        assert event["tags"] == each.tags
        assert set((event["keys"] or "").split()) == set((each.keys or "").split())
        assert event["properties"].items() >= each.properties.items()
        assert event["reconsumeTimes"] == 0
    assert len({event["msgId"] for event in sent.values()}) == 3


@of_send(
    id="grpc-send.sizes",
    proves="Bodies up to nearly 4 MiB are stored as they were, whether the client compresses them or not.",
    source="Apache 5.5, ProxyConfig.maxMessageSize: 4 MiB",
)
def sizes(case: Case) -> None:
    topic = case.topic(1, kind="NORMAL")
    messages = [
        Outgoing(body="1"),
        Outgoing(body="noise", size=100_000),
        Outgoing(body="repeated ", repeat=50_000),
        Outgoing(body="long", size=(4 << 20) - 1000),
    ]
    got = case.client.run("Publish", topic=topic, message=messages)
    assert events(got, "refused") == []
    assert len(events(got, "sent")) == len(messages)
    stored = case.read(topic, len(messages))
    assert sorted(map(digest, stored)) == sorted(body_digest(each.content) for each in messages)


@of_send(
    id="grpc-send.too-long",
    proves="A body beyond 4 MiB is refused, by the client or by the endpoint, and not stored.",
    source="Apache 5.5, GrpcValidator.validateMessageBodySize: code 41301",
)
def too_long(case: Case) -> None:
    topic = case.topic(1, kind="NORMAL")
    got = case.client.run("Publish", topic=topic, message=[Outgoing(body="long", size=(4 << 20) + 1)], attempts=1)
    (refused,) = events(got, "refused")
    assert refused["code"] in {None, 41301}
    assert case.read(topic, 0) == []


@of_send(
    id="grpc-send.many-at-once",
    proves="Many messages that wait for their answers at once on one connection are stored once each.",
    source=_SOURCE,
)
def many_at_once(case: Case) -> None:
    topic = case.topic(4, kind="NORMAL")
    messages = [Outgoing(body=f"message {number}", properties={"n": str(number)}) for number in range(_MANY)]
    sent = publish(case, topic, messages, **{"async": 1})
    stored = case.read(topic, _MANY)
    assert sorted(event["text"] for event in stored) == sorted(sent)
    assert {event["text"]: event["msgId"] for event in stored} == {text: event["msgId"] for text, event in sent.items()}


@of_send(
    id="grpc-send.batch",
    proves="The messages of a batch are stored in one queue, in their order, each whole.",
    source="Apache 5.5, SendMessageActivity.buildMessage of several messages",
    programs=("PublishBatch",),
)
def batch(case: Case) -> None:
    topic = case.topic(4, kind="NORMAL")
    messages = [Outgoing(body=f"message {number}", tags="T", properties={"n": str(number)}) for number in range(5)]
    got = case.client.run("PublishBatch", topic=topic, message=messages)
    assert events(got, "refused") == []
    assert events(got, "sent")  # Apache answers with the first only
    stored = case.read(topic, len(messages))
    assert [event["text"] for event in stored] == [each.body for each in messages]
    assert {event["tags"] for event in stored} == {"T"}
    assert len({event["queueId"] for event in stored}) == 1
    assert [event["properties"]["n"] for event in stored] == [str(number) for number in range(5)]


@of_send(
    id="grpc-send.of-each-type",
    proves="A topic takes messages of its type, which is in the properties that 4.x's clients read.",
    source="Apache 5.5, SendMessageActivity.buildMessageProperty and TopicMessageTypeValidator",
)
def of_each_type(case: Case) -> None:
    fifo, delay = case.topic(2, kind="FIFO"), case.topic(2, kind="DELAY")
    publish(case, fifo, [Outgoing(body="ordered", group="order-7")])
    publish(case, delay, [Outgoing(body="later", due="+1000")])
    (ordered,) = case.read(fifo, 1)
    assert ordered["properties"][names.SHARDING_KEY] == "order-7"
    (later,) = case.read(delay, 1)
    assert later["text"] == "later"
    assert "order-7" not in user_properties(later).values()


@of_send(
    id="grpc-send.other-type-refused",
    proves="A message of another type than its topic's is refused, by the client or by the endpoint.",
    source="Apache 5.5, TopicMessageTypeValidator: code 40014",
)
def other_type_refused(case: Case) -> None:
    kinds = {
        "NORMAL": Outgoing(body="plain"),
        "FIFO": Outgoing(body="ordered", group="g"),
        "DELAY": Outgoing(body="later", due="+1000"),
    }
    for kind in kinds:
        topic = case.topic(1, kind=kind)
        others = [each for name, each in kinds.items() if name != kind]
        got = case.client.run("Publish", topic=topic, message=others, attempts=1)
        assert events(got, "sent") == []
        refused = events(got, "refused")
        assert len(refused) == len(others)
        assert {event["code"] for event in refused} <= {None, 40014}
        assert case.read(topic, 0) == []


@of_send(
    id="grpc-send.missing-topic",
    proves="A topic that is not there is not created: its messages are refused.",
    source="Apache 5.5, RouteActivity: code 40402",
)
def missing_topic(case: Case) -> None:
    topic = case.unique("Missing")
    got = case.client.run("Publish", topic=topic, message=[Outgoing(body="nowhere")], attempts=1)
    assert events(got, "sent") == []
    (refused,) = events(got, "refused")
    assert refused["code"] in {None, 40402}
    assert not case.has_topic(topic)
