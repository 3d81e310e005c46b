"""Messages found again by key, by offset message id and by unique key."""

from __future__ import annotations

from compat_tests.clients import Client, events
from compat_tests.messages import Outgoing, assert_each_once, assert_same


def test_by_key_and_by_ids(client: Client, topic: str) -> None:
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


def test_no_more_than_asked_for(client: Client, topic: str) -> None:
    messages = [Outgoing(body=f"{i}", keys="same") for i in range(19)]
    messages.append(Outgoing(body="19", keys="same last"))  # once "last" is found, the index has them all
    got = client.run("Query", topic=topic, message=messages, key=["last", "same"], most=5)
    newest = sorted(int(event["text"]) for event in events(got, "by key") if event["key"] == "same")
    assert newest == [15, 16, 17, 18, 19]


def test_a_key_nobody_sent(client: Client, topic: str) -> None:
    client.run("SendSync", topic=topic, message=[Outgoing(body="x", keys="other")])
    (nothing,) = client.only("nothing", "QueryMissing", topic=topic, key="nobody")
    assert nothing["code"] in {17, 208}  # TOPIC_NOT_EXIST: what 4.x clients say when no broker knows; 208 is NO_MESSAGE


def test_an_id_past_the_log(client: Client, topic: str) -> None:
    """An offset message id whose place in the log was never written."""
    (sent,) = client.only("sent", "SendSync", topic=topic, message=[Outgoing(body="x")])
    missing = sent["offsetMsgId"][:16] + f"{1 << 40:016X}"
    (answer,) = client.only("missing", "Query", topic=topic, missing=[missing])
    assert answer.get("found") is not True
