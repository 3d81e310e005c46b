"""Refused connections, over socket pairs; through a whole server: test_admission."""

from __future__ import annotations

import socket
import struct

import pytest
import trio

from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.net.admission import refusals
from rocketwire.server.net.admission.descriptors import DescriptorBudget
from rocketwire.server.net.admission.refusals import MOST_AT_ONCE, ConnectionRefuser, first_header, refusal_frame
from rocketwire.wire.errors import FrameError
from rocketwire.wire.facts.codes import FLAG_ONEWAY
from rocketwire.wire.frame import decode_frame, encode_frame
from rocketwire.wire.header import Header
from tests.server.harness import BINARY, JSON, WokenForNothing, mock_clock, settle

ERROR = LimitExceeded("maxConnections", 5)


def pair() -> tuple[socket.socket, socket.socket]:
    near, far = socket.socketpair()
    near.settimeout(0)
    far.settimeout(0)
    return near, far


def request(flag: int = 0, kind: int = JSON, body: bytes = b"") -> bytes:
    return encode_frame(Header(code=310, opaque=7, flag=flag, version=407), body, kind)


@pytest.mark.parametrize("kind", [JSON, BINARY])
async def test_the_answer_can_be_read_before_the_connection_ends(nursery: trio.Nursery, kind: int) -> None:
    near, far = pair()
    ConnectionRefuser(DescriptorBudget()).refuse(near, ERROR, nursery)
    data = request(kind=kind, body=bytes(9000))
    for part in (data[:5], data[5:30], data[30:]):
        await settle()
        far.send(part)
    await settle()
    answer = decode_frame(far.recv(1 << 16))
    assert (answer.header.code, answer.header.opaque, answer.header.remark) == (2, 7, str(ERROR))
    assert answer.serialize_type == kind
    assert far.recv(1) == b""  # no more will come; bytes in flight are read
    far.send(bytes(100))
    await settle()
    assert near.fileno() >= 0
    far.close()
    await settle()
    assert near.fileno() == -1


async def test_a_silent_client_is_closed_after_a_second(nursery: trio.Nursery) -> None:
    near, far = pair()
    answered, says = pair()
    refusing = ConnectionRefuser(DescriptorBudget())
    refusing.refuse(near, ERROR, nursery)
    refusing.refuse(answered, ERROR, nursery)
    await settle()
    says.send(request())  # and reads without end
    await settle()
    mock_clock().jump(1.1)
    await settle()
    assert (near.fileno(), answered.fileno()) == (-1, -1)
    assert far.recv(1) == b""
    for each in (far, says):
        each.close()


async def test_a_bounded_number_is_answered_at_a_time(nursery: trio.Nursery) -> None:
    refusing = ConnectionRefuser(DescriptorBudget())
    pairs = [pair() for _ in range(MOST_AT_ONCE + 1)]
    for near, _ in pairs:
        refusing.refuse(near, ERROR, nursery)
    await settle()
    assert [near.fileno() == -1 for near, _ in pairs] == [False] * MOST_AT_ONCE + [True]
    pairs[0][1].close()
    await settle()
    near, far = pair()
    refusing.refuse(near, ERROR, nursery)
    await settle()
    assert near.fileno() >= 0
    nursery.cancel_scope.cancel()
    for _, other in (*pairs, (near, far)):
        other.close()


@pytest.mark.parametrize(
    "data",
    [b"GET / HTTP/1.1\r\n\r\n", struct.pack(">iI", 100, 200), struct.pack(">iI", 1 << 20, 70_000), b"\x00" * 8, b""],
    ids=["http", "header beyond its frame", "header too long", "no length", "nothing"],
)
async def test_a_malformed_frame_is_closed_without_an_answer(nursery: trio.Nursery, data: bytes) -> None:
    near, far = pair()
    ConnectionRefuser(DescriptorBudget()).refuse(near, ERROR, nursery)
    far.send(data)
    far.shutdown(socket.SHUT_WR)
    await settle()
    assert near.fileno() == -1
    assert far.recv(10) == b""
    far.close()


def test_a_one_way_request_gets_no_answer() -> None:
    found = first_header(request(flag=FLAG_ONEWAY))
    assert found is not None
    assert refusal_frame(*found, ERROR) == b""


def test_the_header_is_read_from_the_first_bytes() -> None:
    data = request(body=b"12345")
    header_end = len(data) - 5
    assert first_header(data[:7]) is None
    assert first_header(data[: header_end - 1]) is None
    found = first_header(data[:header_end])
    assert found is not None
    assert found[0].opaque == 7
    with pytest.raises(FrameError):
        first_header(struct.pack(">iI", 1 << 20, 5) + b"{{{{{")


async def test_a_spurious_wakeup_is_harmless() -> None:
    near, far = pair()
    sock = WokenForNothing(fileno=near.detach())
    sock.settimeout(0)
    far.send(b"x")
    far.close()
    await refusals.drain(sock)
    assert sock.woken == 3
    sock.close()
