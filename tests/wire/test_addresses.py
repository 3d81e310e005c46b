import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.wire.addresses import Address, AddressInvalid, parse_address


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:9876", "127.0.0.1", 9876),
        ("broker.example:0", "broker.example", 0),
        ("[::1]:10911", "::1", 10911),
        (" [fe80::1%eth0]:65535 ", "fe80::1%eth0", 65535),
    ],
)
def test_host_and_port_are_read(text: str, host: str, port: int) -> None:
    assert parse_address(text) == Address(host=host, port=port)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "9876",
        "localhost",
        ":9876",
        "localhost:",
        "localhost:x",
        "localhost:-1",
        "localhost:65536",
        "localhost:" + "9" * 5000,
        "localhost:٣",
        "::1:9876",
        "[::1]",
        "[localhost]:9876",
        "[]:1",
        "a b:1",
    ],
)
def test_anything_else_is_refused_with_what_is_allowed(text: str) -> None:
    with pytest.raises(AddressInvalid, match=r"^expected HOST:PORT or \[IPV6\]:PORT, port 0 to 65535$"):
        parse_address(text)


@given(st.ip_addresses(), st.integers(0, 65535))
def test_what_is_shown_reads_back(host: object, port: int) -> None:
    address = Address(host=str(host), port=port)
    assert parse_address(str(address)) == address
