"""Filters of 5.x: by tags and by SQL92, with simple and push consumers."""

from __future__ import annotations

from typing import Final

from rocketwire.compat.case import Case
from rocketwire.compat.messages import Outgoing
from rocketwire.compat.scenario import Need, scenario
from rocketwire.compat.sdk import PUSH, SIMPLE, publish, push, simple

_SOURCE: Final = "rocketmq.apache.org, Message Filtering"
_MESSAGES: Final = [
    Outgoing(body=f"{tag}{number}", tags=tag, properties={"n": str(number)})
    for number in range(4)
    for tag in ("A", "B", "C")
]


@scenario(
    id="grpc-filter.tags",
    proves="A consumer gets the messages with the tags that it names, and no others.",
    source=_SOURCE,
    programs=("Publish", *SIMPLE, *PUSH),
)
def tags(case: Case) -> None:
    topic = case.topic(2, kind="NORMAL")
    publish(case, topic, _MESSAGES)
    with simple(case, topic, case.consumers(), expression="A || C") as consumer:
        received = consumer.receive(8, ack=True) + consumer.rest(1)
        assert sorted(event["text"] for event in received) == ["A0", "A1", "A2", "A3", "C0", "C1", "C2", "C3"]
    with push(case, topic, case.consumers(), expression="B") as listening:
        assert sorted(event["text"] for event in listening.taken(4)) == ["B0", "B1", "B2", "B3"]


@scenario(
    id="grpc-filter.sql",
    proves="A consumer gets the messages whose tag and properties its SQL expression accepts, and no others.",
    source=_SOURCE,
    needs=(Need.SQL,),
    programs=("Publish", *SIMPLE, *PUSH),
)
def sql(case: Case) -> None:
    topic = case.topic(2, kind="NORMAL")
    publish(case, topic, _MESSAGES)
    with simple(case, topic, case.consumers(), sql="n > 1 AND TAGS IN ('A', 'B')") as consumer:
        received = consumer.receive(4, ack=True) + consumer.rest(1)
        assert sorted(event["text"] for event in received) == ["A2", "A3", "B2", "B3"]
    with push(case, topic, case.consumers(), sql="TAGS = 'C' OR n = 0") as listening:
        expected = ["A0", "B0", "C0", "C1", "C2", "C3"]
        assert sorted(event["text"] for event in listening.taken(6)) == expected


@scenario(
    id="grpc-filter.comes-again",
    proves="A failed message of a filtered consumer is redelivered, though others are between.",
    source="Apache 5.5, PopMessageProcessor: the retry topic has a separate filter",
    programs=("Publish", *PUSH),
)
def is_redelivered(case: Case) -> None:
    topic, group = case.topic(1, kind="NORMAL"), case.consumers()
    messages = [Outgoing(body="other", tags="B"), Outgoing(body="again", tags="A", properties={"fail": "1"})]
    publish(case, topic, messages)
    with push(case, topic, group, expression="A") as listening:
        assert [(event["text"], event["attempt"]) for event in listening.taken(2)] == [("again", 1), ("again", 2)]
