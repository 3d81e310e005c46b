"""Property texts: what each of their readers makes of them, and what remains after changes."""

from __future__ import annotations

from collections.abc import Iterator

from rocketwire.server.filters.sql.properties import property_reader
from rocketwire.wire import fast
from rocketwire.wire.properties import decode_properties, encode_properties
from rocketwire.wire.property_edits import items_of, value_of, with_items, without
from rocketwire.wire.property_kinds import parted
from tests.fuzz.part import Part, always
from tests.kernel.fuzz.seeds import WORDS, of

_CLUSTER = "CLUSTER\x01DefaultCluster"
_SEPARATORS = (b"\x01", b"\x02")


def check(data: bytes) -> None:
    """All readers see the same properties, and a change of one leaves the others as they are."""
    _as_text(data.decode(errors="replace"))
    found = items_of(data)
    for name, value in list(found.items())[:8]:
        assert value_of(data, name) == value
        assert items_of(with_items(data, [(name, b"new")])) == {**found, name: b"new"}
        assert items_of(without(data, [name])) == {key: each for key, each in found.items() if key != name}
    for name in (b"KEYS", b"absent"):
        assert value_of(data, name) == found.get(name)
        property_reader(name.decode())(data)
    parts = parted(data)
    for text, name in ((parts.unique_key, b"UNIQ_KEY"), (parts.keys, b"KEYS")):
        assert text == (None if name not in found else found[name].decode(errors="replace"))


def _as_text(text: str) -> None:
    found = decode_properties(text)
    assert decode_properties(encode_properties(found)) == found
    stored = fast.stored_properties(text, _CLUSTER)
    kept = decode_properties(stored.data.decode())
    assert kept.items() >= {key: value for key, value in found.items() if key not in {"WAIT", "CLUSTER"}}.items()


def seeds() -> Iterator[bytes]:
    """Those of the captures."""
    yield from of("properties")


PART = Part(
    opened=always(check),
    seeds=seeds,
    words=[*WORDS["properties"], *_SEPARATORS],
)
