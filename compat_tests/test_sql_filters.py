"""Filters by SQL92 as the official clients use them: operators, refusals, several groups; tags of one hash code."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compat_tests import remoting
from compat_tests.shared_store import SharedStore
from compat_tests.store_traffic import create_topic, send_all_kinds
from rocketwire.compat.brokers.apache import ApacheNameServer
from rocketwire.compat.brokers.endpoint import Endpoint
from rocketwire.compat.clients.client import Client
from rocketwire.compat.messages import Outgoing

UPDATE_CONFIG = 25
HEARTBEAT = 34
CHECK_CLIENT = 46


@pytest.fixture
def swift_topic(swift_client: Client, unique: Callable[[str], str]) -> str:
    """A new topic with two queues."""
    name = unique("Filtered")
    swift_client.run("CreateTopic", topic=name, queues=2)
    return name


def test_tags_of_one_hash_code(swift: Endpoint, swift_client: Client, swift_topic: str, group: str) -> None:
    """The broker compares hash codes and sends all of them: a client compares the tags (scenario of the catalogue)."""
    tags = ("AaAa", "BBBB", "AaBB", "Other")
    sent = [Outgoing(body=f"{tag} {n}", tags=tag, queue=0) for n in range(3) for tag in tags]
    swift_client.run("SendToQueue", topic=swift_topic, queue=0, message=sent)
    answer = pull(swift, swift_topic, group, "AaAa", "TAG")
    assert answer.code == 0
    assert sum(answer.body.count(tag.encode() + b" ") for tag in tags) == 9


def pull(
    swift: Endpoint, topic: str, group: str, sql: str, kind: str = "SQL92", **changes: str | int
) -> remoting.Answer:
    """The answer to a pull from the start of queue 0."""
    named: dict[str, str | int] = {"subscription": sql, "subVersion": 7, "expressionType": kind}
    ask = remoting.pull(topic, group, suspendTimeoutMillis=1000, **(named | changes))
    return remoting.request(swift.broker, *ask)


def subscription(topic: str, sql: str, kind: str = "SQL92", version: int = 7) -> dict[str, Any]:
    """A subscription as clients write it."""
    return {
        "classFilterMode": False,
        "codeSet": [],
        "expressionType": kind,
        "subString": sql,
        "subVersion": version,
        "tagsSet": [],
        "topic": topic,
    }


def heartbeat(group: str, *subscriptions: dict[str, Any]) -> bytes:
    """A push consumer's heartbeat."""
    consumer = {
        "consumeFromWhere": "CONSUME_FROM_FIRST_OFFSET",
        "consumeType": "CONSUME_PASSIVELY",
        "groupName": group,
        "messageModel": "CLUSTERING",
        "subscriptionDataSet": list(subscriptions),
        "unitMode": False,
    }
    return json.dumps({"clientID": "by hand", "consumerDataSet": [consumer], "producerDataSet": []}).encode()


def check(swift: Endpoint, sql: str, kind: str) -> remoting.Answer:
    """The answer to the check of a subscription."""
    body = {"clientId": "by hand", "group": "G", "subscriptionData": subscription("T", sql, kind)}
    return remoting.request(swift.broker, CHECK_CLIENT, body=json.dumps(body).encode())


def test_what_pulls_are_refused_for(swift: Endpoint, swift_topic: str, group: str) -> None:
    """An expression that heartbeats bring is not refused to them, but to the pulls."""
    with remoting.Connection(swift.broker) as connection:

        def beat(sql: str, version: int) -> None:
            said = subscription(swift_topic, sql, version=version)
            assert connection.ask(HEARTBEAT, body=heartbeat(group, said)).code == 0

        def outcome(version: int) -> tuple[int, str]:
            answer = pull(swift, swift_topic, group, "", sysFlag=0, subVersion=version)
            return answer.code, answer.remark

        beat("a >", 7)
        missing = "The broker's consumer filter data is not exist!Your expression may be wrong!"
        assert outcome(7) == (27, missing)
        beat("a > 5", 8)
        assert outcome(8) == (19, "NO_MESSAGE_IN_QUEUE")
        assert outcome(9) == (25, "the consumer's subscription not latest")
        beat("a >", 9)
        assert outcome(9) == (27, missing)
        beat("a > 6", 10)
        assert outcome(10) == (19, "NO_MESSAGE_IN_QUEUE")


def test_what_subscriptions_are_refused_for(
    swift: Endpoint, swift_client: Client, swift_topic: str, group: str, target: str
) -> None:
    swift_client.run("SendToQueue", topic=swift_topic, queue=0, message=[Outgoing(body="only one", queue=0)])
    assert check(swift, "a > 5", "SQL92").code == 0
    assert check(swift, "a > 5 b", "SQL92").code == 0
    assert check(swift, "a >", "SQL92").code == 23
    assert check(swift, "a > 5", "CLASS").code == 23
    for sql, position in (("a NOT b", '"NOT "" at line 1, column 3.'), ("a =\t#", "at line 1, column 10.")):
        assert position in check(swift, sql, "SQL92").remark
    assert check(swift, "a = " + "- " * 250 + "5", "SQL92").code == 0
    bad = pull(swift, swift_topic, group, "a >")
    if target == "rocketwire":
        assert bad.code == 23
        assert bad.remark.startswith("parse the consumer's subscription failed")
    else:  # it filters nothing then
        assert (bad.code, b"only one" in bad.body) == (0, True)
    assert pull(swift, swift_topic, group, "").code == 23
    assert remoting.request(swift.broker, UPDATE_CONFIG, body=b"enablePropertyFilter=false").code == 0
    try:
        refusal = (1, "The broker does not support consumer to filter message by SQL92")
        for answer in (check(swift, "a >", "SQL92"), pull(swift, swift_topic, group, "a > 5")):
            assert (answer.code, answer.remark) == refusal
        assert check(swift, "a || b", "TAG").code == 0
    finally:
        assert remoting.request(swift.broker, UPDATE_CONFIG, body=b"enablePropertyFilter=true").code == 0


def test_which_tags_an_expression_names(swift: Endpoint, swift_client: Client, swift_topic: str, group: str) -> None:
    """Blanks are what Java trims; without a tag nothing passes; of a heartbeat the codes count, or its class mode."""
    tags = ("t", "\u3000t", "other")
    sent = [Outgoing(body=f"<{tag}>", tags=tag, queue=0) for tag in tags]
    swift_client.run("SendToQueue", topic=swift_topic, queue=0, message=sent)

    def passed(answer: remoting.Answer) -> list[str]:
        assert answer.code in {0, 20}
        return [tag for tag in tags if f"<{tag}>".encode() in answer.body]

    expressions = ("t\x01", "\u3000t", " ", "|| ||", "nobody || \tother\x1f", "*")
    wanted = [["t"], ["\u3000t"], [], [], ["other"], list(tags)]
    assert [passed(pull(swift, swift_topic, group, each, "TAG")) for each in expressions] == wanted
    assert passed(pull(swift, swift_topic, group, "t", "")) == []
    assert [pull(swift, swift_topic, group, *each).code for each in (("||", "TAG"), ("", ""))] == [23, 23]
    assert check(swift, "||", "TAG").code == 0
    assert remoting.request(swift.broker, CHECK_CLIENT, body=b'{"clientId":"by hand","group":"G"}').code == 0
    with remoting.Connection(swift.broker) as connection:
        for version, (by_class, expected) in enumerate(((False, []), (True, list(tags))), start=7):
            said = subscription(swift_topic, "t", "TAG", version) | {"classFilterMode": by_class}
            assert connection.ask(HEARTBEAT, body=heartbeat(group, said)).code == 0
            assert passed(pull(swift, swift_topic, group, "", sysFlag=0, subVersion=version)) == expected


def test_nothing_matches(swift: Endpoint, swift_client: Client, swift_topic: str, group: str) -> None:
    """A pull whose scanned messages did not match continues behind them."""
    sent = [Outgoing(body=f"{n}", queue=0) for n in range(3)]
    swift_client.run("SendToQueue", topic=swift_topic, queue=0, message=sent)
    answer = pull(swift, swift_topic, group, "a = 1")
    assert (answer.code, answer.remark, answer.fields["nextBeginOffset"]) == (20, "NO_MATCHED_MESSAGE", "3")


def test_properties_have_a_border(swift: Endpoint, swift_topic: str) -> None:
    """Properties fill 32767 bytes at most, what the broker adds among them."""
    added = len("\x02MSG_REGION\x01DefaultRegion\x02TRACE_ON\x01true\x02CLUSTER\x01DefaultCluster")
    for size, code in ((32767, 0), (32768, 13), (40000, 13)):
        ask = remoting.send(swift_topic, properties="p\x01" + "x" * (size - added - 2))
        assert remoting.request(swift.broker, *ask).code == code


@pytest.mark.usefixtures("only_rocketwire")
def test_filters_go_from_one_broker_to_the_other(tmp_path: Path, name_server: ApacheNameServer) -> None:
    """consumerFilter.json of one is taken over by the other, which would throw it away whole if a filter were odd."""
    store = SharedStore(tmp_path, name_server)

    def saved() -> dict[str, dict[str, Any]]:
        topics = store.config("consumerFilter.json")["filterDataByTopic"]
        return {group: kept for topic in topics.values() for group, kept in topic["groupFilterData"].items()}

    with store.rocketwire() as server, remoting.Connection(server.broker) as connection:
        create_topic(connection, "T", 1)
        send_all_kinds(connection, "T", "stored", queues=1, count=20)
        assert connection.ask(HEARTBEAT, body=heartbeat("ours", subscription("T", "a > 5 AND b = 'x'"))).code == 0
    ours = saved()["ours"]
    assert (ours["dead"], ours["deadTime"] >= ours["bornTime"]) == (True, True)
    with store.apache(enablePropertyFilter="true"), remoting.Connection(store.broker) as connection:
        assert connection.ask(HEARTBEAT, body=heartbeat("theirs", subscription("T", "b IS NULL"))).code == 0
    after = saved()
    assert after["ours"] == ours
    theirs = after["theirs"]
    with store.rocketwire() as server, remoting.Connection(server.broker) as connection:
        assert connection.ask(HEARTBEAT, body=heartbeat("theirs", subscription("T", "b IS NULL"))).code == 0
    again = saved()
    assert again["ours"] == ours
    assert {**again["theirs"], "deadTime": 0} == {**theirs, "deadTime": 0, "dead": True}
