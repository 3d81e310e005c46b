from __future__ import annotations

import json
from typing import Any

from rocketwire.wire.facts.codes import RequestCode
from tests.server.harness import NOW, Client, Server


async def producers_of(client: Client) -> Any:
    answer = await client.request(RequestCode.GET_ALL_PRODUCER_INFO)
    assert answer.header.code == 0
    return json.loads(bytes(answer.body))["data"]


async def test_without_producers_the_table_is_empty(broker: Client) -> None:
    assert await producers_of(broker) == {}


async def test_producers_are_listed_by_group(server: Server, broker: Client) -> None:
    other = server.broker()
    await broker.heartbeat("first", producers=["P", "Q"])
    await other.heartbeat("second", producers=["Q"])
    found = await producers_of(broker)
    assert {group: [each["clientId"] for each in some] for group, some in found.items()} == {
        "P": ["first"],
        "Q": ["first", "second"],
    }
    (one,) = found["P"]
    assert one.pop("remoteIP") == f"/{broker.local}"
    assert one.pop("version") > 0
    assert one == {"clientId": "first", "language": "JAVA", "lastUpdateTimestamp": NOW}


async def test_many_producers_are_listed_in_steps(broker: Client) -> None:
    await broker.heartbeat("one", producers=[f"P{number}" for number in range(130)])
    assert len(await producers_of(broker)) == 130
