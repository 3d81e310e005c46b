import pytest

from rocketwire.wire.http2.guard import Http2Violation
from rocketwire.wire.http2.requests import HeadersMalformed, check_header, content_length, read_head

HEAD = [(b":method", b"POST"), (b":path", b"/s/m"), (b":scheme", b"http")]


def test_a_head_has_the_fields_as_text() -> None:
    head = read_head(
        None,
        [*HEAD, (b":authority", b"h:1"), (b"te", b"trailers"), (b"x", b"1"), (b"x", "é".encode()), (b"y", b"\xff")],
    )
    assert (head.method, head.path) == ("POST", "/s/m")
    assert head.fields == {":authority": "h:1", "te": "trailers", "x": "1,é", "y": "\ufffd"}
    assert read_head(None, HEAD).fields == {}


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
        read_head(None, headers)


def test_a_wrong_length_ends_the_connection_of_other_heads_too() -> None:
    for lengths, error in (([b"a"], Http2Violation), ([b"6", b"7"], Http2Violation), ([b"6", b"06"], HeadersMalformed)):
        with pytest.raises(error):
            read_head(None, [*HEAD[1:], *((b"content-length", each) for each in lengths)])


@pytest.mark.parametrize("name", [b"connection", b"upgrade", b"te", b"a:b", b"a b", b"\xff"])
def test_what_no_http2_message_has(name: bytes) -> None:
    with pytest.raises(HeadersMalformed):
        check_header(name, b"x")
    check_header(b"x-name", b"x")


@pytest.mark.parametrize(("text", "length"), [("0", 0), ("9,9", 9), ("9" * 18, 10**18 - 1)])
def test_a_content_length_is_a_number(text: str, length: int) -> None:
    assert content_length(text) == length


@pytest.mark.parametrize("text", ["", "+9", "9,10", "9, 9", "9" * 19, "-1", "²", "٣"])
def test_other_content_lengths_are_none(text: str) -> None:
    with pytest.raises(Http2Violation):
        content_length(text)
