"""Transactions of 5.x: the letters of a message's key are its producer's answers, at once and then at each check."""

from __future__ import annotations

from collections import Counter
from typing import Final

from rocketwire.compat.case import Case
from rocketwire.compat.clients.client import events
from rocketwire.compat.messages import Outgoing
from rocketwire.compat.scenario import Need, scenario
from rocketwire.compat.sdk import SIMPLE, checked_until, simple

_SOURCE: Final = "rocketmq.apache.org, Transaction Message; Apache 5.5, EndTransactionActivity of the proxy"


def _plan(keys: str) -> Outgoing:
    return Outgoing(body=keys, keys=keys, tags="Tag", properties={"plan": keys})


@scenario(
    id="grpc-transaction.at-once",
    proves="What a producer commits at once is delivered, under the id in the answer; what it rolls back is not.",
    source=_SOURCE,
    programs=("PublishInTransaction", *SIMPLE),
)
def at_once(case: Case) -> None:
    topic, group = case.topic(2, kind="TRANSACTION"), case.consumers()
    messages = [_plan("c1"), _plan("r"), _plan("c2")]
    got = case.client.run("PublishInTransaction", topic=topic, message=messages)
    sent = {event["text"]: event["msgId"] for event in events(got, "sent")}
    assert set(sent) == {"c1", "r", "c2"}
    with simple(case, topic, group) as consumer:
        received = consumer.receive(2, ack=True)
        assert {event["text"]: event["msgId"] for event in received} == {each: sent[each] for each in ("c1", "c2")}
        assert {event["tags"] for event in received} == {"Tag"}
        assert consumer.rest(1) == []


@scenario(
    id="grpc-transaction.checked",
    proves="A producer that has not decided gets further back-checks until it decides, and its answer counts.",
    source="Apache 5.5, TransactionalMessageServiceImpl; RecoverOrphanedTransactionCommand of the telemetry stream",
    needs=(Need.SHORT_TRANSACTIONS,),
    programs=("PublishInTransaction",),
    limit=120,
)
def checked(case: Case) -> None:
    topic = case.topic(1, kind="TRANSACTION")
    messages = [_plan("c"), _plan("uc"), _plan("ur"), _plan("uuc")]
    wanted = ["uc", "ur", "uuc", "uuc"]
    checked = checked_until(
        lambda **more: case.client.run("PublishInTransaction", topic=topic, **more), messages, wanted
    )
    for event in checked:
        assert (event["topic"], event["tags"], event["properties"]["plan"]) == (topic, "Tag", event["text"])
    came = Counter(event["text"] for event in case.read(topic, 3))
    # A producer that is checked while its commit is in flight commits twice, and Apache's broker takes both.
    again = Counter(event["text"] for event in checked) - Counter(wanted)
    assert Counter({"c": 1, "uc": 1, "uuc": 1}) <= came <= Counter({"c": 1, "uc": 1, "uuc": 1}) + again


@scenario(
    id="grpc-transaction.another-producer",
    proves="Once a producer has left, another one of its topic gets the back-checks.",
    source="Apache 5.5, ProducerManager.getAvailableChannel of the broker",
    needs=(Need.SHORT_TRANSACTIONS,),
    programs=("PublishInTransaction",),
    limit=120,
)
def another_producer(case: Case) -> None:
    topic = case.topic(1, kind="TRANSACTION")
    got = case.client.run("PublishInTransaction", topic=topic, message=[_plan("uc")], checks=0)
    assert events(got, "checked") == []
    got = case.client.run("PublishInTransaction", topic=topic, checks=1)
    assert {event["text"] for event in events(got, "checked")} == {"uc"}
    assert [event["text"] for event in case.read(topic, 1)] == ["uc"]
