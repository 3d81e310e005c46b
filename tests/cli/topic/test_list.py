"""`topic list` against a real server."""

from __future__ import annotations

from tests.cli.administered import Administered


def test_all_names_are_listed(endpoint: Administered) -> None:
    endpoint.done("topic create Orders")
    assert endpoint.done("topic list").out == "Orders\n"
    ran = endpoint.done("topic list --all")
    assert {"TBW102", "Orders"} <= set(ran.out.splitlines())
    assert {"topic": "TBW102", "kind": "system"} in endpoint.done("topic list --all --json").objects
    assert endpoint.refused("topic list --all --kind own", 2) == "--kind and --all: only one of them"


def test_names_of_one_kind(endpoint: Administered) -> None:
    for topic in ("Orders", "%RETRY%orders", "%DLQ%orders", "rmq_sys_more"):
        endpoint.run("topic", "create", topic)
    assert endpoint.done("topic list --kind own").out == "Orders\n"
    assert endpoint.done("topic list --kind retry --kind dead-letter").out == "%DLQ%orders\n%RETRY%orders\n"
    system = endpoint.done("topic list --kind system").out.splitlines()
    assert {"C", "broker-a", "TBW102"} <= set(system)
    assert "Orders" not in system


def test_topics_of_a_cluster(endpoint: Administered) -> None:
    endpoint.done("topic create Orders")
    assert endpoint.done("topic list --cluster C --kind own --json").objects == [{"topic": "Orders", "kind": "own"}]
    assert endpoint.refused("topic list --cluster c") == "cluster c: there is no such cluster; did you mean C?"


def test_nothing_of_a_kind(endpoint: Administered) -> None:
    assert endpoint.refused("topic list --kind own") == "found no topics"
    assert endpoint.refused("topic list") == "found no topics of applications (--all: of RocketMQ, too)"
