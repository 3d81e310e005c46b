"""Property texts: what each of their readers makes of them, and what remains after changes."""

from __future__ import annotations

from collections.abc import Iterator

from rocketwire.wire import stored_properties
from rocketwire.wire.properties import decode_properties, decode_property_bytes, encode_properties, property_value
from rocketwire.wire.property_edits import remove_properties, set_properties
from tests.fuzz.part import Part, always
from tests.kernel.fuzz.seeds import BAD_UTF_8, PROPERTY_WORDS, of
from tests.property_readers import CLUSTER
from tests.property_readers import check as check_readers

_SEPARATORS = (b"\x01", b"\x02")


def check(data: bytes) -> None:
    """All readers see the same properties, and a change of one leaves the others as they are."""
    check_readers(data)
    _as_text(data.decode(errors="replace"))
    found = decode_property_bytes(data)
    for name, value in list(found.items())[:8]:
        assert property_value(data, name) == value
        assert decode_property_bytes(set_properties(data, [(name, b"new")])) == {**found, name: b"new"}
        assert decode_property_bytes(remove_properties(data, [name])) == {
            key: each for key, each in found.items() if key != name
        }
    assert property_value(data, b"absent") == found.get(b"absent")


def _as_text(text: str) -> None:
    found = decode_properties(text)
    assert decode_properties(encode_properties(found)) == found
    stored = stored_properties.stored_properties(text, CLUSTER)
    kept = decode_properties(stored.data.decode())
    assert kept.items() >= {key: value for key, value in found.items() if key not in {"WAIT", "CLUSTER"}}.items()


def seeds() -> Iterator[bytes]:
    """Those of the captures."""
    yield from of("properties")


PART = Part(
    opened=always(check),
    seeds=seeds,
    words=[*PROPERTY_WORDS, *BAD_UTF_8, *_SEPARATORS],
)
