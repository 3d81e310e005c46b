"""`broker config`, `stats`, `wipe-write` and `add-write` against a real server."""

from __future__ import annotations

import pytest

from tests.cli.administered import Administered


def test_a_configuration(endpoint: Administered) -> None:
    found = {each["key"]: each["value"] for each in endpoint.done("broker config --json").objects}
    assert (found["brokerName"], found["autoCreateTopicEnable"]) == ("broker-a", "true")
    assert endpoint.done("broker config --get brokerName --get autoCreateTopicEnable --json").objects == [
        {"broker": "broker-a", "address": str(endpoint.broker), "key": key, "value": value}
        for key, value in (("autoCreateTopicEnable", "true"), ("brokerName", "broker-a"))
    ]


def test_keys_are_changed(endpoint: Administered) -> None:
    ran = endpoint.done("broker config --set autoCreateTopicEnable=false")
    assert ran.out.splitlines()[1].split() == ["broker-a", "autoCreateTopicEnable", "false"]
    (found,) = endpoint.done("broker config --get autoCreateTopicEnable --json").objects
    assert found["value"] == "false"


@pytest.mark.parametrize(
    ("line", "code", "error"),
    [
        ("config --get brokerNam", 1, "broker broker-a: it has no key brokerNam; did you mean brokerName?"),
        ("config --set brokerNam=x", 1, "broker broker-a: it has no key brokerNam; did you mean brokerName?"),
        ("config --set autoCreateTopicEnable=maybe", 1, "broker broker-a: broker 127.0.0.1:"),
        ("config --set brokerName", 2, "--set brokerName: expected KEY=VALUE"),
        ("config --broker broker-b", 1, "broker broker-b: none is registered; did you mean broker-a?"),
        ("stats --get putTPs", 1, "broker broker-a: it has no key putTPs; did you mean putTps?"),
        ("wipe-write broker-b", 1, "broker broker-b: none is registered; did you mean broker-a?"),
    ],
)
def test_wrong_use(endpoint: Administered, line: str, code: int, error: str) -> None:
    assert endpoint.refused(f"broker {line}", code).startswith(error)


def test_how_a_broker_does(endpoint: Administered) -> None:
    assert endpoint.done("broker stats --get brokerVersionDesc --json").objects == [
        {"broker": "broker-a", "address": str(endpoint.broker), "key": "brokerVersionDesc", "value": "V4_9_7"}
    ]
    keys = [each["key"] for each in endpoint.done("broker stats --cluster C --json").objects]
    assert "putTps" in keys
    assert keys == sorted(keys)


def test_the_permission_to_write(endpoint: Administered) -> None:
    endpoint.done("topic create Orders")

    def permission() -> str:
        (route,) = endpoint.done("topic route Orders --json").objects
        return str(route["permission"])

    (found,) = endpoint.done("broker wipe-write broker-a --json").objects
    assert found.pop("topics") > 1
    assert found == {"broker": "broker-a", "name_server": str(endpoint.name_server)}
    assert permission() == "R"
    assert (
        f"broker broker-a: changed at name server {endpoint.name_server}"
        in endpoint.done("broker add-write broker-a").out
    )
    assert permission() == "RW"


def test_one_broker_of_two_fails(endpoint: Administered) -> None:
    with endpoint.second_broker("broker-b"):
        for line in ("stats --get putTps", "config --get brokerName", "config --set autoCreateTopicEnable=false"):
            ran = endpoint.run("broker", *line.split(), "--json")
            assert (ran.code, len(ran.err.splitlines())) == (1, 1), (line, ran)
            assert [each["broker"] for each in ran.objects] == ["broker-a"]
