"""The connected clients: those of which the guards have admitted a call."""

from __future__ import annotations

import gc
import logging
from typing import Any, cast

import pytest
import trio

from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.grpc.clients import GrpcClient, GrpcClients
from rocketwire.server.grpc.tables.declarations import NO_DECLARATION
from rocketwire.server.pop.renewals import STEP_MS, Renewals
from rocketwire.wire.grpc.filters import TAG, Filter
from tests.server.busy_loop import BusyLoop
from tests.server.grpc.sdk import producer_settings
from tests.server.harness import mock_clock, settle


class InFlight:
    """Counts bytes."""

    def __init__(self) -> None:
        self.bytes = 0

    def add(self, size: int) -> None:
        """Count more of them."""
        self.bytes += size


class Connection:
    """A connection of clients at an address."""

    def __init__(self, remote_text: str = "192.0.2.1:1") -> None:
        self.remote_text = remote_text
        self.place = remote_text.rpartition(":")[0]
        self.born_host = bytes(8)
        self.closed = False
        self.last_sign_of_life = 100.0


class Room:
    """The clients of a broker."""

    def __init__(self) -> None:
        self.gone: list[GrpcClient] = []
        self.in_flight = InFlight()
        self.now = 0.0
        self.renewals = Renewals(lambda: self.now, lambda: round(self.now * 1000))
        self.now = 100.0  # at the start every client counts as connected
        self.costs = 0.0  # seconds that the leaving of a client takes
        self.clients = GrpcClients(cast("Any", self.in_flight), self._leaves, self.renewals)

    def _leaves(self, client: GrpcClient) -> None:
        self.gone.append(client)
        if self.costs:
            mock_clock().jump(self.costs)

    def claimed(self, line: Any, client_id: str = "a") -> GrpcClient:
        """A client that a call names."""
        return self.clients.find_or_make(client_id, line)

    def admitted(self, line: Any, client_id: str = "a") -> GrpcClient:
        """A client that the guards admit."""
        client = self.claimed(line, client_id)
        self.clients.note_admitted(client, line)
        return client

    def renews(self) -> bool:
        """Whether messages of the client `a` are renewed."""
        return self.renewals.renewal_ms("a", 50_000, 50_000 + STEP_MS) is not None


@pytest.fixture
def room() -> Room:
    return Room()


async def test_a_client_that_a_call_names_is_not_connected(room: Room) -> None:
    client = room.claimed(Connection())
    client.keep(100)
    assert not client.admitted
    assert room.clients.find("a") is None
    assert not room.renews()
    assert room.claimed(Connection()) is client  # a second call meanwhile
    del client
    gc.collect()
    assert room.in_flight.bytes == 0
    assert not room.claimed(Connection()).admitted


async def test_an_admitted_client_is_connected_until_its_connection_closes(room: Room) -> None:
    line: Any = Connection()
    client = room.claimed(line)
    client.keep(100)
    room.admitted(line)
    assert room.clients.find("a") is client
    assert room.renews()
    assert room.in_flight.bytes == 100
    room.clients.connection_closed(line)
    assert room.gone == [client]
    again = room.admitted(Connection())  # while an object still refers to the former one
    assert again is not client
    assert room.clients.find("a") is again
    assert room.in_flight.bytes == 0


async def test_a_call_that_is_not_admitted_renews_nothing(room: Room) -> None:
    client = room.admitted(Connection())
    client.seen = -1
    assert room.claimed(Connection("198.51.100.7:9")) is client
    assert (client.seen, client.remote_text) == (-1, "192.0.2.1:1")
    room.admitted(Connection("198.51.100.7:9"))
    assert client.seen >= 0
    assert client.remote_text == "198.51.100.7:9"


async def test_clients_that_are_not_admitted_do_not_count_for_their_connection(room: Room) -> None:
    line: Any = Connection()
    claims = [room.claimed(line, f"c{number}") for number in range(2000)]
    assert claims
    for number in range(1024):
        room.admitted(line, f"c{number}")
    with pytest.raises(LimitExceeded):
        room.claimed(line, "one more")
    assert room.claimed(line, "c7").admitted


async def test_a_late_admission_does_not_restore_a_client(room: Room) -> None:
    line: Any = Connection()
    client = room.admitted(line)
    room.clients.leave(client, for_good=True)
    room.clients.note_admitted(client, line)
    assert room.clients.find("a") is None
    assert not room.renews()


async def test_a_client_that_is_admitted_on_a_closed_connection_leaves(room: Room) -> None:
    line: Any = Connection()
    line.closed = True
    client = room.admitted(line)
    assert room.gone == [client]
    assert room.clients.find("a") is None
    elsewhere = room.admitted(Connection())
    assert elsewhere is not client
    room.admitted(line)
    assert room.clients.find("a") is elsewhere


async def test_silent_clients_are_forgotten_in_steps_with_one_log_line(
    room: Room, nursery: trio.Nursery, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    loop, line = BusyLoop(tick=0.000_1), Connection()
    nursery.start_soon(room.clients.run, loop.budget)
    for number in range(50):
        room.admitted(cast("Any", line), f"c{number}")
    loop.keep_busy()
    for _ in range(14):
        await settle()
        mock_clock().jump(10)
    await settle()
    assert len(room.gone) == 50
    assert loop.rests
    assert [text.partition(",")[0] for text in caplog.messages] == ["50 5.x clients made no call"]


async def test_declarations_of_all_but_a_connections_first_clients_are_counted(room: Room) -> None:
    line: Any = Connection()
    declaration = NO_DECLARATION.with_settings(producer_settings("T"), 1)
    for number in range(20):
        room.admitted(line, str(number)).declare(declaration)
    assert room.in_flight.bytes == room.clients.kept_of(line) == 4 * (declaration.cost + 2)
    room.clients.connection_closed(line)
    assert room.in_flight.bytes == room.clients.kept_of(line) == 0


async def test_long_declarations_are_counted_for_any_client(room: Room) -> None:
    line: Any = Connection()
    client = room.admitted(line)
    client.declare(NO_DECLARATION.with_subscription("G", "T", Filter(TAG, "x" * 100_000), 1))
    assert 900_000 < room.in_flight.bytes == room.clients.kept_of(line)
    client.keep(2_000_000)  # what is cached of its heartbeat holds the same
    assert room.in_flight.bytes == 2_000_000
    client.declare(NO_DECLARATION)
    client.keep(0)
    assert room.in_flight.bytes == 0


async def test_many_clients_of_a_closed_connection_leave_in_steps(room: Room) -> None:
    line: Any = Connection()
    clients = [room.admitted(line, str(number)) for number in range(10)]
    room.costs = 0.001
    async with trio.open_nursery() as nursery:
        nursery.start_soon(room.clients.run_leaving)
        await settle()
        room.clients.connection_closed(line)
        assert 1 <= len(room.gone) <= 3
        other: Any = Connection()
        room.clients.note_admitted(clients[-1], other)  # it is back
        while len(room.gone) < 9:
            before = len(room.gone)
            await trio.lowlevel.checkpoint()
            assert len(room.gone) - before <= 6  # the task may have run twice
        await settle()
        assert clients[-1] not in room.gone
        nursery.cancel_scope.cancel()
    room.clients.connection_closed(other)
    assert clients[-1] in room.gone


async def test_nothing_is_noted_for_renewals_of_a_client_that_never_received(room: Room) -> None:
    for number in range(3):
        line: Any = Connection()
        room.admitted(line, f"client-{number}").renews = number == 2
        room.clients.connection_closed(line)
    back = [room.renewals.client_arrived(f"client-{number}") for number in range(3)]
    assert back == [False, False, True]


async def test_a_client_that_flaps_keeps_its_grace(room: Room) -> None:
    line: Any = Connection()
    room.admitted(line).renews = True
    room.clients.connection_closed(line)
    again: Any = Connection()
    room.admitted(again)
    room.clients.connection_closed(again)
    assert room.renewals.client_arrived("a")


async def test_settings_cost_the_same_however_many_streams_their_client_has(room: Room) -> None:
    class Stream:
        asked = 0

        @property
        def place(self) -> str:
            Stream.asked += 1
            return "192.0.2.1"

    line: Any = Connection()
    client = room.admitted(line)
    streams: list[Any] = [Stream() for _ in range(100)]
    for stream in streams:
        client.stream_opened(stream, line)
    assert Stream.asked < 100
    assert list(client.streams) == streams
