"""JSON bodies: the name of their class on a line, then the body."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from rocketwire.wire.bodies import decode_body, encode_body
from rocketwire.wire.errors import BodyInvalid
from rocketwire.wire.frame import decode_frame
from tests.fuzz.part import Part, always, chosen
from tests.wire import golden
from tests.wire.bodies.test_codec import CLASSES

NAMES = [cls.__name__ for cls in CLASSES]


def check(data: bytes) -> None:
    """A body or an error of one line; a body that is written is read as it was."""
    name, _, text = data.partition(b"\n")
    cls = chosen(CLASSES, name, NAMES)
    try:
        body = decode_body(cls, text)
    except BodyInvalid as error:
        assert str(error)
        return
    for strict in (False, True):
        written = encode_body(body, strict=strict)
        assert decode_body(cls, written) == body, written


def seeds() -> Iterator[bytes]:
    """Each class's defaults, and as it writes bodies of the captures, if they fit: twice at most, the longest."""
    bodies = {
        frame.body
        for capture in golden.captures()
        for frame in (decode_frame(each.data) for each in golden.frames(capture))
        if frame.body[:1] == b"{" and len(frame.body) < PART.longest
    }
    for cls in CLASSES:
        head, default = cls.__name__.encode() + b"\n", cls()
        fitting = {encode_body(body) for body in map(partial(_as, cls), bodies) if body not in (None, default)}
        for text in (encode_body(default), *sorted(fitting, key=lambda each: (len(each), each))[-2:]):
            yield head + text


def _as(cls: type, body: bytes) -> object:
    try:
        return decode_body(cls, body)
    except BodyInvalid:
        return None


PART = Part(
    opened=always(check),
    seeds=seeds,
    words=[
        *(f"{name}\n" for name in NAMES),
        *("{", "}", "[", "]", '":', ',"', "null", "true", "false", "'", "\\u0000", "\\ud83d", "\\x41", "\\", "1e5"),
        *("2147483648", "9223372036854775808", "-0", "0.5", "NaN", "Infinity", "1L", "/*", "*/", "//", "new Date("),
        *('{"brokerName":"b","queueId":1,"topic":"t"}:', '"table":{', '"$ref":"$"', '"@type":"'),
    ],
)
