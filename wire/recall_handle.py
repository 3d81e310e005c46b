"""The recall handle, which a producer gets for a timer message and cancels it with (370).

``v1 TOPIC BROKER TIME UNIQUE-KEY``, encoded as URL-safe base64 like 5.x's. The time is milliseconds since 1970, in the
same slot of the timer wheel as the message.
"""

from __future__ import annotations

import re
from binascii import a2b_base64, b2a_base64
from typing import Final, NamedTuple

from rocketwire.wire.errors import RecallHandleInvalid

_VERSION: Final = "v1"
_SEPARATOR: Final = " "
_PARTS: Final = 5
_GROUP: Final = 4  # base64 characters for three bytes
_TO_URL: Final = bytes.maketrans(b"+/", b"-_")
_FROM_URL: Final = bytes.maketrans(b"-_", b"+/")
_BASE64: Final = re.compile(r"([A-Za-z0-9_-]+)(={0,2})")
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)
_NO_TIME: Final = -1


class RecallHandle(NamedTuple):
    """A message to be cancelled; `time` is in ms since 1970, -1 where the handle has no number."""

    topic: str
    broker: str
    time: int
    unique_key: str


def encode_recall_handle(topic: str, broker: str, time: int, unique_key: str) -> bytes:
    """Write a handle; the names must have no blank in them, nor the key."""
    return b2a_base64(f"v1 {topic} {broker} {time} {unique_key}".encode(), newline=False).translate(_TO_URL)


def decode_recall_handle(text: str) -> RecallHandle:
    """Read a handle; the padding may be missing, and more parts may follow.

    Raises:
        RecallHandleInvalid: the text is not a recall handle.
    """
    match = _BASE64.fullmatch(text)
    if match is None:
        raise RecallHandleInvalid
    digits, padding = match.groups()
    missing = -len(digits) % _GROUP
    if missing == _GROUP - 1 or len(padding) not in (0, missing):
        raise RecallHandleInvalid
    data = a2b_base64(digits.encode().translate(_FROM_URL) + b"=" * missing)
    parts = str(data, "utf-8", "replace").split(_SEPARATOR)
    if parts[0] != _VERSION or len(parts) < _PARTS or not parts[4]:
        raise RecallHandleInvalid
    _, topic, broker, time, unique_key, *_ = parts
    return RecallHandle(topic, broker, int(time) if _NUMBER.fullmatch(time) else _NO_TIME, unique_key)
