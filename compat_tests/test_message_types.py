"""Topics that take one type of messages: made by a client that knows of types (5.5.0), sent to by one that does not."""

from __future__ import annotations

from collections.abc import Callable

from compat_tests.clients import Client, Clients, events
from compat_tests.endpoints import Endpoint
from compat_tests.messages import Event, Outgoing

PLAIN = Outgoing(body="plain")
ORDERED = Outgoing(body="ordered", properties={"__SHARDINGKEY": "order-7"})


def test_a_mismatch_is_refused(clients: Clients, endpoint: Endpoint, unique: Callable[[str], str], target: str) -> None:
    """Apache's broker has no types before 5.0 (and 5.x checks them in its proxy): it takes everything."""
    maker = Client(clients=clients, version="5.5.0", namesrv=endpoint.namesrv)
    client = Client(clients=clients, version="4.9.7", namesrv=endpoint.namesrv)
    took = {}
    for kind in ("NORMAL", "FIFO", ""):
        topic = unique(f"Typed{kind}")
        maker.run("CreateTopic", topic=topic, queues=1, type=kind)
        got = client.run("SendSync", topic=topic, message=[PLAIN, ORDERED])
        took[kind] = len(events(got, "sent")), [refusal(event, topic) for event in events(got, "refused")]
        got = client.run("SendBatch", topic=topic, message=[ORDERED, ORDERED]) if kind != "NORMAL" else []
        assert len(events(got, "sent")) == (kind != "NORMAL")
    if target == "rocketwire":
        assert took == {
            "NORMAL": (1, [(13, "NORMAL", "FIFO")]),
            "FIFO": (1, [(13, "FIFO", "NORMAL")]),
            "": (2, []),
        }
    else:
        assert took == {"NORMAL": (2, []), "FIFO": (2, []), "": (2, [])}


def refusal(event: Event, topic: str) -> tuple[int, str, str]:
    """The code of a refusal, the type that the topic takes and the message's, as the remark names them."""
    start = f"current message type does not match with topic accept message types: topic[{topic}] accepts "
    text = event["message"]
    assert start in text
    accepted, _, found = text.partition(start)[2].partition(", the message is ")
    return event["code"], accepted, found.split()[0].strip(",")
