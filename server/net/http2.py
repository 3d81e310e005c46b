"""Which implementation serves an HTTP/2 connection: the kernel's, over libnghttp2, or its twin."""

from __future__ import annotations

from typing import NotRequired, TypedDict, Unpack

from rocketwire import native
from rocketwire.wire.http2.events import Http2


class Http2Limits(TypedDict):
    """The arguments of `Http2`, which describes them."""

    streaming: frozenset[str]
    max_message: int
    max_header_list: int
    max_streams: int
    window: int
    stream_window: NotRequired[int]
    longest: NotRequired[dict[str, int]]


def libnghttp2_version() -> str | None:
    """The version of the libnghttp2 that the kernel uses; None: the twin serves HTTP/2."""
    return None if native.kernel is None else native.kernel.nghttp2_version()


def make_http2(**limits: Unpack[Http2Limits]) -> Http2:
    """The server's side of a connection that is just accepted.

    Raises:
        ValueError: a window has a size that HTTP/2 does not allow.
    """
    if native.kernel is not None and libnghttp2_version() is not None:
        native_connection: Http2 = native.kernel.Http2(**limits)
        return native_connection
    from rocketwire.wire.http2.connection import PythonHttp2  # noqa: PLC0415 - h2 is for those who lack the other

    return PythonHttp2(**limits)
