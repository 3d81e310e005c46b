"""Topics with a message type, used by a client that may not know types."""

from __future__ import annotations

from typing import Final

from rocketwire.compat.case import Case
from rocketwire.compat.clients.client import events
from rocketwire.compat.messages import Event, Outgoing
from rocketwire.compat.scenario import scenario
from rocketwire.wire.facts import properties as property_names

ORDERED: Final = Outgoing(body="ordered", properties={property_names.SHARDING_KEY: "order-7"})
SENT: Final = {"NORMAL": Outgoing(body="plain"), "FIFO": ORDERED, "DELAY": Outgoing(body="delayed", delay=1)}
IN_TRANSACTION: Final = Outgoing(body="in a transaction", keys="c")
TYPES: Final = (*SENT, "TRANSACTION")


@scenario(
    id="type.mismatch-refused",
    proves="A message of another type than its topic's is refused with code 13, and both types are named.",
    source="Apache 5.5, TopicMessageTypeValidator of its proxy, whose rule rocketwire's broker keeps; docs/delivery.md",
    ours_only=True,
    programs=("SendSync", "SendInTransaction", "SendBatch"),
    limit=120,
)
def mismatch_refused(case: Case) -> None:
    client = case.client
    for kind in (*TYPES, ""):
        topic = case.topic(1, name=f"Typed{kind}", kind=kind)
        got = client.run("SendSync", topic=topic, message=SENT.values())
        got += client.run("SendInTransaction", topic=topic, producerGroup=case.group("P"), message=[IN_TRANSACTION])
        refused = [_refusal(event, topic) for event in events(got, "refused")]
        assert refused == ([(13, kind, other) for other in TYPES if other != kind] if kind else [])
        assert len(events(got, "sent")) == len(TYPES) - len(refused)
        if kind in {"FIFO", ""}:
            assert len(client.only("sent", "SendBatch", topic=topic, message=[ORDERED, ORDERED])) == 1


@scenario(
    id="type.not-checked",
    proves="A topic without a message type takes messages of every kind.",
    source="Apache 4.9, SendMessageProcessor: it knows no types",
    programs=("SendSync", "SendInTransaction", "SendBatch"),
)
def not_checked(case: Case) -> None:
    topic = case.topic(1, name="Typeless")
    got = case.client.run("SendSync", topic=topic, message=SENT.values())
    got += case.client.run("SendInTransaction", topic=topic, producerGroup=case.group("P"), message=[IN_TRANSACTION])
    assert events(got, "refused") == []
    assert len(events(got, "sent")) == len(TYPES)
    assert len(case.client.only("sent", "SendBatch", topic=topic, message=[ORDERED, ORDERED])) == 1


def _refusal(event: Event, topic: str) -> tuple[int, str, str]:
    """The code of a refusal, the type that the topic takes and the message's, as the remark names them."""
    start = f"current message type does not match with topic accept message types: topic[{topic}] accepts "
    text = event["message"]
    assert start in text
    accepted, _, found = text.partition(start)[2].partition(", the message is ")
    return event["code"], accepted, found.split()[0].strip(",")
