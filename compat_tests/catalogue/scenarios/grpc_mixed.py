"""Clients of 4.x and of 5.x on the same topics: what one sends the other receives."""

from __future__ import annotations

import time
from typing import Final

from rocketwire.compat.case import Case
from rocketwire.compat.clients.client import events
from rocketwire.compat.messages import Outgoing, body_digest, digest, user_properties
from rocketwire.compat.scenario import Need, scenario
from rocketwire.compat.sdk import LATE, PUSH, SIMPLE, checked_until, publish, push, simple
from rocketwire.wire.facts import properties as names
from rocketwire.wire.names import dead_letter_topic

_SOURCE: Final = "rocketmq.apache.org, Version Features: 5.x serves clients of 4.x; Apache 5.5, GrpcConverter"


@scenario(
    id="grpc-mixed.sent-by-4",
    proves="What a client of 4.x sends, a client of 5.x receives: tag, keys, properties, order, delay level.",
    source=_SOURCE,
    needs=(Need.DELAYS_KNOWN,),
    programs=SIMPLE,
    background=("SendSync", "SendToQueue"),
)
def sent_by_4(case: Case) -> None:
    topic, group = case.topic(1), case.consumers()
    old = case.doing("SendSync")
    plain = Outgoing(body="消息", tags="T", keys="k1 k2", properties={"名": "值"})
    ordered = Outgoing(body="ordered", properties={names.SHARDING_KEY: "order-7"})
    sent = old.only("sent", "SendSync", topic=topic, message=[plain, ordered])
    began = time.time()
    old.only("sent", "SendSync", topic=topic, message=[Outgoing(body="delayed", delay=1)])
    with simple(case, topic, group) as consumer:
        received = {event["text"]: event for event in consumer.receive(3, ack=True)}
    assert set(received) == {"消息", "ordered", "delayed"}
    got = received["消息"]
    assert (got["tags"], set(got["keys"].split())) == ("T", {"k1", "k2"})
    assert user_properties(got) == {"名": "值"}
    assert got["msgId"] == sent[0]["msgId"]
    assert received["ordered"]["messageGroup"] == "order-7"
    first_level = case.endpoint.delays[0] / 1000
    waited = received["delayed"]["at"] / 1000 - began
    assert first_level - 0.5 <= waited < first_level + LATE


@scenario(
    id="grpc-mixed.sent-in-transaction-by-4",
    proves="A client of 5.x receives what a client of 4.x committed, at once or at a back-check, and nothing else.",
    source=_SOURCE,
    needs=(Need.SHORT_TRANSACTIONS,),
    programs=SIMPLE,
    background=("SendInTransaction",),
    limit=120,
)
def sent_in_transaction_by_4(case: Case) -> None:
    topic, group = case.topic(1), case.consumers()
    messages = [Outgoing(body=keys, keys=keys, tags="T") for keys in ("c", "r", "uc", "ur")]
    group_of_4 = case.group("old")
    checked_until(
        lambda **more: case.doing("SendInTransaction").run(
            "SendInTransaction", topic=topic, producerGroup=group_of_4, **more
        ),
        messages,
        ["uc", "ur"],
    )
    with simple(case, topic, group) as consumer:
        received = consumer.receive(2, ack=True) + consumer.rest(1)
    assert sorted(event["text"] for event in received) == ["c", "uc"]


@scenario(
    id="grpc-mixed.received-by-4",
    proves="What a client of 5.x sends, a push consumer of 4.x receives: tag, keys, properties; timed ones when due.",
    source=_SOURCE,
    needs=(Need.TIMER,),
    programs=("Publish",),
    background=("PushConcurrent",),
)
def received_by_4(case: Case) -> None:
    topic, later = case.topic(2, kind="NORMAL"), case.topic(1, kind="DELAY")
    message = Outgoing(body="消息", tags="T", keys="k1", properties={"名": "值"})
    sent = publish(case, topic, [message])
    publish(case, later, [Outgoing(body="later", due="+3000")])
    old = case.doing("PushConcurrent")
    (received,) = old.only("received", "PushConcurrent", topic=topic, group=case.group(), count=1)
    assert (digest(received), received["tags"], received["keys"]) == (body_digest(message.content), "T", "k1")
    assert received["properties"].items() >= message.properties.items()
    assert received["msgId"] == sent["消息"]["msgId"]
    (timed,) = old.only("received", "PushConcurrent", topic=later, group=case.group(), count=1)
    assert timed["text"] == "later"
    assert timed["storeTimestamp"] - timed["bornTimestamp"] >= 2500


@scenario(
    id="grpc-mixed.filtered-by-sql",
    proves="An SQL expression accepts the same messages of clients of 4.x and of 5.x, for consumers of both.",
    source=_SOURCE,
    needs=(Need.SQL,),
    programs=("Publish", *SIMPLE),
    background=("SendSync", "PushSql"),
)
def filtered_by_sql(case: Case) -> None:
    topic = case.topic(2, kind="NORMAL")
    of_4, of_5 = (
        [Outgoing(body=f"{version}: {n}", tags="AB"[n % 2], properties={"n": str(n)}) for n in range(4)]
        for version in (4, 5)
    )
    case.doing("SendSync").run("SendSync", topic=topic, message=of_4)
    publish(case, topic, of_5)
    sql, wanted = "n > 0 AND TAGS = 'B'", ["4: 1", "4: 3", "5: 1", "5: 3"]
    with simple(case, topic, case.consumers(), sql=sql) as consumer:
        received = consumer.receive(4, ack=True) + consumer.rest(1)
    assert sorted(event["text"] for event in received) == wanted
    received = case.doing("PushSql").only(
        "received", "PushSql", topic=topic, group=case.group(), sql=[sql], count=4, settle=500, message=[]
    )
    assert sorted(event["text"] for event in received) == wanted


@scenario(
    id="grpc-mixed.ordered-by-4",
    proves="A message group of 5.x is in order for an orderly consumer of 4.x.",
    source=_SOURCE,
    programs=("Publish",),
    background=("PushOrderly",),
)
def ordered_by_4(case: Case) -> None:
    topic = case.topic(2, kind="FIFO")
    groups = ("red", "green", "blue")
    publish(case, topic, [Outgoing(body=f"{name} {n}", group=name) for n in range(5) for name in groups])
    received = case.doing("PushOrderly").only("received", "PushOrderly", topic=topic, group=case.group(), count=15)
    for name in groups:
        own = [event["text"] for event in received if event["properties"][names.SHARDING_KEY] == name]
        assert own == [f"{name} {n}" for n in range(5)]


@scenario(
    id="grpc-mixed.transaction-checked-by-4",
    proves="A transaction of 5.x whose producer left is back-checked at a producer of 4.x, whose group is the topic.",
    source="Apache 5.5, ClientActivity: a producer of 5.x is of the producer group of its topic's name",
    needs=(Need.SHORT_TRANSACTIONS,),
    programs=("PublishInTransaction",),
    background=("SendInTransaction",),
    limit=120,
)
def transaction_checked_by_4(case: Case) -> None:
    topic = case.topic(1, kind="TRANSACTION")
    case.client.run("PublishInTransaction", topic=topic, message=[Outgoing(body="uc", keys="uc")], checks=0)
    got = case.doing("SendInTransaction").run("SendInTransaction", topic=topic, producerGroup=topic, checks=1)
    assert {event["text"] for event in events(got, "checked")} == {"uc"}
    assert [event["text"] for event in case.read(topic, 1)] == ["uc"]


@scenario(
    id="grpc-mixed.transaction-checked-by-5",
    proves="A transaction of 4.x whose producer left is back-checked at a producer of 5.x, if its group is the topic.",
    source="Apache 5.5, ClientActivity: a producer of 5.x is of the producer group of its topic's name",
    needs=(Need.SHORT_TRANSACTIONS,),
    programs=("PublishInTransaction",),
    background=("SendInTransaction",),
    limit=120,
)
def transaction_checked_by_5(case: Case) -> None:
    topic = case.topic(1, kind="TRANSACTION")
    case.doing("SendInTransaction").run(
        "SendInTransaction", topic=topic, producerGroup=topic, message=[Outgoing(body="uc", keys="uc")], checks=0
    )
    got = case.client.run("PublishInTransaction", topic=topic, checks=1)
    assert {event["text"] for event in events(got, "checked")} == {"uc"}
    assert [event["text"] for event in case.read(topic, 1)] == ["uc"]


@scenario(
    id="grpc-mixed.dead-letter",
    proves="A client of 4.x consumes the dead letters of a group of 5.x.",
    source=_SOURCE,
    programs=("Publish", *PUSH),
    background=("PushConcurrent",),
    limit=120,
)
def dead_letter(case: Case) -> None:
    topic, group = case.topic(1, kind="NORMAL"), case.consumers(retries=1)
    publish(case, topic, [Outgoing(body="lost", tags="T", properties={"fail": "99"})])
    with push(case, topic, group) as consumer:
        assert len(consumer.taken(2)) == 2
        letters = dead_letter_topic(group)
        case.wait_until(lambda: case.has_topic(letters), "the topic of dead letters exists")
        (letter,) = case.doing("PushConcurrent").only(
            "received", "PushConcurrent", topic=letters, group=case.group("dead"), count=1
        )
    assert (letter["text"], letter["tags"]) == ("lost", "T")


@scenario(
    id="grpc-mixed.one-group",
    proves="A group continues in 5.x where it stopped in 4.x: what it consumed there is not redelivered.",
    source=_SOURCE,
    programs=("Publish", *SIMPLE),
    background=("PushConcurrent",),
)
def one_group(case: Case) -> None:
    topic, group = case.topic(1, kind="NORMAL"), case.consumers()
    publish(case, topic, [Outgoing(body=str(number)) for number in range(4)])
    old = case.doing("PushConcurrent").only("received", "PushConcurrent", topic=topic, group=group, count=4)
    assert len(old) == 4
    publish(case, topic, [Outgoing(body="new")])
    with simple(case, topic, group) as consumer:
        received = consumer.receive(1, ack=True) + consumer.rest(1)
    assert [event["text"] for event in received] == ["new"]
