"""`cluster show` against a real server."""

from __future__ import annotations

from tests.cli.administered import Administered


def test_brokers(endpoint: Administered) -> None:
    (found,) = endpoint.done("cluster show --json").objects
    assert 0 <= found.pop("disk_used") <= 1
    assert found.pop("started") > 0
    assert found.pop("uptime_seconds") >= 0
    # A broker has no rates in its first seconds.
    assert {found.pop("in_tps"), found.pop("out_tps")} <= {None, 0.0}
    assert found == {
        "cluster": "C",
        "broker": "broker-a",
        "broker_id": 0,
        "address": str(endpoint.broker),
        "version": "V4_9_7",
    }
    assert endpoint.done("cluster show --cluster C").out.splitlines()[1].split()[:5] == [
        *("C", "broker-a", "0", str(endpoint.broker), "V4_9_7")
    ]
    assert endpoint.refused("cluster show --cluster D") == "cluster D: there is no such cluster"


def test_a_broker_that_does_not_answer(endpoint: Administered) -> None:
    with endpoint.second_broker("broker-b"):
        ran = endpoint.run("cluster", "show", "--json")
        assert ran.code == 1
        assert ran.err.startswith("rocketwire: broker broker-b: broker 127.0.0.1:")
        assert [(each["broker"], each["version"]) for each in ran.objects] == [
            ("broker-a", "V4_9_7"),
            ("broker-b", None),
        ]
        lines = endpoint.run("cluster", "show").out.splitlines()
        assert lines[2].split()[4:] == ["?"] * 5
