"""Fault rules on the calls of 5.x clients."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from rocketwire.server.faults.grammar import parse_rule
from rocketwire.server.faults.keys import FaultKeys
from rocketwire.wire.grpc.codes import Code
from rocketwire.wire.http2.events import INTERNAL_ERROR
from tests.server.grpc.sdk import Sdk, code_of, message, producer_settings, send_request
from tests.server.grpc.test_routing import route
from tests.server.harness import Client, Server, records, serving


@contextlib.asynccontextmanager
async def faulty(tmp_path: Path, *rules: str) -> AsyncIterator[tuple[Server, Client, Sdk]]:
    async with serving(tmp_path / "store", faults=FaultKeys(rules=tuple(map(parse_rule, rules)))) as server:
        broker = server.broker()
        await broker.create_topic("T", 1)
        with Sdk(server.broker_address) as sdk:
            yield server, broker, sdk


async def stored(broker: Client) -> int:
    return len(records((await broker.pull("T")).body))


async def test_a_call_is_answered_with_a_code(tmp_path: Path) -> None:
    async with faulty(tmp_path, "answer:215,code=310,count=1", "answer:16:no,code=105") as (_, broker, sdk):
        response = await sdk.call("SendMessage", send_request())
        assert code_of(response) is Code.TOO_MANY_REQUESTS
        assert "fault rule" in response.status.message
        assert code_of(await sdk.call("SendMessage", send_request())) is Code.OK
        response = await sdk.call("QueryRoute", route())
        assert (code_of(response), response.status.message) == (Code.FORBIDDEN, "no")
        assert await stored(broker) == 1


async def test_rules_know_the_topic(tmp_path: Path) -> None:
    async with faulty(tmp_path, "answer:1,topic=other,code=310") as (_, broker, sdk):
        await broker.create_topic("other", 1)
        assert code_of(await sdk.call("SendMessage", send_request())) is Code.OK
        response = await sdk.call("SendMessage", send_request(message(to="other")))
        assert code_of(response) is Code.INTERNAL_SERVER_ERROR


async def test_a_call_is_delayed(tmp_path: Path) -> None:
    for number, part in enumerate(("request", "answer")):
        async with faulty(tmp_path / part, f"delay:500:{part},code=310") as (server, broker, sdk):
            stream = await sdk.begin("SendMessage", send_request())
            await sdk.rest()
            assert await stored(broker) == number
            assert not sdk.incoming[stream].over
            await server.pass_time(1)
            assert (await sdk.wait_until_over(stream)).status == 0
            assert await stored(broker) == 1


async def test_a_call_is_lost(tmp_path: Path) -> None:
    for number, part in enumerate(("request", "answer")):
        async with faulty(tmp_path / part, f"drop:{part},code=310,count=1") as (_, broker, sdk):
            stream = await sdk.begin("SendMessage", send_request())
            await sdk.rest()
            assert not sdk.incoming[stream].over
            assert await stored(broker) == number
            await sdk.cancel(stream)
            assert code_of(await sdk.call("SendMessage", send_request())) is Code.OK


async def test_a_connection_is_lost(tmp_path: Path) -> None:
    for number, part in enumerate(("request", "answer")):
        async with faulty(tmp_path / part, f"disconnect:{part},code=310") as (_, broker, sdk):
            await sdk.begin("SendMessage", send_request())
            while not sdk.ended:
                await sdk.read()
            assert await stored(broker) == number


async def test_a_request_is_handled_twice(tmp_path: Path) -> None:
    for number, part in ((2, "request"), (1, "answer")):
        async with faulty(tmp_path / part, f"duplicate:{part},code=310") as (_, broker, sdk):
            assert code_of(await sdk.call("SendMessage", send_request())) is Code.OK
            assert await stored(broker) == number


async def test_a_damaged_answer_resets_the_stream(tmp_path: Path) -> None:
    async with faulty(tmp_path, "corrupt,code=310,count=1") as (_, broker, sdk):
        stream = await sdk.begin("SendMessage", send_request())
        assert (await sdk.wait_until_over(stream)).reset == 2
        assert await stored(broker) == 1
        assert code_of(await sdk.call("SendMessage", send_request())) is Code.OK


async def test_a_damaged_answer_to_settings_resets_the_telemetry_stream(tmp_path: Path) -> None:
    async with faulty(tmp_path, "corrupt,code=34,count=1") as (_, _broker, sdk):
        found = await sdk.wait_until_over(await sdk.telemetry(producer_settings()))
        assert found.reset == INTERNAL_ERROR
        assert (await sdk.command(await sdk.telemetry(producer_settings()))).status.code == Code.OK
