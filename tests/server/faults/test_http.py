"""`/faults` over HTTP."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import trio

from rocketwire.server.faults.keys import FaultKeys
from rocketwire.server.faults.rule import MOST_RULES
from rocketwire.wire.addresses import Address
from tests.server.harness import Client, Server, serving
from tests.server.http.test_connection import Answer, Http

HTTP = Address(host="127.0.0.1", port=0)
NOTHING: dict[str, str] = {}
AS_JSON = {"Accept": "application/json"}
FROM_JSON = {"Content-Type": "application/json; charset=utf-8"}


async def request(
    server: Server,
    method: str,
    target: str = "/faults",
    *,
    body: bytes = b"",
    headers: dict[str, str] = NOTHING,
) -> Answer:
    assert server.http is not None
    lines = [f"{method} {target} HTTP/1.1", "Host: h", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    async with await trio.open_tcp_stream(server.http.host, server.http.port) as stream:
        return await Http(stream).request("\r\n".join([*lines, "", ""]).encode() + body)


@contextlib.asynccontextmanager
async def allowed(tmp_path: Path, **changes: Any) -> AsyncIterator[tuple[Server, Client]]:
    async with serving(tmp_path, http=HTTP, fault_injection_enable=True, **changes) as server:
        client = server.broker()
        await client.create_topic("T")
        yield server, client


async def test_rules_are_added_and_removed(driver: str, tmp_path: Path) -> None:
    async with allowed(tmp_path) as (server, client):
        assert (await request(server, "GET")).body == b"no faults\n"
        assert (await client.send("T")).header.code == 0
        added = await request(server, "POST", body=b"answer:215:slow,code=310,count=2\n\ndrop:answer,code=30\n")
        assert (added.status, added.body) == (
            201,
            b"1 struck=0 answer:215:slow,code=SEND_MESSAGE_V2,count=2\n2 struck=0 drop:answer,code=GET_MAX_OFFSET\n",
        )
        assert [(await client.send("T")).header.code for _ in range(3)] == [215, 215, 0]
        shown = json.loads((await request(server, "GET", headers=AS_JSON)).body)["faults"]
        assert shown == [
            {"id": 1, "struck": 2, "spent": True, "rule": "answer:215:slow,code=SEND_MESSAGE_V2,count=2"},
            {"id": 2, "struck": 0, "spent": False, "rule": "drop:answer,code=GET_MAX_OFFSET"},
        ]
        removed = await request(server, "DELETE", "/faults?id=2")
        assert (removed.status, removed.body) == (200, b"2 struck=0 drop:answer,code=GET_MAX_OFFSET\n")
        assert (await request(server, "DELETE")).body.startswith(b"1 struck=2 ")
        assert (await request(server, "DELETE")).body == b"no faults\n"
        assert (await client.send("T")).header.code == 0
        assert driver in {"hub", "task"}


async def test_rules_are_read_and_written_as_json(tmp_path: Path) -> None:
    async with allowed(tmp_path) as (server, _):
        one = await request(server, "POST", body=b'{"rule": "drop"}', headers=AS_JSON | FROM_JSON)
        assert (one.status, [each["id"] for each in json.loads(one.body)["faults"]]) == (201, [1])
        two = await request(server, "POST", body=b'[{"rule": "drop"}, {"rule": "delay:5"}]', headers=FROM_JSON)
        assert two.body == b"2 struck=0 drop:request\n3 struck=0 delay:5:request\n"


@pytest.mark.parametrize(
    ("body", "headers", "problem"),
    [
        (b"drop\nfrop", {}, "frop: frop is no action: expected answer:CODE"),
        (b"", {}, "no rule is given: expected one a line, as --fault takes them"),
        (b"[]", FROM_JSON, "no rule is given: expected one a line"),
        (b'{"rule": "drop,rate=2"}', FROM_JSON, "drop,rate=2: rate 2: expected a number from 0 to 1"),
        (b'{"rule": 5}', FROM_JSON, 'Expected `str`, got `int` - at `$.rule`: expected {"rule": "RULE"} or a list'),
        (b"\xff", FROM_JSON, "JSON is malformed"),
        (b"\xff", {}, "\ufffd: \ufffd is no action: expected answer:CODE"),
        (b"drop\n" * (MOST_RULES + 1), {}, "at most 1000 fault rules may be active"),
    ],
)
async def test_a_refused_request_changes_nothing(
    tmp_path: Path, body: bytes, headers: dict[str, str], problem: str
) -> None:
    async with allowed(tmp_path) as (server, _):
        answer = await request(server, "POST", body=body, headers=headers)
        assert answer.status == 400
        assert answer.body.decode().startswith(problem)
        assert (await request(server, "GET")).body == b"no faults\n"


@pytest.mark.parametrize("text", ["7", "x", ""])
async def test_malformed_ids_are_refused(tmp_path: Path, text: str) -> None:
    async with allowed(tmp_path) as (server, _):
        await request(server, "POST", body=b"drop,code=39")
        answer = await request(server, "DELETE", f"/faults?id={text}")
        assert (answer.status, answer.body) == (404, f"no fault has the id {text}: GET /faults lists them\n".encode())


@pytest.mark.parametrize("query", ["ID=1", "number=1", "id=1&x="])
async def test_unknown_parameters_remove_nothing(tmp_path: Path, query: str) -> None:
    async with allowed(tmp_path) as (server, _):
        await request(server, "POST", body=b"drop,code=39")
        answer = await request(server, "DELETE", f"/faults?{query}")
        assert answer.status == 400
        assert answer.body.endswith(b": expected /faults or /faults?id=NUMBER\n")
        assert (await request(server, "GET")).body.startswith(b"1 struck=0 drop")


async def test_without_permission_there_is_no_path(tmp_path: Path) -> None:
    async with serving(tmp_path, http=HTTP) as server:
        for method in ("GET", "POST", "DELETE"):
            answer = await request(server, method, body=b"drop" if method == "POST" else b"")
            assert answer.status == 403
            assert b"start the server with --fault RULE or --set faultInjectionEnable=true" in answer.body
        assert (await server.broker().heartbeat("id")).header.code == 0


async def test_rules_from_the_start_may_be_changed(tmp_path: Path) -> None:
    from rocketwire.server.faults.grammar import parse_rule

    async with serving(tmp_path, http=HTTP, faults=FaultKeys(rules=(parse_rule("answer:1,code=34"),))) as server:
        client = server.broker()
        assert (await client.heartbeat("id")).header.code == 1
        await request(server, "DELETE", "/faults?id=1")
        assert (await client.heartbeat("id")).header.code == 0
