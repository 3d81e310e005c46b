from __future__ import annotations

import contextlib
import errno
import socket
from typing import Any

import pytest
import trio

from rocketwire.server.http import connection, server
from tests.server.harness import mock_clock, settle
from tests.server.http.test_connection import GET, Http, http_server
from tests.store.support import descriptors


async def test_it_listens_on_ipv6() -> None:
    async with http_server("::1") as port, await trio.open_tcp_stream("::1", port) as stream:
        assert (await Http(stream).request(GET)).status == 200


async def test_one_connection_too_many_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MOST_CONNECTIONS", 2)
    async with http_server() as port:
        busy = [Http(await trio.open_tcp_stream("127.0.0.1", port)) for _ in range(2)]
        for each in busy:
            await each.stream.send_all(GET.replace(b"/hello", b"/slow"))
        await settle()
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            client = Http(stream)
            answer = await client.answer()
            assert (answer.status, answer.headers["connection"]) == (503, "close")
            assert await client.closed()
        mock_clock().jump(connection.HANDLER_SECONDS)
        await settle()
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            assert (await Http(stream).request(GET)).status == 200
        for each in busy:
            await each.stream.aclose()


async def until_closed(client: Http, then: trio.CancelScope) -> None:
    with contextlib.suppress(trio.BrokenResourceError):
        while await client.stream.receive_some(1 << 20):
            pass
    then.cancel()


@pytest.mark.parametrize(
    "data",
    [b"", GET[:-2], GET.replace(b"/hello", b"/large"), GET.replace(b"1.1", b"1.0")],
    ids=["silent", "slow", "does not read", "lingers"],
)
async def test_the_connection_that_is_idle_for_longest_is_closed_for_a_new_one(
    data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "MOST_CONNECTIONS", 3)
    async with http_server() as port:
        kept, *waiting = [Http(await trio.open_tcp_stream("127.0.0.1", port)) for _ in range(3)]
        await settle()
        for each in waiting:
            await each.stream.send_all(data)
            await settle()
            mock_clock().jump(0.1)
        assert (await kept.request(GET)).status == 200
        await settle()
        for _ in range(2):
            mock_clock().jump(0.1)
            async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
                assert (await Http(stream).request(GET)).status == 200
            await settle()
        assert (await kept.request(GET)).status == 200
        async with trio.open_nursery() as nursery:
            for each in waiting:
                nursery.start_soon(until_closed, each, nursery.cancel_scope)
        for each in (kept, *waiting):
            await each.stream.aclose()


async def test_accepting_continues_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    full = OSError(errno.EMFILE, "Too many open files")
    errors = [ConnectionAbortedError(), full, full, full]
    accept = socket.socket.accept

    def failing(self: socket.socket) -> Any:
        if errors:
            raise errors.pop(0)
        return accept(self)

    monkeypatch.setattr(socket.socket, "accept", failing)
    async with http_server() as port, await trio.open_tcp_stream("127.0.0.1", port) as stream:
        for left in (3, 1):  # the second time the spare descriptor is closed, in this test without effect
            await settle()
            assert len(errors) == left
            mock_clock().jump(0.1)
        assert (await Http(stream).request(GET)).status == 200  # this time it has an effect
    assert errors == []


async def test_a_stop_closes_all_descriptors() -> None:
    before = descriptors()
    async with http_server() as port, await trio.open_tcp_stream("127.0.0.1", port) as stream:
        assert (await Http(stream).request(GET)).status == 200
    assert not descriptors() - before
