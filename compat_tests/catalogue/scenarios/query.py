"""Messages found again by key, by offset message id and by unique key."""

from __future__ import annotations

from typing import Final

from rocketwire.compat.case import Case
from rocketwire.compat.clients.client import events
from rocketwire.compat.messages import Outgoing, assert_each_once, assert_same
from rocketwire.compat.scenario import scenario

_QUERY: Final = "Apache 4.9, QueryMessageProcessor, IndexService and MQAdminImpl"


@scenario(
    id="query.by-key-and-ids",
    proves="A message is found by each of its keys, by its unique key and by its offset message id, whole.",
    source=_QUERY,
    programs=("Query",),
)
def by_key_and_ids(case: Case) -> None:
    client, topic = case.client, case.topic()
    messages = [
        Outgoing(body="one", tags="T", keys="order-1 shared", properties={"属性": "值"}),
        Outgoing(body="two", tags="T", keys="order-2 shared"),
        Outgoing(body="三", keys="订单"),
        Outgoing(body="no key"),
    ]
    got = client.run("Query", topic=topic, message=messages, key=["order-1", "shared", "订单"])
    found = {
        key: [event for event in events(got, "by key") if event["key"] == key] for key in ("order-1", "shared", "订单")
    }
    assert_each_once(found["order-1"], messages[:1])
    assert_each_once(found["shared"], messages[:2])
    assert_each_once(found["订单"], messages[2:3])
    for how in ("by offset id", "by unique key"):
        looked_up = events(got, how)
        assert len(looked_up) == len(messages)
        for event, message in zip(looked_up, messages, strict=True):
            assert_same(event, message)
    for sent, event in zip(events(got, "sent"), events(got, "by offset id"), strict=True):
        assert (event["queueId"], event["queueOffset"]) == (sent["queueId"], sent["queueOffset"])


@scenario(
    id="query.no-more-than-asked",
    proves="Of many messages with a key the requested number comes, the newest.",
    source=_QUERY,
    programs=("Query",),
)
def no_more_than_requested(case: Case) -> None:
    client, topic = case.client, case.topic()
    messages = [Outgoing(body=f"{i}", keys="same") for i in range(20)]
    got = client.run("Query", topic=topic, message=messages, key=["same"], most=5)
    of_brokers: dict[str, list[int]] = {}
    for number, event in enumerate(events(got, "sent")):
        of_brokers.setdefault(event["broker"], []).append(number)
    newest = sorted(
        number for numbers in of_brokers.values() for number in numbers[-5:]
    )  # each broker answers the query
    assert sorted(int(event["text"]) for event in events(got, "by key")) == newest


@scenario(
    id="query.missing-key",
    proves="A key of no message is answered as missing.",
    source=_QUERY,
    programs=("QueryMissing",),
    background=("SendSync",),
)
def missing_key(case: Case) -> None:
    client, topic = case.client, case.topic()
    case.doing("SendSync").run("SendSync", topic=topic, message=[Outgoing(body="x", keys="other")])
    (nothing,) = client.only("nothing", "QueryMissing", topic=topic, key="nobody")
    assert nothing["code"] in {17, 208}  # TOPIC_NOT_EXIST: from 4.x clients when no broker knows; 208 is NO_MESSAGE


@scenario(
    id="query.missing-id",
    proves="An offset message id past the log finds nothing.",
    source="Apache 4.9, QueryMessageProcessor.viewMessageById",
    programs=("Query",),
    background=("SendSync",),
)
def missing_id(case: Case) -> None:
    client, topic = case.client, case.topic()
    (sent,) = case.doing("SendSync").only("sent", "SendSync", topic=topic, message=[Outgoing(body="x")])
    missing = sent["offsetMsgId"][:16] + f"{1 << 40:016X}"
    (answer,) = client.only("missing", "Query", topic=topic, missing=[missing])
    assert answer.get("found") is not True
