"""`group list`, `show`, `members`, `lag`, `create` and `delete` against a real server."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.administered import Administered, member


@pytest.fixture
def consumed(endpoint: Administered) -> Administered:
    """The group orders has consumed some messages of the topic Orders."""
    endpoint.done("topic create Orders --queues 2")
    endpoint.done("group create orders")
    for queue in (0, 1):
        endpoint.send("Orders", queue, 5)
    endpoint.commit("orders", "Orders", {0: 2, 1: 5})
    return endpoint


def only(endpoint: Administered, line: str) -> dict[str, Any]:
    (found,) = endpoint.done(line).objects
    return found


def test_a_group_is_created_and_changed(endpoint: Administered) -> None:
    created = only(endpoint, "group create orders --max-retries 3 --retry-queues 2 --json")
    assert created == {
        "group": "orders",
        "cluster": "C",
        "broker": "broker-a",
        "address": str(endpoint.broker),
        "consume_enable": True,
        "broadcast_enable": True,
        "from_min_enable": True,
        "orderly": False,
        "retry_queues": 2,
        "max_retries": 3,
        "attributes": {},
    }
    changed = only(endpoint, "group create orders --disable --no-broadcast --json")
    assert changed == {**created, "consume_enable": False, "broadcast_enable": False}
    assert only(endpoint, "group create orders --orderly --json") == {**changed, "orderly": True}
    assert only(endpoint, "group create orders --not-orderly --json") == changed
    table = endpoint.done("group create orders --enable").out.splitlines()
    assert table[1].split() == ["orders", "C", "broker-a", "yes", "no", "2", "3"]


def test_a_group_is_shown(consumed: Administered) -> None:
    found = only(consumed, "group show orders --json")
    assert (found["members"], found["subscriptions"], found["message_model"]) == ([], [], None)
    assert [each["broker"] for each in found["brokers"]] == ["broker-a"]
    assert consumed.done("group show orders").out.endswith("no member is on line\n")
    with member(consumed, "orders", "Orders"):
        found = only(consumed, "group show orders --json")
        (client,) = found["members"]
        address = client.pop("address")
        assert address.startswith("127.0.0.1:")
        assert client == {"client_id": "client-1", "language": "JAVA", "version": "V4_9_7"}
        assert {each["topic"]: each["expression"] for each in found["subscriptions"]}["Orders"] == "*"
        assert (found["consume_type"], found["message_model"]) == ("CONSUME_PASSIVELY", "CLUSTERING")
        text = consumed.done("group show orders").out
        assert "client-1" in text
        assert "Orders  *" in text


def test_members_have_queues(consumed: Administered) -> None:
    assert consumed.refused("group members orders") == "group orders: no member is on line"
    with member(consumed, "orders", "Orders"):
        found = only(consumed, "group members orders --json")
        assert found["client_id"] == "client-1"
        assert found["queues"] == [{"topic": "Orders", "broker": "broker-a", "queue_id": 1}]
        assert consumed.done("group members orders").out.splitlines()[1].endswith("Orders broker-a 1")


def test_how_far_a_group_is_behind(consumed: Administered) -> None:
    with member(consumed, "orders", "Orders"):
        first, second = consumed.done("group lag orders --json").objects
        assert first.pop("last_consumed") > 0
        assert first == {
            "group": "orders",
            "topic": "Orders",
            "broker": "broker-a",
            "queue_id": 0,
            "broker_offset": 5,
            "consumer_offset": 2,
            "lag": 3,
            "owner": None,
        }
        assert (second["lag"], second["owner"]) == (0, "client-1")
        assert consumed.done("group lag orders --topic Orders").out.splitlines()[-1] == "lag: 3"


def test_all_groups(consumed: Administered) -> None:
    with member(consumed, "orders", "Orders"):
        (found,) = consumed.done("group list --kind own --json").objects
        assert (found.pop("tps"), found.pop("kind")) == (0.0, "own")
        assert found == {
            "group": "orders",
            "member_count": 1,
            "consume_type": "CONSUME_PASSIVELY",
            "message_model": "CLUSTERING",
            "lag": 3,
        }
    assert consumed.done("group list --kind own").out.splitlines()[1].split() == ["orders", "0", "3", "0.0"]
    system = {each["group"] for each in consumed.done("group list --kind system --json").objects}
    assert "TOOLS_CONSUMER" in system


def test_a_group_is_deleted(consumed: Administered) -> None:
    consumed.done("topic create %RETRY%orders --queues 1")
    assert consumed.refused("group delete orders", 2).startswith("there is no terminal")
    assert consumed.done("group delete orders --yes --json").objects == [
        {"group": "orders", "broker": "broker-a", "deleted": True},
        {"topic": "%RETRY%orders", "broker": "broker-a", "deleted": True},
        {"topic": "%RETRY%orders", "name_server": str(consumed.name_server), "deleted": True},
    ]
    assert consumed.refused("group lag orders") == "group orders: the brokers know no such group"


def test_offsets_may_outlive_a_group(consumed: Administered) -> None:
    consumed.done("group delete orders --yes --keep-offsets")
    offsets = [each["offset"] for each in consumed.done("offset show orders --json").objects]
    assert offsets == [2, 5]


@pytest.mark.parametrize("line", ["show ordres", "members ordres", "lag ordres", "delete ordres --yes"])
def test_an_unknown_group(consumed: Administered, line: str) -> None:
    error = consumed.refused(f"group {line}")
    assert error == "group ordres: the brokers know no such group; did you mean orders?"


def test_a_group_without_offsets(endpoint: Administered) -> None:
    endpoint.done("group create orders")
    assert endpoint.refused("group lag orders") == "group orders: the brokers have no offsets of it"
    assert endpoint.refused("group create a/b", 2).startswith("group a/b: the specified group[a/b] contains illegal")


def test_one_broker_of_two_fails(consumed: Administered) -> None:
    with consumed.second_broker("broker-b", "Orders"):
        for line, rows in (
            ("group list --kind own --json", 1),
            ("group show orders --json", 1),
            ("group lag orders --json", 2),
            ("group create orders --max-retries 2 --json", 1),
            ("group delete orders --yes --json", 1),
        ):
            ran = consumed.run(*line.split())
            assert (ran.code, len(ran.err.splitlines())) == (1, 1), (line, ran)
            assert ran.err.startswith("rocketwire: broker broker-b: broker 127.0.0.1:")
            assert len(ran.objects) == rows
        assert consumed.refused("group show orders --broker broker-b", 3).startswith("broker broker-b: ")
