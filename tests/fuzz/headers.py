"""Headers of both serialisations: which one, the name of the class of the fields on a line, then the header."""

from __future__ import annotations

from collections.abc import Iterator

from rocketwire.server.registry import BROKER_FAMILIES, NAME_SERVER_FAMILIES
from rocketwire.wire.errors import FrameError, HeaderFieldInvalid, HeaderFieldMissing, HeaderInvalid
from rocketwire.wire.facts.codes import SerializeType
from rocketwire.wire.header import decode_header, encode_header
from rocketwire.wire.headers import decode_ext, encode_ext
from tests.fuzz.part import Part, always, chosen
from tests.kernel.fuzz.seeds import BAD_UTF_8, JSON_WORDS, NUMBERS
from tests.wire import golden
from tests.wire.headers.test_codec import CLASSES

NAMES = [cls.__name__ for cls in CLASSES]


def check(data: bytes) -> None:
    """A header and fields, or an error; what is written, by either serialisation, is read as it was."""
    name, _, text = data[1:].partition(b"\n")
    cls = chosen(CLASSES, name, NAMES)
    try:
        header = decode_header(text, int(data[:1] == b"\1"))
    except FrameError as error:
        assert str(error)
        return
    for serialize_type in SerializeType:
        try:
            written = encode_header(header, serialize_type)
        except HeaderInvalid:  # a text that UTF-8 has no bytes for, or too long for a binary header
            continue
        again = decode_header(written, serialize_type)
        kept = header.ext or {}
        if serialize_type == SerializeType.ROCKETMQ:
            kept = {key: value for key, value in kept.items() if value}  # an empty one is none there
        assert (again.code, again.flag, again.opaque, again.ext or {}) == (
            header.code,
            header.flag,
            header.opaque,
            kept,
        )
    for short in (False, True):
        try:
            fields = decode_ext(cls, header.ext, short=short)
        except (HeaderFieldMissing, HeaderFieldInvalid) as error:
            assert str(error)
        else:
            assert decode_ext(cls, encode_ext(fields, short=short), short=short) == fields


def seeds() -> Iterator[bytes]:
    """Those of the captures, with the class of their request's fields."""
    routes = [route for family in (*BROKER_FAMILIES.values(), *NAME_SERVER_FAMILIES.values()) for route in family]
    of_code = {int(route.code): route.header for route in routes}
    for capture in golden.captures():
        for frame in golden.frames(capture):
            word = int.from_bytes(frame.data[4:8])
            text = frame.data[8 : 8 + (word & 0xFFFFFF)]
            cls = of_code.get(frame.row["code"])
            if len(text) < PART.longest:
                yield bytes([word >> 24]) + (NAMES[0] if cls is None else cls.__name__).encode() + b"\n" + text


PART = Part(
    opened=always(check),
    seeds=seeds,
    words=[*(f"{name}\n" for name in NAMES), *JSON_WORDS, *NUMBERS, *BAD_UTF_8],
)
