"""What the headers of a request say. `kernel/http2/request.c` is the same in C."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from rocketwire.wire.errors import WireError

_PSEUDO: Final = frozenset({b":method", b":path", b":scheme", b":authority"})
_OF_CONNECTIONS: Final = frozenset(
    {b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"}
)
_ENTRY_OVERHEAD: Final = 32
_NAME_BYTES: Final = bytes(byte for byte in range(0x21, 0x7F) if not 0x41 <= byte <= 0x5A and byte != 0x3A)


class Malformed(WireError):
    """Headers that no HTTP/2 request has."""


class Head(NamedTuple):
    """The headers of a request.

    Attributes:
        method: `POST` for gRPC.
        path: `/package.Service/Method`.
        fields: The others, with `:authority`.
    """

    method: str
    path: str
    fields: dict[str, str]


def read_head(headers: Iterable[tuple[bytes, bytes]]) -> Head:
    """Check and decode the headers of a request.

    Bytes that are not UTF-8 become U+FFFD.

    Raises:
        Malformed: they are no request's.
    """
    pseudo: dict[bytes, str] = {}
    fields: dict[str, str] = {}
    regular = False
    for name, value in headers:
        if b"\0" in value or b"\n" in value or b"\r" in value:
            raise Malformed("a value has a character that is not allowed")
        text = value.decode("utf-8", "replace")
        if name.startswith(b":"):
            if regular or name in pseudo or name not in _PSEUDO:
                raise Malformed("a pseudo-header is out of place")
            pseudo[name] = text
            continue
        regular = True
        check_field(name, value)
        key = name.decode("ascii")
        fields[key] = f"{fields[key]},{text}" if key in fields else text
    if not (pseudo.get(b":method") and pseudo.get(b":path") and b":scheme" in pseudo):
        raise Malformed("a pseudo-header is missing")
    if b":authority" in pseudo:
        fields[":authority"] = pseudo[b":authority"]
    return Head(pseudo[b":method"], pseudo[b":path"], fields)


def head_size(headers: Iterable[tuple[bytes, bytes]]) -> int:
    """How many bytes headers have, as SETTINGS_MAX_HEADER_LIST_SIZE counts them."""
    return sum(len(name) + len(value) + _ENTRY_OVERHEAD for name, value in headers)


def check_field(name: bytes, value: bytes) -> None:
    """Check a header that is no pseudo-header.

    Raises:
        Malformed: HTTP/2 does not allow it.
    """
    if not name or name.translate(None, _NAME_BYTES):
        raise Malformed("a name has a character that is not allowed")
    if name in _OF_CONNECTIONS or (name == b"te" and value != b"trailers"):
        raise Malformed("a header is not allowed in HTTP/2")
