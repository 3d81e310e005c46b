"""Every field of every request, with the longest and oddest values: it is answered, and nothing fails inside.

The log distinguishes an internal failure from a refusal: it has an error with a traceback.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from rocketwire.server.core.route import Route
from rocketwire.server.registry import FAMILIES, NAME_SERVER_FAMILIES
from rocketwire.wire.facts.codes import RequestCode
from tests.server.grpc.sdk import create_group
from tests.server.harness import NOW, Server, serving

ROUTES: Final = [
    route
    for routes in FAMILIES.values()
    for route in routes
    if route.header is not None and not route.short and not route.grpc_only
]
OF_NAME_SERVER: Final = {route.code for routes in NAME_SERVER_FAMILIES.values() for route in routes}
USUAL: Final = {
    "topic": "T",
    "consumerGroup": "G",
    "group": "G",
    "producerGroup": "P",
    "extraInfo": f"0 {NOW} 60000 0 0 broker-a 0 0",
    "brokerName": "broker-a",
    "bname": "broker-a",
    "defaultTopic": "TBW102",
    "subscription": "*",
    "pollTime": "0",
    "invisibleTime": "60000",
    "suspendTimeoutMillis": "0",
    "maxMsgNums": "8",
    "bornTime": "0",
}
LONG: Final = "x" * 60_000
HANDLES: Final = [
    f"0 {NOW} 60000 0 0 {LONG} 0 0", f"0 {NOW} 60000 0 0 ../x 0 0", f"0 {NOW} {2**63 - 1} 0 0 b 0 0",
    f"{-(2**63)} {-(2**63)} {-(2**63)} 0 0 b 0 0", f"{2**63 - 1} {2**63 - 1} 1 0 0 b 0 0", f"0 {NOW} 60000 999 9 b 0 0",
    f"0 {NOW} -1 0 0 b 0 {2**63 - 1}",
]  # fmt: skip
TEXTS: Final = [LONG, "../x", "..", "/", "a/b", "\0", "%RETRY%G", "%RETRY%", " ", "ä" * 200, "%DLQ%G", "+", *HANDLES]
NUMBERS: Final = ["0", "-1", "1", "127", "999", str(2**31 - 1), str(-(2**31)), str(2**63 - 1), str(-(2**63))]


def fields_of(route: Route) -> Iterator[tuple[str, bool]]:
    """The name of each field of a request's header, and whether it is a number."""
    assert route.header is not None
    for field in msgspec.structs.fields(route.header):
        text = str(field.type)
        yield field.encode_name, "str" not in text and "bool" not in text


def usual_fields(route: Route) -> dict[str, str]:
    """A request that is right according to a table of names."""
    found = {}
    for name, is_number in fields_of(route):
        found[name] = USUAL.get(name, "0" if is_number else "x")
    return found


def variants(route: Route) -> Iterator[dict[str, str]]:
    for name, is_number in fields_of(route):
        for value in NUMBERS if is_number else TEXTS:
            yield {**usual_fields(route), name: value}


async def prepare(server: Server) -> None:
    broker = server.broker()
    await broker.create_topic("T")
    await create_group(broker, "G")
    await broker.send("T", b"x", keys="k")


@pytest.mark.slow
async def test_no_field_fails_inside(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    failures: dict[str, Any] = {}
    async with serving(tmp_path) as server:
        for route in ROUTES:
            await prepare(server)
            client = server.name_server() if route.code in OF_NAME_SERVER else server.broker()
            for ext in variants(route):
                caplog.clear()
                await client.write(client.frame(route.code, ext, b"x"))
                await client.arrived()
                if caplog.records or not await client.is_open():
                    odd = {name: value[:40] for name, value in ext.items() if value != usual_fields(route)[name]}
                    text = [record.getMessage() + str(record.exc_info)[-300:] for record in caplog.records]
                    failures.setdefault(f"{RequestCode(route.code).name} {odd}", text)
                    client = server.name_server() if route.code in OF_NAME_SERVER else server.broker()
    assert failures == {}
