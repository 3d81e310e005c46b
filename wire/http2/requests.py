"""What the headers of a request say. `kernel/http2/request_head.c` is the same in C."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from rocketwire.wire.errors import WireError
from rocketwire.wire.http2.events import PROTOCOL_ERROR
from rocketwire.wire.http2.guard import Http2Violation
from rocketwire.wire.http2.header_blocks import Headers, Run

_PSEUDO: Final = frozenset({b":method", b":path", b":scheme", b":authority"})
_OF_CONNECTIONS: Final = frozenset(
    {b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"}
)
_TE, _TRAILERS = b"te", b"trailers"
_NOT_ALLOWED: Final = "a header is not allowed in HTTP/2"
_SHORT: Final = 256  # bytes of a header, or of its name, that is kept decoded
_MOST_DIGITS: Final = 18
_NAME_BYTES: Final = bytes(byte for byte in range(0x21, 0x7F) if not 0x41 <= byte <= 0x5A and byte != 0x3A)


class HeadersMalformed(WireError):
    """Headers that no HTTP/2 request has."""


class RequestHead(NamedTuple):
    """The headers of a request.

    Attributes:
        method: `POST` for gRPC.
        path: `/package.Service/Method`.
        fields: The others, with `:authority`.
    """

    method: str
    path: str
    fields: dict[str, str]


def read_head(run: Run | None, headers: Headers) -> RequestHead:
    """Check and decode the headers of a request; `run` has those before `headers`.

    Bytes that are not UTF-8 become U+FFFD.

    Raises:
        Malformed: they are no request's.
        Violation: content-length is no number.
    """
    try:
        return _head(run, headers)
    except HeadersMalformed:  # of a call; a wrong length ends the connection, wherever it stands
        lengths = [value for name, value in (*(run.headers if run else ()), *headers) if name == b"content-length"]
        if lengths:
            content_length(b",".join(lengths).decode("latin-1"))
        raise


def _head(run: Run | None, headers: Headers) -> RequestHead:
    if run is None:
        pseudo, fields = _sorted(headers, {}, {})
    else:
        if run.read is None:
            run.read = _sorted(run.headers, {}, {})
        begun, known = run.read
        pseudo, fields = _sorted(headers, begun.copy(), known.copy())
    method, path = pseudo.get(":method"), pseudo.get(":path")
    if not (method and path and ":scheme" in pseudo):
        raise HeadersMalformed("a pseudo-header is missing")
    if ":authority" in pseudo:
        fields[":authority"] = pseudo[":authority"]
    return RequestHead(method, path, fields)


def _sorted(headers: Headers, pseudo: dict[str, str], fields: dict[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The pseudo-headers and the others, with those that came before."""
    for name, value in headers:
        key, text = _known(name, value) if len(name) + len(value) <= _SHORT else _read(name, value)
        if key[0] == ":":
            if fields or key in pseudo:
                raise HeadersMalformed("a pseudo-header is out of place")
            pseudo[key] = text
        else:
            fields[key] = f"{fields[key]},{text}" if key in fields else text
    return pseudo, fields


def _read(name: bytes, value: bytes) -> tuple[str, str]:
    if b"\0" in value or b"\n" in value or b"\r" in value:
        raise HeadersMalformed("a value has a character that is not allowed")
    if name == _TE and value != _TRAILERS:
        raise HeadersMalformed(_NOT_ALLOWED)
    return (_known_key(name) if len(name) <= _SHORT else _key(name)), value.decode("utf-8", "replace")


def _key(name: bytes) -> str:
    if name not in _PSEUDO:
        _check_name(name)
    return name.decode("ascii")


# Clients repeat most of their headers in each request, and those that they do not have the same names.
_known = lru_cache(maxsize=1024)(_read)
_known_key = lru_cache(maxsize=256)(_key)


def content_length(text: str) -> int:
    """How many bytes of data a request says that it has; once, or the same several times, joined by commas.

    Raises:
        Violation: it says no such number.
    """
    found = text.split(",")
    if not all(each.isascii() and each.isdigit() and len(each) <= _MOST_DIGITS for each in found):
        raise Http2Violation(PROTOCOL_ERROR, "content-length is no number")
    said, *others = {int(each) for each in found}
    if others:
        raise Http2Violation(PROTOCOL_ERROR, "content-length is no number")
    return said


def check_header(name: bytes, value: bytes) -> None:
    """Check a header that is no pseudo-header.

    Raises:
        Malformed: HTTP/2 does not allow it.
    """
    _check_name(name)
    if name == _TE and value != _TRAILERS:
        raise HeadersMalformed(_NOT_ALLOWED)


def _check_name(name: bytes) -> None:
    if not name or name.translate(None, _NAME_BYTES):
        raise HeadersMalformed("a name has a character that is not allowed")
    if name in _OF_CONNECTIONS:
        raise HeadersMalformed(_NOT_ALLOWED)
