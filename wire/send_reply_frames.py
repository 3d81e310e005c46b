"""The fast path of answers to sends, without building the general header; property tests prove it equal to that."""

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
    """Writes the frames that answer JSON sends of one broker, and provides the parts that the kernel writes them from.

    Attributes:
        ext: The extension fields that every answer has: the official client needs them even with errors.
        parts: The header of an answer in JSON, cut where code, queue id, message ids, queue offset and opaque stand.
        binary_parts: The ROCKETMQ form behind the code: up to the opaque; from there to the length of the fields; up
            to the length of the message ids; up to that of the queue id; up to that of the queue offset; the rest.
    """

    __slots__ = ("_recallable", "_template", "_transactional", "_version", "binary_parts", "ext", "parts")

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
        kinds = (b"%d", b"%d", b"%s", b"%d", b"%d", b"")
        common = common.replace(b"%", b"%%")
        self._template = b"".join(
            part.replace(b"%", b"%%") + kind for part, kind in zip(self.parts, kinds, strict=True)
        )
        before, behind = self._template.rsplit(b',"msgId":"', 1)
        self._recallable = b'%b,"recallHandle":"%%s","msgId":"%b' % (before, behind)
        self._transactional = b'%b,"transactionId":%%s,"msgId":"%b' % (before, behind)

    def encode(
        self,
        code: int,
        opaque: int,
        message_id: bytes,
        queue_id: int,
        queue_offset: int,
        *,
        recall_handle: bytes | None = None,
        transaction_id: str | None = None,
    ) -> bytes:
        """The frame for a stored message, or several.

        Args:
            code: The response code.
            opaque: The request's.
            message_id: The offset message id, or several joined by commas.
            queue_id: The queue.
            queue_offset: Of the first message.
            recall_handle: Of a timer message.
            transaction_id: Of a half message; it has no recall handle.
        """
        if transaction_id is not None:
            text = msgspec.json.encode(transaction_id)
            return _framed(self._transactional % (code, queue_id, text, message_id, queue_offset, opaque))
        if recall_handle is not None:
            return _framed(self._recallable % (code, queue_id, recall_handle, message_id, queue_offset, opaque))
        return _framed(self._template % (code, queue_id, message_id, queue_offset, opaque))

    def refusal_parts(self, code: int, remark: str) -> tuple[tuple[bytes, bytes], tuple[bytes, bytes]]:
        """The header for a message that was not stored, around its opaque, in JSON and in the ROCKETMQ form."""
        header = Header(
            code=code, opaque=0, flag=FLAG_RESPONSE, version=self._version, remark=remark, ext=dict(self.ext)
        )
        json, binary = (encode_header_around_opaque(header, each) for each in _TYPES)
        return json, binary

    def with_code(self, code: int, frames: bytes) -> bytes:
        """Answers for code 0, as `encode` or the kernel wrote them in either form, with another code."""
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
                out.append(_framed(becomes + frames[header + len(was) : end]))
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


def _framed(header: bytes) -> bytes:
    length = len(header)
    return FRAME_PREFIX.pack(length + _TYPE_WORD, length) + header
