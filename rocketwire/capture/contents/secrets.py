"""Keeping secrets out of recordings.

By name: fields of headers and members of JSON bodies called access key, secret key, signature, password and the like,
and lines of settings (NAME=VALUE) with such names. An access key that a connection used is also masked in remarks.
What applications send in messages is not looked into.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

import msgspec

from rocketwire.capture.contents.bodies import has_messages
from rocketwire.capture.file.events import CutParts
from rocketwire.wire.bodies import fastjson
from rocketwire.wire.errors import WireError
from rocketwire.wire.frame import encode_frame
from rocketwire.wire.header import Header
from rocketwire.wire.json_bounds import MAX_JSON_ENTRIES
from rocketwire.wire.signature import ACCOUNT_FIELDS

MASK: Final = "***"
_WORDS: Final = "access_?key|secret|signature|security_?token|password|passwd|credential"
_SECRET: Final = re.compile(f"({_WORDS})|^(username|subject)$", re.IGNORECASE)
_MENTIONED: Final = re.compile(f"{_WORDS}|username|subject".encode(), re.IGNORECASE)
_SETTING: Final = re.compile(
    rb"^([^=\r\n]*(?:" + _WORDS.encode() + rb")[^=\r\n]*=)[^\r\n]+", re.IGNORECASE | re.MULTILINE
)
_LENIENT: Final = 2 << 20
_MOST_KEYS: Final = 64
"""Access keys that are remembered of a connection, to be masked in remarks."""
_SHORTEST_KEY: Final = 4


class MaskedFrame(NamedTuple):
    """A frame without secrets, and what was masked in it."""

    data: bytes
    left: CutParts


class Secrets:
    """Masks the secrets in the frames of one connection."""

    def __init__(self) -> None:
        self._keys: list[str] = []

    def masked(self, data: bytes, header: Header, body: bytes, serialize_type: int, code: int) -> MaskedFrame:
        """A frame without secrets.

        Args:
            data: The frame.
            header: Its header.
            body: Its body.
            serialize_type: The form of its header.
            code: The code of the request, also of an answer.

        Raises:
            WireError: a frame with masks cannot be written.
        """
        left = CutParts(0)
        ext = header.ext
        if ext is not None:
            for name in [each for each in ext if _SECRET.search(each)]:
                left |= CutParts.ACCOUNT if name in ACCOUNT_FIELDS else CutParts.SECRETS
                if name.lower() == "accesskey":
                    self._remember(ext[name])
                ext = {**ext, name: MASK}
        remark = header.remark
        for key in self._keys:
            remark = remark and remark.replace(key, MASK)
        shown = body
        if body and not has_messages(code, response=header.is_response):
            shown = _without_secrets(body)
        if shown != body or remark != header.remark:
            left |= CutParts.SECRETS
        if not left:
            return MaskedFrame(data, left)
        return MaskedFrame(
            encode_frame(msgspec.structs.replace(header, ext=ext, remark=remark), shown, serialize_type), left
        )

    def _remember(self, key: str) -> None:
        if len(key) >= _SHORTEST_KEY and key not in self._keys and len(self._keys) < _MOST_KEYS:
            self._keys.append(key)


def _without_secrets(body: bytes) -> bytes:
    """A body with masks for secrets; empty if it mentions some and cannot be read."""
    if not _MENTIONED.search(body):
        return body
    if body[:1] not in (b"{", b"["):
        return _SETTING.sub(rb"\1" + MASK.encode(), body)
    try:
        found = fastjson.loads(body, lenient_limit=_LENIENT, most_entries=MAX_JSON_ENTRIES)
        cleared = _cleared(found)
        return body if cleared == found else fastjson.dumps(cleared)
    except WireError:
        return b""


def _cleared(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, dict):
        return {
            name: MASK if isinstance(name, str) and item is not None and _SECRET.search(name) else _cleared(item)
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [_cleared(item) for item in value]
    if isinstance(value, str) and _MENTIONED.search(value.encode("utf-8", "replace")):
        return _without_secrets(value.encode("utf-8", "replace")).decode("utf-8", "replace")
    return value
