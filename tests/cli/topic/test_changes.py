"""`topic create`, `alter`, `show`, `route`, `stats` and `delete` against a real server."""

from __future__ import annotations

from typing import Any

import pytest

from rocketwire.cli.topic.change import merged
from tests.cli.administered import Administered


def shown(endpoint: Administered, topic: str) -> dict[str, Any]:
    (found,) = endpoint.done(f"topic show {topic} --json").objects
    return found


def test_a_topic_is_created_and_altered(endpoint: Administered) -> None:
    (created,) = endpoint.done("topic create Orders --queues 4 --read-queues 6 --json").objects
    assert created == shown(endpoint, "Orders")
    assert created == {
        "topic": "Orders",
        "cluster": "C",
        "broker": "broker-a",
        "address": str(endpoint.broker),
        "read_queues": 6,
        "write_queues": 4,
        "permission": "RW",
        "order": False,
        "message_type": None,
        "attributes": {},
        "filter_type": "SINGLE_TAG",
        "sys_flag": 0,
    }
    (altered,) = endpoint.done("topic alter Orders --perm 4 --message-type FIFO --json").objects
    assert altered == shown(endpoint, "Orders")
    changed = {"permission": "R", "message_type": "FIFO", "attributes": {"message.type": "FIFO"}}
    assert altered == {**created, **changed}
    table = endpoint.done("topic show Orders").out.splitlines()
    assert table[0].split("  ")[0] == "TOPIC"
    assert table[1].split() == ["Orders", "C", "broker-a", "6", "4", "R", "no", "FIFO"]


def test_queues_without_a_number_are_eight(endpoint: Administered) -> None:
    (created,) = endpoint.done("topic create Orders --json").objects
    assert (created["read_queues"], created["write_queues"]) == (8, 8)


def test_a_topic_that_exists_stays_as_it_is(endpoint: Administered) -> None:
    endpoint.done("topic create Orders --queues 2")
    error = endpoint.refused("topic create Orders --queues 4")
    assert error == "broker broker-a: topic Orders exists; rocketwire topic alter changes it"
    assert shown(endpoint, "Orders")["read_queues"] == 2


def test_the_queues_of_an_ordered_topic_are_kept_at_the_name_server(endpoint: Administered) -> None:
    endpoint.done("topic create Steps --queues 3 --order")
    assert endpoint.done("namesrv kv get ORDER_TOPIC_CONFIG Steps").out == "broker-a:3\n"
    assert shown(endpoint, "Steps")["order"]
    (route,) = endpoint.done("topic route Steps --json").objects
    assert route["order_configuration"] == "broker-a:3"
    endpoint.done("topic alter Steps --queues 5")
    assert endpoint.done("namesrv kv get ORDER_TOPIC_CONFIG Steps").out == "broker-a:5\n"
    endpoint.done("topic alter Steps --no-order")
    assert "it has no key Steps" in endpoint.refused("namesrv kv get ORDER_TOPIC_CONFIG Steps")
    endpoint.done("topic alter Steps --order")
    endpoint.done("topic delete Steps --yes")
    assert endpoint.refused("namesrv kv list ORDER_TOPIC_CONFIG") == "namespace ORDER_TOPIC_CONFIG: it has no keys"


@pytest.mark.parametrize(
    ("text", "queues", "wanted"),
    [
        ("", {"b": 4}, "b:4"),
        ("a:1;b:2", {"b": 4}, "a:1;b:4"),
        ("a:1;b:2", {"a": None}, "b:2"),
        ("a:1", {"a": None}, ""),
    ],
)
def test_order_configurations_are_merged(text: str, queues: dict[str, int | None], wanted: str) -> None:
    assert merged(text, queues) == wanted


def test_where_queues_are_and_end(endpoint: Administered) -> None:
    endpoint.done("topic create Orders --queues 2")
    endpoint.send("Orders", 1, 3)
    (route,) = endpoint.done("topic route Orders --json").objects
    assert route == {
        "topic": "Orders",
        "cluster": "C",
        "broker": "broker-a",
        "addresses": {"0": str(endpoint.broker)},
        "read_queues": 2,
        "write_queues": 2,
        "permission": "RW",
        "order_configuration": None,
    }
    assert f"0={endpoint.broker}" in endpoint.done("topic route Orders").out
    empty, full = endpoint.done("topic stats Orders --json").objects
    assert empty == {
        "topic": "Orders",
        "broker": "broker-a",
        "queue_id": 0,
        "min_offset": 0,
        "max_offset": 0,
        "last_update": None,
    }
    assert (full["queue_id"], full["min_offset"], full["max_offset"]) == (1, 0, 3)
    assert full["last_update"] > 0
    assert endpoint.done("topic stats Orders").out.splitlines()[2].split()[:5] == ["broker-a", "1", "0", "3", "3"]


def test_a_topic_is_deleted_everywhere(endpoint: Administered) -> None:
    endpoint.done("topic create Orders")
    assert endpoint.refused("topic delete Orders", 2) == (
        "there is no terminal to ask on; --yes does it without asking"
    )
    assert endpoint.done("topic delete Orders --yes --json").objects == [
        {"topic": "Orders", "broker": "broker-a", "deleted": True},
        {"topic": "Orders", "name_server": str(endpoint.name_server), "deleted": True},
    ]
    assert endpoint.done("topic list --all").out.find("Orders") == -1
    endpoint.done("topic create Orders")
    assert endpoint.done("topic delete Orders --yes").out.splitlines() == [
        "topic Orders: deleted at broker broker-a",
        f"topic Orders: deleted at name server {endpoint.name_server}",
    ]


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("n", 1), ("", 1)])
def test_the_terminal_confirms(endpoint: Administered, monkeypatch: pytest.MonkeyPatch, answer: str, code: int) -> None:
    endpoint.done("topic create Orders")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    requested = []

    def confirm(question: str, *, err: bool) -> bool:
        requested.append(question)
        assert err
        return answer == "y"

    monkeypatch.setattr("click.confirm", confirm)
    ran = endpoint.run("topic", "delete", "Orders")
    assert ran.code == code
    assert requested == ["Delete topic Orders with its messages on broker-a?"]
    assert ran.err == ("" if code == 0 else "rocketwire: nothing is changed\n")
    assert ("Orders" in endpoint.done("topic list --all").out.splitlines()) == (code == 1)


@pytest.mark.parametrize("command", ["show", "route", "stats", "alter --perm R", "delete --yes"])
def test_an_unknown_topic(endpoint: Administered, command: str) -> None:
    endpoint.done("topic create Orders")
    verb, *options = command.split()
    error = endpoint.refused(" ".join(["topic", verb, "Oders", *options]))
    assert error == (f"topic Oders: the name server {endpoint.name_server} knows no such topic; did you mean Orders?")


@pytest.mark.parametrize(
    ("line", "code", "error"),
    [
        ("topic create a/b", 2, "topic a/b: The specified topic contains illegal characters"),
        ("topic alter Orders", 2, "name what to change"),
        ("topic create Orders --broker broker-b", 1, "broker broker-b: none is registered; did you mean broker-a?"),
        ("topic create TBW102", 1, "broker broker-a: topic TBW102 exists"),
        ("topic create SELF_TEST_TOPIC_", 0, ""),
    ],
)
def test_wrong_use(endpoint: Administered, line: str, code: int, error: str) -> None:
    ran = endpoint.run(*line.split())
    assert ran.code == code
    assert ran.err.removeprefix("rocketwire: ").startswith(error)


def test_one_broker_of_two_fails(endpoint: Administered) -> None:
    endpoint.done("topic create Orders --queues 1")
    with endpoint.second_broker("broker-b", "Orders"):
        for line, rows in (
            ("topic show Orders --json", 1),
            ("topic stats Orders --json", 1),
            ("topic alter Orders --perm R --json", 1),
            ("topic create More --json", 1),
            ("topic delete Orders --yes --json", 1),
        ):
            ran = endpoint.run(*line.split())
            assert ran.code == 1, line
            assert len(ran.err.splitlines()) == 1, line
            assert ran.err.startswith("rocketwire: broker broker-b: broker 127.0.0.1:")
            assert [each["broker"] for each in ran.objects] == ["broker-a"] * rows
        # The route stays where one broker may still have the topic.
        assert len(endpoint.done("topic route Orders --json").objects) == 2
        assert endpoint.refused("topic show Orders --broker broker-b", 3).startswith("broker broker-b: broker 127")
        assert endpoint.done("topic create Both --broker broker-a --json").objects[0]["broker"] == "broker-a"


def test_a_route_stays_while_another_broker_has_the_topic(endpoint: Administered) -> None:
    endpoint.done("topic create Orders --queues 1 --order")
    endpoint.done("namesrv kv put ORDER_TOPIC_CONFIG Orders broker-a:1;broker-b:16")
    with endpoint.second_broker("broker-b", "Orders"):
        deleted = endpoint.done("topic delete Orders --broker broker-a --yes --json").objects
        assert deleted == [{"topic": "Orders", "broker": "broker-a", "deleted": True}]
        assert "broker-b" in [each["broker"] for each in endpoint.done("topic route Orders --json").objects]
    assert endpoint.done("namesrv kv get ORDER_TOPIC_CONFIG Orders").out == "broker-b:16\n"


def test_of_several_clusters_one_is_named(endpoint: Administered) -> None:
    with endpoint.second_broker("broker-d", cluster="D"):
        error = "there are several clusters; name one with --cluster: C, D"
        assert endpoint.refused("topic create Orders", 2) == error
        assert endpoint.refused("group create orders", 2) == error
        (created,) = endpoint.done("topic create Orders --cluster C --json").objects
        assert created["broker"] == "broker-a"
        assert endpoint.refused("topic show Orders --cluster D") == "topic Orders: these brokers do not have it"
        assert endpoint.refused("topic create More --cluster C --broker broker-d") == "no such broker is registered"


def test_a_broker_without_a_master_is_not_changed(endpoint: Administered) -> None:
    with endpoint.second_broker("broker-b", broker_id=1):
        error = endpoint.refused("topic create Orders --broker broker-b")
    assert error == "broker broker-b: no master is registered, and others take no changes"


def test_a_route_to_a_broker_without_the_topic(endpoint: Administered) -> None:
    with endpoint.second_broker("broker-b", "Ghost", address=endpoint.broker):
        for command in ("show", "stats", "alter --perm R"):
            verb, *options = command.split()
            error = endpoint.refused(" ".join(["topic", verb, "Ghost", *options]))
            assert error == "broker broker-b: topic Ghost is in its route, but it does not have it"
