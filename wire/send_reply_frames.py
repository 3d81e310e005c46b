"""The parts from which the kernel writes the frames that answer sends."""

from __future__ import annotations

from struct import Struct
from typing import Final

import msgspec

from rocketwire.wire.facts.codes import FLAG_RESPONSE, SerializeType
from rocketwire.wire.frame import FRAME_PREFIX, TYPE_SHIFT
from rocketwire.wire.header import Header, encode_header_around_opaque

_TYPE_WORD: Final = 4
_TYPES: Final = (SerializeType.JSON, SerializeType.ROCKETMQ)
_CODE: Final = Struct(">h")
_LENGTH: Final = Struct(">i")
_FIELDS_AT: Final = 2 * _LENGTH.size
"""In a ROCKETMQ header, behind the opaque: flag and the length of an empty remark, before the length of the fields."""
_NUMBERS: Final = ("msgId", "queueId", "queueOffset")
"""In the order of `SendMessageResponseHeader`."""


class SendReplyFrames:
    """The parts of the answers of one broker.

    Attributes:
        ext: The extension fields that every answer has: the official client needs them even with errors.
        parts: The header of an answer in JSON, cut where code, queue id, message ids, queue offset and opaque stand.
        binary_parts: The ROCKETMQ form behind the code: up to the opaque; from there to the length of the fields; up
            to the length of the message ids; up to that of the queue id; up to that of the queue offset; the rest.
    """

    __slots__ = ("_version", "binary_parts", "ext", "parts")

    def __init__(self, *, region: str, trace_on: bool, version: int) -> None:
        ext = {"TRACE_ON": "true" if trace_on else "false", "MSG_REGION": region}
        common = msgspec.json.encode(ext)[1:-1]
        end = b'"serializeTypeCurrentRPC":"JSON","version":%d}' % version
        self.parts = (
            b'{"code":',
            b',"extFields":{"queueId":"',
            b'",' + common + b',"msgId":"',
            b'","queueOffset":"',
            b'"},"flag":1,"language":"JAVA","opaque":',
            b"," + end,
        )
        self.binary_parts = _binary_parts(ext, version)
        self.ext, self._version = ext, version

    def refusal_parts(self, code: int, remark: str) -> tuple[tuple[bytes, bytes], tuple[bytes, bytes]]:
        """The header for a message that was not stored, around its opaque, in JSON and in the ROCKETMQ form."""
        header = Header(
            code=code, opaque=0, flag=FLAG_RESPONSE, version=self._version, remark=remark, ext=dict(self.ext)
        )
        json, binary = (encode_header_around_opaque(header, each) for each in _TYPES)
        return json, binary

    def with_code(self, code: int, frames: bytes) -> bytes:
        """Answers for code 0, as the kernel wrote them in either form, with another code."""
        start = self.parts[0]
        was, becomes = start + b"0,", start + b"%d," % code
        out = []
        at = 0
        while at < len(frames):
            length, word = FRAME_PREFIX.unpack_from(frames, at)
            end = at + length + _TYPE_WORD
            header = at + FRAME_PREFIX.size
            if word >> TYPE_SHIFT == SerializeType.ROCKETMQ:
                out.append(frames[at:header] + _CODE.pack(code) + frames[header + _CODE.size : end])
            else:
                changed = becomes + frames[header + len(was) : end]
                out.append(FRAME_PREFIX.pack(len(changed) + _TYPE_WORD, len(changed)) + changed)
            at = end
        return b"".join(out)


def _binary_parts(ext: dict[str, str], version: int) -> tuple[bytes, ...]:
    numbers = dict.fromkeys(_NUMBERS, "")
    header = Header(code=0, opaque=0, flag=FLAG_RESPONSE, version=version, ext={**numbers, **ext})
    before, behind = encode_header_around_opaque(header, SerializeType.ROCKETMQ)
    parts = [before[_CODE.size :], behind[:_FIELDS_AT]]
    rest = behind[_FIELDS_AT + _LENGTH.size :]
    for name in _NUMBERS:
        end = rest.index(name.encode()) + len(name)
        parts.append(rest[:end])
        rest = rest[end + _LENGTH.size :]
    return *parts, rest
