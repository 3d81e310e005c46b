"""Reads the headers of a request. `kernel/http2/request_head.c` is the same in C.

h2 checks `content-length`, and ends the connection of a client whose request has another one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple, TypeAlias

from rocketwire.wire.errors import WireError

Headers: TypeAlias = Iterable[tuple[bytes, bytes]]

_PSEUDO: Final = frozenset({b":method", b":path", b":scheme", b":authority"})
_OF_CONNECTIONS: Final = frozenset(
    {b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"}
)
_NAME_BYTES: Final = bytes(byte for byte in range(0x21, 0x7F) if not 0x41 <= byte <= 0x5A and byte != 0x3A)
_FORBIDDEN_IN_VALUES: Final = b"\0\r\n"


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


def read_head(headers: Headers) -> RequestHead:
    """Check and decode the headers of a request. Bytes that are not UTF-8 become U+FFFD.

    Raises:
        Malformed: they are no request's.
    """
    pseudo: dict[str, str] = {}
    fields: dict[str, str] = {}
    for name, value in headers:
        if value.translate(None, _FORBIDDEN_IN_VALUES) != value:
            raise HeadersMalformed("a value has a character that is not allowed")
        if name not in _PSEUDO:
            check_header(name, value)
        key, text = name.decode("ascii"), value.decode("utf-8", "replace")
        if name not in _PSEUDO:
            fields[key] = f"{fields[key]},{text}" if key in fields else text
        elif fields or key in pseudo:
            raise HeadersMalformed("a pseudo-header is out of place")
        else:
            pseudo[key] = text
    method, path = pseudo.get(":method"), pseudo.get(":path")
    if not (method and path and ":scheme" in pseudo):
        raise HeadersMalformed("a pseudo-header is missing")
    if ":authority" in pseudo:
        fields[":authority"] = pseudo[":authority"]
    return RequestHead(method, path, fields)


def check_header(name: bytes, value: bytes) -> None:
    """Check a header that is no pseudo-header.

    Raises:
        Malformed: HTTP/2 does not allow it.
    """
    if not name or name.translate(None, _NAME_BYTES):
        raise HeadersMalformed("a name has a character that is not allowed")
    if name in _OF_CONNECTIONS or (name == b"te" and value != b"trailers"):
        raise HeadersMalformed("a header is not allowed in HTTP/2")
