"""`namesrv config` and `namesrv kv` against a real server."""

from __future__ import annotations

import pytest

from tests.cli.administered import Administered
from tests.cli.endpoint import Command, fake_server


def test_a_configuration(endpoint: Administered) -> None:
    server = str(endpoint.name_server)
    found = {each["key"]: each["value"] for each in endpoint.done("namesrv config --json").objects}
    assert "orderMessageEnable" in found
    assert endpoint.done("namesrv config --set orderMessageEnable=false --json").objects == [
        {"name_server": server, "key": "orderMessageEnable", "value": "false"}
    ]
    assert endpoint.done("namesrv config --get orderMessageEnable").out.splitlines()[1].split() == [
        *(server, "orderMessageEnable", "false")
    ]


def test_values(endpoint: Administered) -> None:
    server = str(endpoint.name_server)
    assert endpoint.done("namesrv kv put Fruit apple 3=4 --json").objects == [
        {"name_server": server, "namespace": "Fruit", "key": "apple", "value": "3=4"}
    ]
    assert endpoint.done("namesrv kv put Fruit pear 5").out == f"name server {server}: Fruit pear = 5\n"
    assert endpoint.done("namesrv kv get Fruit apple").out == "3=4\n"
    assert endpoint.done("namesrv kv get Fruit pear --json").objects == [
        {"namespace": "Fruit", "key": "pear", "value": "5"}
    ]
    assert endpoint.done("namesrv kv list Fruit --json").objects == [
        {"namespace": "Fruit", "key": "apple", "value": "3=4"},
        {"namespace": "Fruit", "key": "pear", "value": "5"},
    ]
    assert endpoint.done("namesrv kv list Fruit").out.splitlines()[1].split() == ["apple", "3=4"]
    assert endpoint.done("namesrv kv delete Fruit apple").out == f"name server {server}: Fruit apple is removed\n"
    assert endpoint.done("namesrv kv delete Fruit pear --json").objects == [
        {"name_server": server, "namespace": "Fruit", "key": "pear", "deleted": True}
    ]


@pytest.mark.parametrize(
    ("line", "code", "error"),
    [
        ("config --get orderMessageEnabled", 1, "it has no key orderMessageEnabled; did you mean orderMessageEnable?"),
        ("config --set listenPort=many", 1, "it has not taken the change: listenPort="),
        ("config --set configStorePath=/tmp/x", 1, "code 16"),
        ("kv get Fruit aple", 1, "namespace Fruit: it has no key aple; did you mean apple?"),
        ("kv delete Fruit aple", 1, "namespace Fruit: it has no key aple; did you mean apple?"),
        ("kv list Fruits", 1, "namespace Fruits: it has no keys"),
    ],
)
def test_wrong_use(endpoint: Administered, line: str, code: int, error: str) -> None:
    endpoint.done("namesrv kv put Fruit apple 3")
    assert error in endpoint.refused(f"namesrv {line}", code)


def test_every_name_server_is_queried(endpoint: Administered, capsys: pytest.CaptureFixture[str]) -> None:
    with fake_server() as gone:
        closed = gone.address
    both = Command(capsys, f"{closed};{endpoint.name_server}")
    for line in (
        "config --get listenPort",
        "kv put Fruit apple 3",
        "kv delete Fruit apple",
    ):
        ran = both("namesrv", *line.split(), "--json")
        assert ran.code == 1
        assert ran.err.startswith(f"rocketwire: name server {closed}: cannot be reached")
        assert [each["name_server"] for each in ran.objects] == [str(endpoint.name_server)]
    endpoint.done("namesrv kv put Fruit apple 3")
    assert both("namesrv", "kv", "get", "Fruit", "apple").out == "3\n"
