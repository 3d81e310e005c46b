"""SETTINGS: what this side says of itself, and what it must know of its client."""

from __future__ import annotations

from typing import Final

from rocketwire.wire.http2 import frames as f
from rocketwire.wire.http2.events import FLOW_CONTROL_ERROR, PROTOCOL_ERROR, STREAM_WINDOW
from rocketwire.wire.http2.guard import Http2Violation

_ENABLE_PUSH: Final = 2
_MAX_CONCURRENT_STREAMS: Final = 3
_INITIAL_WINDOW_SIZE: Final = 4
_MAX_FRAME_SIZE: Final = 5
_MAX_HEADER_LIST_SIZE: Final = 6
_ENABLE_CONNECT: Final = 8
_LONGEST_FRAME: Final = 2**24 - 1


def begin(*, max_streams: int, max_header_list: int, window: int, stream_window: int) -> bytes:
    """The frames that a server's connection begins with; the arguments are those of `Http2`."""
    first = f.settings(
        {
            _ENABLE_PUSH: 0,
            _MAX_CONCURRENT_STREAMS: max_streams,
            _INITIAL_WINDOW_SIZE: stream_window,
            _MAX_HEADER_LIST_SIZE: max_header_list,
        }
    )
    more = window - STREAM_WINDOW  # the connection's window begins with that, whatever the settings say
    return first + f.window_update(0, more) if more else first


def new_window(payload: bytes) -> int | None:
    """The window of streams that a client's SETTINGS ask for, in bytes, if they do.

    The others are of no use here: frames are no longer than any client takes, and no header is kept in its table.

    Raises:
        Violation: a setting has a value that it must not have.
    """
    window = None
    for setting, value in f.read_settings(payload):
        if setting == _INITIAL_WINDOW_SIZE:
            if value > f.MOST_NUMBER:
                raise Http2Violation(FLOW_CONTROL_ERROR, f"windows of {value} bytes")
            window = value
        elif (setting in {_ENABLE_PUSH, _ENABLE_CONNECT} and value > 1) or (
            setting == _MAX_FRAME_SIZE and not f.MOST_PAYLOAD <= value <= _LONGEST_FRAME
        ):
            raise Http2Violation(PROTOCOL_ERROR, f"setting {setting} is {value}")
    return window
