"""Host names of brokers: resolved in threads, for a bounded time, and cached for a bounded time."""

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
    """A resolver with answers of the test."""

    def __init__(self, *answers: str) -> None:
        self.answers = answers
        self.calls = 0

    def __call__(self, host: str, _port: None) -> list[tuple[Any, ...]]:
        self.calls += 1
        if not self.answers:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        families = [socket.AF_INET6 if ":" in each else socket.AF_INET for each in self.answers]
        return [(family, 1, 6, "", (each, 0)) for family, each in zip(families, self.answers, strict=True)]


@pytest.mark.parametrize(
    "text",
    [
        *("", ":1", "nowhere", "127.0.0.1:0", "127.0.0.1:65536", "h:" + "9" * 5000, " 127.0.0.1:1", "127.0.0.1:01"),
        *("\x00:1", "a\x1b[2J:1", "a" * 300 + ":1", "-:1", "a b:1", "a/b:1", "ä:1"),
    ],
)
def test_malformed_addresses_are_refused(text: str) -> None:
    assert usable_address(text) is None


@pytest.mark.parametrize("text", ["127.0.0.1:1", "[::1]:10911", "localhost:10911", "broker_1.example:65535"])
def test_valid_addresses_are_parsed(text: str) -> None:
    assert str(usable_address(text)) == text


async def test_a_name_is_resolved_once_for_simultaneous_requests_and_again_later() -> None:
    system = System("::1", "127.0.0.1")
    resolver = Resolver(system)
    named = Address(host="broker", port=10911)
    assert resolver.known(named) is None
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(resolver.addresses, "broker")
    assert await resolver.addresses("broker") == ("127.0.0.1", "::1")
    assert resolver.known(named) == Address(host="127.0.0.1", port=10911)
    assert system.calls == 1
    mock_clock().jump(FOUND_SECONDS)
    await resolver.addresses("broker")
    assert system.calls == 2


async def test_an_unknown_name_is_logged_once_and_resolved_again(caplog: pytest.LogCaptureFixture) -> None:
    system = System()
    resolver = Resolver(system)
    for _ in range(3):
        with pytest.raises(RequestNotSent, match="nowhere cannot be reached: its name is not found"):
            await resolver.addresses("nowhere")
    assert system.calls == 1
    for _ in range(3):
        mock_clock().jump(FAILED_SECONDS)
        with pytest.raises(RequestNotSent):
            await resolver.addresses("nowhere")
    assert system.calls == 4
    assert [each.getMessage() for each in caplog.records] == [
        "nowhere: its name is not found: Name or service not known"
    ]
    system.answers = ("127.0.0.1",)
    mock_clock().jump(FAILED_SECONDS)
    assert await resolver.addresses("nowhere") == ("127.0.0.1",)
    system.answers = ()
    mock_clock().jump(FOUND_SECONDS)
    assert await resolver.addresses("nowhere") == ("127.0.0.1",)  # the former result stays


async def test_a_malformed_name_is_refused() -> None:
    with pytest.raises(RequestNotSent, match="not a host name"):
        await Resolver().addresses("a" * 70)


@pytest.fixture
def stuck() -> Iterator[threading.Event]:
    """Ends the resolutions."""
    event = threading.Event()
    yield event
    event.set()


async def test_a_slow_resolution_ends_and_others_have_threads(stuck: threading.Event) -> None:
    def slow(host: str, _port: None) -> list[tuple[Any, ...]]:
        if host.startswith("slow"):
            stuck.wait()
        return System("127.0.0.1")(host, None)

    resolver = Resolver(slow)
    failed = 0

    async def resolve(host: str) -> None:
        nonlocal failed
        with pytest.raises(RequestNotSent, match="not found in time"):
            await resolver.addresses(host)
        failed += 1

    async with trio.open_nursery() as nursery:
        for number in range(10):
            nursery.start_soon(resolve, f"slow{number}")
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
