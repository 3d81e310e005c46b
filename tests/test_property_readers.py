"""All readers of a message's properties find the same ones, alone or many records at a time.

`tests/kernel/test_property_readers.py` holds the same against what is in C.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from rocketwire.store.index.key_column import positive_hash
from rocketwire.store.records.property_columns import hashed_properties, index_hashes
from rocketwire.store.records.walk import walk
from rocketwire.wire.java import string_hash
from rocketwire.wire.message import MessageRecord, encode_record
from rocketwire.wire.properties import decode_properties
from rocketwire.wire.stored_properties import STEERING_NAMES
from tests.property_readers import NAMES, check

EVERY_NAME: Final = (*NAMES, "WAIT", "CLUSTER", *sorted(STEERING_NAMES))

names = st.sampled_from([*NAMES * 3, *EVERY_NAME, "TAG", "XKEYS", "é", ""])
values = st.sampled_from(["", "", "A", "B", "true", "a b", "标签😀", "TAGS\x01x", "\x01", "3"])
items = st.builds(
    lambda name, sep, value: name + sep + value, names, st.sampled_from(["\x01", "\x01", "\x01", ""]), values
)
texts = st.builds(
    lambda found, end: ("\x02".join(found) + end).encode(),
    st.lists(items, max_size=10),
    st.sampled_from(["", "", "\x02", "\x02\x02"]),
)


@given(texts)
@example(b"TAGS\x01a\x02TAGS\x01b\x02TAGS\x01")
@example(b"UNIQ_KEY\x01own\x02UNIQ_KEY\x01batch\x02CLUSTER\x01C")
@example(b"KEYS\x01\x02KEYS\x01a\x02KEYS")
def test_all_readers_in_python_see_the_same(text: bytes) -> None:
    check(text)


@given(st.lists(texts, min_size=1, max_size=6))
def test_what_is_hashed_of_many_records_is_the_same(several: list[bytes]) -> None:
    data = b""
    for text in several:
        message = MessageRecord(topic="T", queue_id=0, body=b"b", properties=text, physical_offset=len(data))
        data += encode_record(message)
    found = hashed_properties(data, walk(data, base=0, whole=False, most=len(several) + 1).records)
    decoded = [decode_properties(text.decode()) for text in several]
    assert found.tags_codes(len(several)).tolist() == [string_hash(each.get("TAGS", "")) for each in decoded]
    assert hashes_of(found.keys) == [
        (row, positive_hash(f"T#{key}"))
        for row, each in enumerate(decoded)
        for key in [each.get("UNIQ_KEY"), *each.get("KEYS", "").split(" ")]
        if key
    ]


def hashes_of(keys: Any) -> list[tuple[int, int]]:
    prefixes = np.full(len(keys.record), string_hash("T#"), np.int64).astype(np.uint32)
    hashes = index_hashes(prefixes, keys.hash, keys.length).tolist()
    return list(zip(keys.record.tolist(), hashes, strict=True))
