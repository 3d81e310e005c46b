from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from typing import Any

import pytest
import trio

from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.net import arrivals as arrivals_module
from rocketwire.server.net.admission.admission import Admission
from rocketwire.server.net.arrivals import Arrival, Arrivals, holds_request
from rocketwire.wire.frame import encode_frame
from rocketwire.wire.header import Header
from tests.server.harness import account, mock_clock, settle

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes.fromhex("000000040000000000")
CALL = PREFACE + bytes.fromhex("000001010500000001") + b"\x82"
FRAME = encode_frame(Header(code=1, opaque=1), b"body")


class Door:
    """Accepts connections without a listener."""

    def __init__(self, nursery: trio.Nursery, *, rate: int = 1000) -> None:
        self.begun: list[Arrival] = []
        self.dropped: list[Arrival] = []
        self.tls = True
        admission = Admission(account(max_new_connections_per_address=rate))
        self.arrivals = Arrivals(admission, self.begun.append, self.dropped.append, lambda _: self.tls)
        self._kept: list[socket.socket] = []
        nursery.start_soon(self.arrivals.run)

    def connect(self, data: bytes = b"", host: str = "192.0.2.1") -> socket.socket:
        """A client that has sent something before it is accepted."""
        client, accepted = socket.socketpair()
        accepted.settimeout(0)
        client.sendall(data)
        arrival = self.arrivals.add(accepted, (host, 1))
        assert arrival is not None
        self._kept += [client, accepted]
        return client

    def close(self) -> None:
        for each in self._kept:
            each.close()


@pytest.fixture
def door(nursery: trio.Nursery) -> Iterator[Door]:
    made = Door(nursery)
    yield made
    made.close()


async def test_a_connection_begins_with_its_clients_first_bytes(door: Door) -> None:
    client = door.connect()
    await settle()
    assert door.begun == []
    client.sendall(b"\0")
    await settle()
    (begun,) = door.begun
    assert begun.sock.recv(9) == b"\0"  # no byte of it is read
    assert (begun.remote_text, begun.held) == ("192.0.2.1:1", 0)


@pytest.mark.parametrize("data", [b"", b"\0\0", FRAME[:-1], PREFACE, PREFACE[:9], b"\x16\x03\x01"])
async def test_a_client_that_leaves_without_a_whole_request_is_not_served(door: Door, data: bytes) -> None:
    client = door.connect()
    await settle()
    client.sendall(data)
    client.close()
    await settle()
    assert door.begun == []
    assert [each.sock.fileno() for each in door.dropped] == [-1]


async def test_a_client_that_has_left_before_it_is_accepted_is_not_served(door: Door) -> None:
    client, accepted = socket.socketpair()
    client.close()
    with accepted:
        assert door.arrivals.add(accepted, ("192.0.2.1", 1)) is None


@pytest.mark.parametrize("data", [FRAME, FRAME + FRAME[:9], CALL])
async def test_a_client_that_sends_no_more_is_served(door: Door, data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    client = door.connect(data)
    client.shutdown(socket.SHUT_WR)
    await settle()
    assert len(door.begun) == 1
    monkeypatch.setattr(arrivals_module, "_HALF_CLOSED_MOST", 0)  # but not any number of them
    client = door.connect(data)
    client.shutdown(socket.SHUT_WR)
    await settle()
    assert len(door.begun) == 1
    assert len(door.dropped) == 1


async def test_addresses_alternate_and_each_has_its_rate(nursery: trio.Nursery) -> None:
    door = Door(nursery, rate=2)
    waiting = [door.connect(b"\0", f"192.0.2.{1 + number // 5}") for number in range(10)]
    await settle()
    assert [each.host for each in door.begun] == ["192.0.2.1", "192.0.2.2"] * 3  # a second's, and the next one's
    waiting[3].close()  # it left while it waited
    await settle()
    assert len(door.dropped) == 1
    mock_clock().jump(0.5)
    await settle()
    assert [each.host for each in door.begun[6:]] == ["192.0.2.1", "192.0.2.2"]
    mock_clock().jump(9.0)
    await settle()
    assert len(door.begun) == 9
    door.close()


async def test_clients_that_wait_for_a_tls_handshake_do_not_delay_others(door: Door) -> None:
    door.tls = False
    door.connect(b"\x16\x03")
    door.connect(b"\0")
    await settle()
    assert len(door.begun) == 1
    door.tls = True
    mock_clock().jump(0.02)
    await settle()
    assert len(door.begun) == 2


async def test_few_connections_begin_in_one_pass_of_the_loop(nursery: trio.Nursery, door: Door) -> None:
    most = passes = 0

    async def count() -> None:
        nonlocal most, passes
        before = 0
        while True:
            await trio.lowlevel.checkpoint()
            passes += 1
            most, before = max(most, len(door.begun) - before), len(door.begun)

    for _ in range(100):
        door.connect(b"\0")
    nursery.start_soon(count)
    while len(door.begun) < 100:
        await trio.lowlevel.checkpoint()
    assert most <= arrivals_module._BEGUN_MOST
    assert passes >= 100 / arrivals_module._BEGUN_MOST
    nursery.cancel_scope.cancel()


async def test_a_reused_descriptor_is_another_connection(door: Door) -> None:
    """Events of a connection that was closed meanwhile do not concern the next one."""
    former = door.connect(b"\0")
    (arrival,) = door.arrivals._all.values()
    door.arrivals._events = [(arrival, arrivals_module._CLOSED)]
    arrival.close()
    arrival.close()
    assert door.dropped == [arrival]
    door.connect(b"\0")
    await settle()
    assert len(door.begun) == 1
    former.close()


async def test_a_waiting_connection_is_closed_when_it_is_idle_or_refused(door: Door) -> None:
    door.connect()
    (arrival,) = door.arrivals._all.values()
    assert arrival.last_sign_of_life == arrival.silent_since == trio.current_time()
    arrival.refuse(LimitExceeded("maxInFlightBytes", 1))
    assert door.dropped == [arrival]


async def test_a_connection_that_breaks_is_dropped(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(socket.socket):
        def recv(self, *_: Any) -> bytes:
            raise ConnectionResetError

    client, accepted = socket.socketpair()
    broken = Broken(fileno=accepted.detach())
    assert door.arrivals.add(broken, ("192.0.2.1", 1)) is None
    client.close()
    broken.close()

    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname())
        accepted, _ = server.accept()
        accepted.settimeout(0)
        door.arrivals.add(accepted, ("192.0.2.1", 1))
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
        await settle()
    assert len(door.dropped) == 1


def test_a_request_is_recognised_when_it_is_whole() -> None:
    near, far = socket.socketpair()
    with near, far:
        far.sendall(FRAME)
        assert holds_request(near, FRAME[:9])
        assert not holds_request(near, (len(FRAME) + 1).to_bytes(4))
        assert not holds_request(near, FRAME[:3])
