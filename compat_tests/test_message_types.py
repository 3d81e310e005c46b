"""Topics with a message type: created by a client that knows types (5.5.0), used by one that does not."""

from __future__ import annotations

from collections.abc import Callable

from rocketwire.compat.brokers.endpoint import Endpoint
from rocketwire.compat.clients.client import Client, Clients, events
from rocketwire.compat.messages import Event, Outgoing

ORDERED = Outgoing(body="ordered", properties={"__SHARDINGKEY": "order-7"})
SENT = {"NORMAL": Outgoing(body="plain"), "FIFO": ORDERED, "DELAY": Outgoing(body="delayed", delay=1)}
IN_TRANSACTION = Outgoing(body="in a transaction", keys="c")
TYPES = (*SENT, "TRANSACTION")


def test_a_mismatch_is_refused(clients: Clients, endpoint: Endpoint, unique: Callable[[str], str], target: str) -> None:
    """Apache's broker has no types before 5.0 (and 5.x checks them in its proxy): it accepts everything."""
    maker = Client(clients=clients, id="java-5.5.0", namesrv=endpoint.namesrv)
    client = Client(clients=clients, id="java-4.9.7", namesrv=endpoint.namesrv)
    for kind in (*TYPES, ""):
        topic = unique(f"Typed{kind}")
        maker.run("CreateTopic", topic=topic, queues=1, type=kind)
        got = client.run("SendSync", topic=topic, message=SENT.values())
        got += client.run("SendInTransaction", topic=topic, producerGroup=unique("P"), message=[IN_TRANSACTION])
        refused = [refusal(event, topic) for event in events(got, "refused")]
        if target == "rocketwire" and kind:
            assert refused == [(13, kind, other) for other in TYPES if other != kind]
        else:
            assert refused == []
        assert len(events(got, "sent")) == len(TYPES) - len(refused)
        if kind in {"FIFO", ""}:
            assert len(client.only("sent", "SendBatch", topic=topic, message=[ORDERED, ORDERED])) == 1


def refusal(event: Event, topic: str) -> tuple[int, str, str]:
    """The code of a refusal, the type that the topic takes and the message's, as the remark names them."""
    start = f"current message type does not match with topic accept message types: topic[{topic}] accepts "
    text = event["message"]
    assert start in text
    accepted, _, found = text.partition(start)[2].partition(", the message is ")
    return event["code"], accepted, found.split()[0].strip(",")
