"""Of `check` and `members`."""

from __future__ import annotations

import pytest

from rocketwire.wire.bodies import encode_body
from rocketwire.wire.bodies.client import SubscriptionData
from rocketwire.wire.bodies.online import ClientConnection, ConsumerConnection, ConsumerRunningInfo
from rocketwire.wire.bodies.route import TopicList
from rocketwire.wire.facts.codes import RequestCode
from tests.cli.endpoint import Answers, Command, FakeAnswer, fake_server
from tests.cli.store.support import Ran
from tests.server.harness import subscription

Groups = dict[str, dict[str, tuple[SubscriptionData, ...] | None]]
"""By group and client id, the client's subscriptions; None: it does not answer the broker."""


def broker(groups: Groups) -> Answers:
    """The answers of a broker that has these groups on line."""

    def connections(ext: dict[str, str]) -> FakeAnswer:
        if ext["consumerGroup"] not in groups:
            return FakeAnswer(206, remark="the consumer group is not online")
        clients = (
            ClientConnection(client_id=client_id, client_addr=f"127.0.0.1:{number}", language="JAVA", version=407)
            for number, client_id in enumerate(groups[ext["consumerGroup"]])
        )
        return FakeAnswer(body=encode_body(ConsumerConnection(connection_set=tuple(clients))))

    def running(ext: dict[str, str]) -> FakeAnswer:
        wanted = groups[ext["consumerGroup"]][ext["clientId"]]
        if wanted is None:
            return FakeAnswer(207, remark="consumer timeout")
        return FakeAnswer(body=encode_body(ConsumerRunningInfo(subscription_set=wanted)))

    topics = TopicList(topic_list=tuple(f"%RETRY%{group}" for group in [*groups, "asleep"]))
    return {
        RequestCode.GET_CONSUMER_CONNECTION_LIST: connections,
        RequestCode.GET_CONSUMER_RUNNING_INFO: running,
        RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: lambda _: FakeAnswer(body=encode_body(topics)),
    }


def checked(capsys: pytest.CaptureFixture[str], groups: Groups, *arguments: str) -> Ran:
    with fake_server(broker(groups)) as server:
        return Command(capsys, server.address)("group", "check", *arguments)


def test_members_that_agree(capsys: pytest.CaptureFixture[str]) -> None:
    both = (subscription("T", "A || B"), subscription("%RETRY%G"))
    ran = checked(capsys, {"G": {"one": both, "two": both}}, "G")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        "GROUP  TOPIC     SUBSCRIPTION  CLIENT  ADDRESS      AGREES",
        "G      %RETRY%G  '*'           one     127.0.0.1:0  yes",
        "G      %RETRY%G  '*'           two     127.0.0.1:1  yes",
        "G      T         'A || B'      one     127.0.0.1:0  yes",
        "G      T         'A || B'      two     127.0.0.1:1  yes",
        "group G: 2 members, agree",
    ]


def test_members_that_disagree(capsys: pytest.CaptureFixture[str]) -> None:
    sql = (subscription("U", "a > 5", expression_type="SQL92"),)
    groups: Groups = {
        "G": {"one": (subscription("T", "A || B"),), "two": (subscription("T", "B || A"), *sql)},
        "H": {"three": sql},
    }
    ran = checked(capsys, groups)
    assert (ran.code, ran.err) == (1, "")
    assert ran.out.splitlines()[1:] == [
        "G      T      'A || B'         one     127.0.0.1:0  yes, written differently",
        "G      T      'B || A'         two     127.0.0.1:1  yes, written differently",
        "G      U      -                one     127.0.0.1:0  no",
        "G      U      'a > 5' (SQL92)  two     127.0.0.1:1  no",
        "H      U      'a > 5' (SQL92)  three   127.0.0.1:0  yes",
        "group G: 2 members, disagree on U",
        "group H: 1 member, agree",
    ]
    ran = checked(capsys, groups, "--json")
    assert (ran.code, [found["group"] for found in ran.objects]) == (1, ["G", "H"])
    (found, _) = ran.objects
    u = {"topic": "U", "expression": "a > 5", "expression_type": "SQL92", "version": 1}
    a_b, b_a = (
        {"topic": "T", "expression": text, "expression_type": "TAG", "version": 1} for text in ("A || B", "B || A")
    )
    assert found == {
        "group": "G",
        "agrees": False,
        "members": [
            {"client_id": "one", "address": "127.0.0.1:0", "language": "JAVA", "version": "V4_9_7"}
            | {"subscriptions": [a_b]},
            {"client_id": "two", "address": "127.0.0.1:1", "language": "JAVA", "version": "V4_9_7"}
            | {"subscriptions": [b_a, u]},
        ],
        "differences": [
            {
                "topic": "T",
                "matters": False,
                "sides": [
                    {"subscription": a_b, "client_ids": ["one"]},
                    {"subscription": b_a, "client_ids": ["two"]},
                ],
            },
            {
                "topic": "U",
                "matters": True,
                "sides": [{"subscription": u, "client_ids": ["two"]}, {"subscription": None, "client_ids": ["one"]}],
            },
        ],
    }


def test_a_member_that_does_not_answer(capsys: pytest.CaptureFixture[str]) -> None:
    ran = checked(capsys, {"G": {"one": (subscription("T"),), "two": None}}, "G")
    assert ran.code == 1
    assert ran.err == "rocketwire: group G: two does not tell its subscriptions: code 207: consumer timeout\n"
    assert ran.out.splitlines()[-2:] == [
        "G      T      ?             two     127.0.0.1:1  yes",
        "group G: 2 members, all that told their subscriptions agree",
    ]
    ran = checked(capsys, {"G": {"one": (subscription("T"),), "two": None, "three": ()}}, "--json")
    assert (ran.code, ran.objects[0]["agrees"]) == (1, False)
    assert [member["subscriptions"] is None for member in ran.objects[0]["members"]] == [False, False, True]
    ran = checked(capsys, {"G": {"one": None}}, "G")
    assert ran.out.splitlines()[1].split() == ["G", "-", "?", "one", "127.0.0.1:0", "yes"]


def test_a_group_without_members(capsys: pytest.CaptureFixture[str]) -> None:
    ran = checked(capsys, {}, "G")
    assert (ran.code, ran.out, ran.err) == (1, "", "rocketwire: group G: no consumer of that group is on line\n")
    ran = checked(capsys, {})
    assert (ran.code, ran.out, ran.err) == (0, "no consumer group is on line\n", "")
    assert checked(capsys, {}, "--json").out == ""


def test_a_body_that_is_none_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    answers = broker({})
    answers[RequestCode.GET_CONSUMER_CONNECTION_LIST] = lambda _: FakeAnswer(body=b"[]")
    with fake_server(answers) as server:
        ran = Command(capsys, server.address)("group", "check", "G")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == "rocketwire: ConsumerConnection is not a JSON object\n"
