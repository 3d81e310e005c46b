"""/healthz and /readyz of a whole server."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
import trio

from rocketwire.server.net.listener import Listener
from rocketwire.server.timer.timer import Timer
from rocketwire.wire.addresses import Address
from tests.server.harness import Server, serving, settle
from tests.server.http.test_connection import Answer, Http

HTTP = Address(host="127.0.0.1", port=0)


async def get(server: Server, path: str) -> Answer:
    assert server.http is not None
    async with await trio.open_tcp_stream(server.http.host, server.http.port) as stream:
        return await Http(stream).request(f"GET {path} HTTP/1.1\r\nHost: h\r\n\r\n".encode())


async def checks(server: Server) -> tuple[int, dict[str, str]]:
    """The answer of /readyz."""
    answer = await get(server, "/readyz")
    found_checks = json.loads(answer.body)
    assert found_checks["ready"] == (answer.status == 200)
    return answer.status, found_checks["checks"]


async def test_a_server_that_serves_is_healthy_and_ready(tmp_path: Path) -> None:
    async with serving(tmp_path, http=HTTP) as server:
        assert (await get(server, "/healthz")).body == b"ok\n"
        assert await checks(server) == (200, {"listeners": "ok", "store": "ok", "timer": "ok"})


async def test_a_full_disk_is_not_ready(tmp_path: Path) -> None:
    async with serving(tmp_path, http=HTTP) as server:
        await server.broker().set_config(diskSpaceWarningLevelRatio=0)
        await server.pass_time(20)
        status, found_checks = await checks(server)
        assert status == 503
        assert found_checks["store"].startswith("messages are refused: CL: ")
        assert (await get(server, "/healthz")).status == 200


async def test_a_timer_that_is_behind_is_not_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(tmp_path, http=HTTP) as server:
        monkeypatch.setattr(Timer, "lag_ms", 61_000)
        status, found_checks = await checks(server)
        assert (status, found_checks["timer"]) == (503, "the timer is behind: 61 s overdue, 0 messages to take up")


async def test_a_timer_that_still_reads_what_waits_is_not_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(_: Any) -> None:
        await trio.sleep_forever()

    monkeypatch.setattr(Timer, "_recover", never)
    async with serving(tmp_path, http=HTTP) as server:
        status, found_checks = await checks(server)
        assert (status, found_checks["timer"]) == (503, "the timer looks what waits")


async def test_without_a_timer_there_is_no_check_of_it(tmp_path: Path) -> None:
    async with serving(tmp_path, http=HTTP, timer_wheel_enable=False) as server:
        assert (await checks(server))[0] == 200


async def test_listeners_without_descriptors_are_not_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(tmp_path, http=HTTP) as server:
        monkeypatch.setattr(Listener, "accepts", False)
        status, found_checks = await checks(server)
        assert (status, found_checks["listeners"]) == (503, "no descriptor is left for a further connection")


@pytest.mark.parametrize(("host", "warned"), [("0.0.0.0", True), ("::", True), ("127.0.0.2", False), ("::1", False)])
async def test_an_address_that_others_reach_is_warned_of(
    host: str, warned: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with serving(tmp_path, http=Address(host=host, port=0)) as server:
        await settle()
        assert server.http is not None
        assert server.http.host == host
        assert f"HTTP listens on {server.http}" in caplog.text
        assert (f"HTTP on {server.http} is open to all who reach it" in caplog.text) is warned


async def test_nothing_listens_unless_configured(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        assert server.http is None
