"""The remoting frame: two words, a header, a body.

The first word counts everything after itself; the second holds the serialise type in its top byte and the
header's length in the other three. ``FRAME`` is the authority; the functions do the same with less work.
"""

from struct import Struct
from typing import Final, NamedTuple, TypeAlias

import construct as cs

from rocketwire.wire.errors import FrameLengthInvalid, FrameTooLong, HeaderLengthInvalid
from rocketwire.wire.facts.codes import MAX_FRAME_LENGTH, SerializeType
from rocketwire.wire.header import Header, decode_header, encode_header

Buffer: TypeAlias = bytes | memoryview

HEADER_LENGTH_MASK: Final = 0xFFFFFF
TYPE_SHIFT: Final = 24

FRAME: Final = cs.Struct(
    "length" / cs.Rebuild(cs.Int32sb, lambda this: 4 + len(this.header) + len(this.body)),
    "serialize_type" / cs.Int8ub,
    "header_length" / cs.Rebuild(cs.Int24ub, lambda this: len(this.header)),
    "header" / cs.Bytes(cs.this.header_length),
    "body" / cs.Bytes(cs.this.length - cs.this.header_length - 4),
)

FRAME_PREFIX: Final = Struct(">iI")
"""The two words before the header: length, and serialise type with header length."""
_PREFIX_SIZE: Final = FRAME_PREFIX.size
_pack: Final = FRAME_PREFIX.pack
LENGTH_SIZE: Final = 4
"""Bytes of the length that a frame's own length does not count."""


class Frame(NamedTuple):
    """One whole frame."""

    header: Header
    body: Buffer
    serialize_type: int


def encode_frame(header: Header, body: Buffer = b"", serialize_type: int = SerializeType.JSON) -> bytes:
    """Write a frame with its length.

    Raises:
        FrameTooLong: header and body are beyond the limit of a frame.
        HeaderInvalid: the header cannot be written.
        SerializeTypeUnknown: the type is neither JSON nor ROCKETMQ.
    """
    return encode_frame_head(header, len(body), serialize_type) + body


def encode_frame_head(header: Header, body_length: int, serialize_type: int = SerializeType.JSON) -> bytes:
    """Write a frame up to its body, which follows as `body_length` bytes from elsewhere.

    Raises:
        FrameTooLong: header and body are beyond the limit of a frame.
        HeaderInvalid: the header cannot be written.
        SerializeTypeUnknown: the type is neither JSON nor ROCKETMQ.
    """
    head = encode_header(header, serialize_type)
    size = len(head)
    total = _PREFIX_SIZE + size + body_length
    if total > MAX_FRAME_LENGTH:
        raise FrameTooLong(total, MAX_FRAME_LENGTH)
    return _pack(total - LENGTH_SIZE, serialize_type << TYPE_SHIFT | size) + head


def frame_size(length: int, limit: int = MAX_FRAME_LENGTH) -> int:
    """Give the bytes of a whole frame, its length included, from the value of its length word.

    Raises:
        FrameLengthInvalid: no frame can have that length (negative, or no room for the second word).
        FrameTooLong: the frame is beyond the limit.
    """
    if length < FRAME_PREFIX.size - LENGTH_SIZE:
        raise FrameLengthInvalid(length, "negative" if length < 0 else "no room for a header length")
    if length + LENGTH_SIZE > limit:
        raise FrameTooLong(length + LENGTH_SIZE, limit)
    return length + LENGTH_SIZE


def decode_frame(data: Buffer) -> Frame:
    """Read one whole frame, its length included; the body is a slice of the data given.

    Raises:
        FrameLengthInvalid: the data is not one frame, exactly.
        FrameTooLong: the frame is beyond the limit.
        HeaderLengthInvalid: the header would reach beyond the frame.
        HeaderInvalid: the header cannot be read.
        SerializeTypeUnknown: the header is of neither type.
    """
    if len(data) < FRAME_PREFIX.size:
        raise FrameLengthInvalid(len(data), "a frame has at least 8 bytes")
    length, word = FRAME_PREFIX.unpack_from(data)
    if frame_size(length) != len(data):
        raise FrameLengthInvalid(length, f"the frame has {len(data) - LENGTH_SIZE} bytes after its length")
    serialize_type, header_length = word >> TYPE_SHIFT, word & HEADER_LENGTH_MASK
    body_at = FRAME_PREFIX.size + header_length
    if body_at > len(data):
        raise HeaderLengthInvalid(header_length, len(data) - FRAME_PREFIX.size)
    return Frame(decode_header(data[FRAME_PREFIX.size : body_at], serialize_type), data[body_at:], serialize_type)
