"""Messages of 5.x with a delivery time: delivered then, not before, or recalled."""

from __future__ import annotations

import time
from typing import Final

from rocketwire.compat.case import Case
from rocketwire.compat.clients.client import events
from rocketwire.compat.messages import Outgoing
from rocketwire.compat.scenario import Need, scenario
from rocketwire.compat.sdk import LATE, PUSH, SIMPLE, publish, push, simple

_SOURCE: Final = "rocketmq.apache.org, Delay Message"
_DAYS: Final = 366 * 86_400_000  # ms


@scenario(
    id="grpc-delay.delivered-then",
    proves="A message is delivered at its delivery time, not before; that of the past at once.",
    source=_SOURCE,
    needs=(Need.TIMER,),
    programs=("Publish", *PUSH),
)
def delivered_then(case: Case) -> None:
    topic, group = case.topic(2, kind="DELAY"), case.consumers()
    with push(case, topic, group) as consumer:
        began = time.time() * 1000
        dues = {"in 3 s": 3000, "in 6 s": 6000, "past": -1000}
        messages = [Outgoing(body=body, due=str(round(began + ms)), tags="T") for body, ms in dues.items()]
        publish(case, topic, messages)
        received = consumer.taken(3)
    assert [event["text"] for event in received] == ["past", "in 3 s", "in 6 s"]
    for event in received:
        due = began + dues[event["text"]]
        assert due - 50 <= event["at"] < max(due, began) + LATE * 1000
        assert event["tags"] == "T"


@scenario(
    id="grpc-delay.too-far",
    proves="A delivery time beyond what the endpoint allows is refused.",
    source="Apache 5.5, SendMessageActivity.fillDelayMessageProperty: code 40012",
    needs=(Need.TIMER,),
    programs=("Publish",),
)
def too_far(case: Case) -> None:
    topic = case.topic(1, kind="DELAY")
    got = case.client.run("Publish", topic=topic, message=[Outgoing(body="far", due=f"+{_DAYS}")], attempts=1)
    assert events(got, "sent") == []
    (refused,) = events(got, "refused")
    assert refused["code"] in {None, 40012}


@scenario(
    id="grpc-delay.recalled",
    proves="A recalled message is not delivered, others are; a handle that is none is refused.",
    source="Apache 5.5, RecallMessageProcessor of the broker",
    needs=(Need.TIMER, Need.RECALL),
    programs=("Publish", "Recall", *SIMPLE),
)
def recalled(case: Case) -> None:
    topic, group = case.topic(1, kind="DELAY"), case.consumers()
    sent = publish(case, topic, [Outgoing(body="recalled", due="+6000"), Outgoing(body="delivered", due="+6000")])
    assert sent["recalled"]["handle"]
    got = case.client.run("Recall", topic=topic, handle=[sent["recalled"]["handle"], "bm9uc2Vuc2U="])
    assert [event["msgId"] for event in events(got, "recalled")] == [sent["recalled"]["msgId"]]
    assert len(events(got, "refused")) == 1
    with simple(case, topic, group) as consumer:
        (received,) = consumer.receive(1, ack=True)
        assert received["text"] == "delivered"
        assert consumer.rest(2) == []
