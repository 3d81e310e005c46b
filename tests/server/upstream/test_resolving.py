"""Host names of brokers: looked up in threads, for a bounded time, and kept for a bounded time."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import trio

from rocketwire.server.upstream.connecting import RequestNotSent
from rocketwire.server.upstream.resolving import FAILED_SECONDS, FOUND_SECONDS, Resolver, usable_address
from rocketwire.wire.addresses import Address
from tests.server.harness import mock_clock, settle


class System:
    """What answers look-ups."""

    def __init__(self, *told: str) -> None:
        self.told = told
        self.asked = 0

    def __call__(self, host: str, _port: None) -> list[tuple[Any, ...]]:
        self.asked += 1
        if not self.told:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        families = [socket.AF_INET6 if ":" in each else socket.AF_INET for each in self.told]
        return [(family, 1, 6, "", (each, 0)) for family, each in zip(families, self.told, strict=True)]


@pytest.mark.parametrize(
    "text",
    [
        *("", ":1", "nowhere", "127.0.0.1:0", "127.0.0.1:65536", "h:" + "9" * 5000, " 127.0.0.1:1", "127.0.0.1:01"),
        *("\x00:1", "a\x1b[2J:1", "a" * 300 + ":1", "-:1", "a b:1", "a/b:1", "ä:1"),
    ],
)
def test_what_is_no_address(text: str) -> None:
    assert usable_address(text) is None


@pytest.mark.parametrize("text", ["127.0.0.1:1", "[::1]:10911", "localhost:10911", "broker_1.example:65535"])
def test_what_is_one(text: str) -> None:
    assert str(usable_address(text)) == text


async def test_a_name_is_looked_up_once_for_all_who_ask_and_again_after_a_while() -> None:
    system = System("::1", "127.0.0.1")
    resolver = Resolver(system)
    named = Address(host="broker", port=10911)
    assert resolver.known(named) is None
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(resolver.addresses, "broker")
    assert await resolver.addresses("broker") == ("127.0.0.1", "::1")
    assert resolver.known(named) == Address(host="127.0.0.1", port=10911)
    assert system.asked == 1
    mock_clock().jump(FOUND_SECONDS)
    await resolver.addresses("broker")
    assert system.asked == 2


async def test_a_name_that_is_not_found_is_told_once_and_asked_for_again(caplog: pytest.LogCaptureFixture) -> None:
    system = System()
    resolver = Resolver(system)
    for _ in range(3):
        with pytest.raises(RequestNotSent, match="nowhere cannot be reached: its name is not found"):
            await resolver.addresses("nowhere")
    assert system.asked == 1
    for _ in range(3):
        mock_clock().jump(FAILED_SECONDS)
        with pytest.raises(RequestNotSent):
            await resolver.addresses("nowhere")
    assert system.asked == 4
    assert [each.getMessage() for each in caplog.records] == [
        "nowhere: its name is not found: Name or service not known"
    ]
    system.told = ("127.0.0.1",)
    mock_clock().jump(FAILED_SECONDS)
    assert await resolver.addresses("nowhere") == ("127.0.0.1",)
    system.told = ()
    mock_clock().jump(FOUND_SECONDS)
    assert await resolver.addresses("nowhere") == ("127.0.0.1",)  # what was found before stays


async def test_what_the_system_takes_for_no_name_at_all() -> None:
    with pytest.raises(RequestNotSent, match="not a host name"):
        await Resolver().addresses("a" * 70)


@pytest.fixture
def stuck() -> Iterator[threading.Event]:
    """Ends look-ups."""
    event = threading.Event()
    yield event
    event.set()


async def test_a_look_up_that_takes_long_is_given_up_and_others_have_threads(stuck: threading.Event) -> None:
    def slow(host: str, _port: None) -> list[tuple[Any, ...]]:
        if host.startswith("slow"):
            stuck.wait()
        return System("127.0.0.1")(host, None)

    resolver = Resolver(slow)
    failed = 0

    async def ask(host: str) -> None:
        nonlocal failed
        with pytest.raises(RequestNotSent, match="not found in time"):
            await resolver.addresses(host)
        failed += 1

    async with trio.open_nursery() as nursery:
        for number in range(10):
            nursery.start_soon(ask, f"slow{number}")
        await settle()
        assert await resolver.addresses("quick") == ("127.0.0.1",)
        assert await trio.to_thread.run_sync(lambda: 1) == 1
        mock_clock().jump(3.1)
    assert failed == 10


async def test_each_address_of_a_name_is_tried(nursery: trio.Nursery) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        connect = Resolver(System("127.0.0.2", "127.0.0.1")).connect_resolved()
        with await connect(Address(host="broker", port=port), nursery) as sock:
            assert sock.getpeername() == ("127.0.0.1", port)
    with pytest.raises(RequestNotSent, match=r"127\.0\.0\.2"):
        await connect(Address(host="broker", port=port), nursery)
