from __future__ import annotations

import errno
import socket
from typing import Any

import pytest
import trio

from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.core.route import Family
from rocketwire.server.dispatch.dispatcher import FrameDispatcher
from rocketwire.server.limits.keys import LimitKeys
from rocketwire.server.limits.limits import Limits
from rocketwire.server.name_server import handlers as name_server
from rocketwire.server.net.admission.admission import Admission
from rocketwire.server.net.admission.in_flight import InFlight
from rocketwire.server.net.listener import AddressInUse, Listener, _remote, bind
from rocketwire.server.net.session import Session
from rocketwire.wire.addresses import Address
from tests.server.harness import Client, mock_clock, settle, tls_gate, warnings


def test_port_0_means_any_free_port() -> None:
    with bind("127.0.0.1", 0, option="--broker") as sock:
        assert sock.getsockname()[1] > 0
        assert sock.gettimeout() == 0


def test_a_port_in_use_is_reported() -> None:
    with bind("127.0.0.1", 0, option="--namesrv") as taken:
        port = taken.getsockname()[1]
        expected = rf"^cannot listen on 127\.0\.0\.1:{port} \(--broker\): Address already in use$"
        with pytest.raises(AddressInUse, match=expected):
            bind("127.0.0.1", port, option="--broker")


@pytest.mark.parametrize(
    ("host", "shown"), [("192.0.2.1", r"192\.0\.2\.1:1234"), ("2001:db8::1", r"\[2001:db8::1\]:1234")]
)
def test_an_address_of_another_machine_is_reported(host: str, shown: str) -> None:
    with pytest.raises(AddressInUse, match=rf"^cannot listen on {shown} \(--broker\): \S"):
        bind(host, 1234, option="--broker")


@pytest.mark.parametrize("host", ["no host", "a..b", "x" * 64])
def test_a_host_that_is_no_address_is_reported(host: str) -> None:
    with pytest.raises(AddressInUse, match=rf"^cannot listen on {host}:1 \(--broker\): \S"):
        bind(host, 1, option="--broker")


@pytest.mark.parametrize(("host", "only"), [("::1", 1), ("::", 0)])
def test_the_ipv6_wildcard_includes_ipv4(host: str, only: int) -> None:
    with bind(host, 0, option="--broker") as sock:
        assert sock.getsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY) == only


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        (("10.0.0.1", 5), ("10.0.0.1", 5)),
        (("::ffff:10.0.0.1", 5, 0, 0), ("10.0.0.1", 5)),
        (("fe80::1%eth0", 5, 0, 2), ("fe80::1", 5)),
        (("::1", 5, 0, 0), ("::1", 5)),
    ],
)
def test_the_other_ends_address_is_shown_plainly(address: Any, expected: tuple[str, int]) -> None:
    assert _remote(address) == expected


class Tired(socket.socket):
    """A listening socket whose `accept` fails a given number of times."""

    errors: list[int]

    def accept(self) -> Any:
        if self.errors:
            number = self.errors.pop(0)
            raise OSError(number, "Too many open files" if number == errno.EMFILE else "odd")
        return super().accept()


def listening(errors: list[int]) -> Tired:
    sock = bind("127.0.0.1", 0, option="")
    tired = Tired(fileno=sock.detach())
    tired.settimeout(0)
    tired.errors = errors
    return tired


def nothing(_: Session) -> None:
    pass


def listener_of(sock: socket.socket, **options: Any) -> Listener:
    """A listener of a name server without services."""
    metrics = Metrics()
    dispatcher = FrameDispatcher([Family(routes=name_server.family.routes, services=None)], metrics=metrics)
    in_flight = InFlight(Limits(LiveGroup(LimitKeys()), metrics))
    return Listener(
        sock,
        dispatcher,
        nothing,
        admission=Admission(in_flight),
        tls=tls_gate(in_flight),
        **options,
    )


async def test_without_descriptors_accepting_pauses_and_continues(
    nursery: trio.Nursery, caplog: pytest.LogCaptureFixture
) -> None:
    sock = listening([errno.EMFILE, errno.ENFILE, errno.EMFILE])
    listener = listener_of(sock)
    nursery.start_soon(listener.run)
    client = Client(Address(host="127.0.0.1", port=listener.port))
    await settle()
    assert listener.sessions == set()
    for _ in range(3):
        mock_clock().jump(0.11)
        await settle()
    assert len(listener.sessions) == 1
    assert warnings(caplog) == ["cannot accept a connection: Too many open files"]
    client.close()
    await settle()
    assert listener.sessions == set()

    sock.errors += [errno.EMFILE, errno.EMFILE]  # a second time makes another line
    again = Client(Address(host="127.0.0.1", port=listener.port))
    await settle()
    assert warnings(caplog) == ["cannot accept a connection: Too many open files"] * 2
    again.close()
    nursery.cancel_scope.cancel()


async def test_a_client_that_left_before_it_was_accepted_is_harmless(nursery: trio.Nursery) -> None:
    listener = listener_of(listening([errno.ECONNABORTED]))
    nursery.start_soon(listener.run)
    client = Client(Address(host="127.0.0.1", port=listener.port))
    await settle()
    assert len(listener.sessions) == 1
    client.close()
    nursery.cancel_scope.cancel()


async def test_many_simultaneous_connections_are_accepted(nursery: trio.Nursery) -> None:
    listener = listener_of(listening([]))
    clients = [Client(Address(host="127.0.0.1", port=listener.port)) for _ in range(200)]
    nursery.start_soon(listener.run)
    await settle()
    assert len(listener.sessions) == 200
    assert (await clients[-1].request(9999)).header.code == 3
    for client in clients:
        client.close()
    nursery.cancel_scope.cancel()


async def test_a_connection_that_the_hub_cannot_read_has_a_task(
    nursery: trio.Nursery, caplog: pytest.LogCaptureFixture
) -> None:
    class Full:
        def drive(self, *_: object) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

    hub: Any = Full()
    listener = listener_of(listening([]), hub=hub)
    nursery.start_soon(listener.run)
    client = Client(Address(host="127.0.0.1", port=listener.port))
    assert (await client.request(9999)).header.code == 3
    assert warnings(caplog) == [f"the hub cannot read {client.local}: No space left on device"]
    client.close()
    nursery.cancel_scope.cancel()
