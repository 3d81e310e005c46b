import socket
from typing import Self

import pytest

from rocketwire.server.net.addresses import HostUnknown, ip_address, is_loopback, is_wildcard, machine_address


@pytest.mark.parametrize(
    ("host", "expected"),
    [("0.0.0.0", True), ("::", True), ("0:0::0", True), ("127.0.0.1", False), ("localhost", False)],
)
def test_wildcards_are_known(host: str, expected: bool) -> None:
    assert is_wildcard(host) is expected


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("LocalHost", True), ("0.0.0.0", False), ("h", False)],
)
def test_loopback_is_known(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


@pytest.mark.parametrize(("host", "expected"), [("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("fe80::1%lo", "fe80::1")])
def test_an_address_stays_as_it_is(host: str, expected: str) -> None:
    assert ip_address(host, option="o") == expected


@pytest.mark.parametrize("host", ["nosuchhost.invalid", "a..b", "x" * 64])
def test_a_host_without_an_address_is_reported_in_one_line(host: str) -> None:
    with pytest.raises(HostUnknown) as caught:
        ip_address(host, option="--option")
    text = str(caught.value)
    assert text.startswith(f"host {host} (--option): ")
    assert "\n" not in text


class _Probe:
    """A UDP socket of a machine with, or without, a route."""

    def __init__(self, own: str | None) -> None:
        self.own = own

    def __call__(self, family: int, kind: int) -> Self:
        assert kind == socket.SOCK_DGRAM
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def connect(self, address: tuple[str, int]) -> None:
        if self.own is None:
            raise OSError

    def getsockname(self) -> tuple[str, int]:
        assert self.own is not None
        return (self.own, 40000)


def test_the_machines_address_is_that_from_which_it_sends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "socket", _Probe("192.0.2.7"))
    assert machine_address() == "192.0.2.7"


@pytest.mark.parametrize(("ipv6", "expected"), [(False, "127.0.0.1"), (True, "::1")])
def test_without_a_route_the_address_is_loopback(monkeypatch: pytest.MonkeyPatch, ipv6: bool, expected: str) -> None:
    monkeypatch.setattr(socket, "socket", _Probe(None))
    assert machine_address(ipv6=ipv6) == expected
