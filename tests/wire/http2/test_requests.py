import pytest

from rocketwire.wire.http2.requests import HeadersMalformed, check_header, read_head

HEAD = [(b":method", b"POST"), (b":path", b"/s/m"), (b":scheme", b"http")]


def test_a_head_has_the_fields_as_text() -> None:
    head = read_head(
        [*HEAD, (b":authority", b"h:1"), (b"te", b"trailers"), (b"x", b"1"), (b"x", "é".encode()), (b"y", b"\xff")],
    )
    assert (head.method, head.path) == ("POST", "/s/m")
    assert head.fields == {":authority": "h:1", "te": "trailers", "x": "1,é", "y": "\ufffd"}
    assert read_head(HEAD).fields == {}


@pytest.mark.parametrize(
    "headers",
    [
        HEAD[:2],
        HEAD[1:],
        [*HEAD, HEAD[0]],
        [*HEAD, (b"x", b"1"), (b":authority", b"h")],
        [*HEAD, (b":status", b"200")],
        [(b":method", b""), *HEAD[1:]],
        [*HEAD, (b"x", b"a\nb")],
        [*HEAD, (b"X", b"1")],
        [*HEAD, (b"", b"1")],
    ],
)
def test_other_heads_are_malformed(headers: list[tuple[bytes, bytes]]) -> None:
    with pytest.raises(HeadersMalformed):
        read_head(headers)


@pytest.mark.parametrize("name", [b"connection", b"upgrade", b"te", b"a:b", b"a b", b"\xff"])
def test_what_no_http2_message_has(name: bytes) -> None:
    with pytest.raises(HeadersMalformed):
        check_header(name, b"x")
    check_header(b"x-name", b"x")
