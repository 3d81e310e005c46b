"""Tags near the end of their texts: found there only where they are what all properties say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.spark.columns import twin
from rocketwire.spark.columns.twin.endings import last_values
from rocketwire.wire.message import MessageRecord, encode_record
from rocketwire.wire.properties import decode_properties

_HEAD = b"x" * 40
_NO_TAGS = b"\x02TAGS\x01no\x02"
_ENDS = st.sampled_from(
    [
        b"TAGS\x01A",
        b"TAGS\x01A\x02",
        b"TAGS\x01AB\x02WAIT\x01true",
        b"TAGS\x01\x01",
        b"TAGS\x01A\x02TAGS",
        b"UNTAGS\x01a",
    ]
    + [b"TAGS\x01" + b"t" * length for length in (0, 24, 25, 26, 27)]
    + [b"TAGS\x01A\x02" + b"n\x01" + b"v" * length for length in (20, 21, 22, 23, 60)]
    + [
        "TAGS\x01ü".encode(),
        b"TAGS\x01\xff",
        b"TAGS\x01a\x02TAGS\x01b",
        b"",
        b"WAIT\x01true",
        b"\x02\x02TAGS\x01a\x02\x02",
    ]
)
_TEXTS = st.builds(bytes.__add__, st.sampled_from([b"", b"UNIQ_KEY\x01C0A8\x02", b"TAGS\x01first\x02", b"\x02"]), _ENDS)


def found_in(texts: list[bytes]) -> list[bytes] | None:
    """What stands near the ends of texts, with a head before each."""
    ends = np.cumsum([len(_HEAD) + len(text) for text in texts])
    begins = ends - [len(text) for text in texts]
    data = b"".join(_HEAD + text for text in texts)
    found = last_values(data, begins, ends, "TAGS")
    return (
        None if found is None else [data[start:end] for start, end in zip(*map(np.ndarray.tolist, found), strict=True)]
    )


@given(st.lists(_TEXTS, min_size=1, max_size=5))
def test_what_is_found_is_what_the_properties_say(texts: list[bytes]) -> None:
    found = found_in(texts)
    if found is not None:
        assert found == [decode_properties(text.decode("latin-1"))["TAGS"].encode("latin-1") for text in texts]


@given(st.lists(_TEXTS, min_size=1, max_size=5), st.sampled_from([b"", _NO_TAGS]))
def test_the_column_of_tags_is_the_same_alone_and_with_others(texts: list[bytes], body: bytes) -> None:
    records = [encode_record(MessageRecord(topic="T", queue_id=0, body=body, properties=text)) for text in texts]
    positions = np.cumsum([0, *map(len, records[:-1])])
    [alone] = twin.columns(b"".join(records), positions, ["tags"])
    [tags, _] = twin.columns(b"".join(records), positions, ["tags", "keys"])
    assert alone.equals(tags)
    assert alone.to_pylist() == [decode_properties(text.decode("utf-8", "replace")).get("TAGS") for text in texts]
    wanted = frozenset({b"A", "ü".encode()})
    found = twin.tags_are(b"".join(records), positions, wanted)
    assert found.tolist() == [tag in {"A", "ü"} for tag in alone.to_pylist()]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([b"a\x01b\x02TAGS\x01A"], [b"A"]),
        ([b"a\x01b\x02TAGS\x01A", b"\x02TAGS\x01BC\x02WAIT\x01true"], [b"A", b"BC"]),
        ([b"a\x01b\x02TAGS\x01A", b"n\x01v\x02TAGS\x01B"], [b"A", b"B"]),
        ([b"a\x01b\x02TAGS\x01AB", b"n\x01long\x02TAGS\x01C"], [b"AB", b"C"]),
        ([b"a\x01b\x02TAGS\x01A", b"n\x01v\x02TUGS\x01B"], None),
        ([b"a\x01b\x02TAGS\x01" + b"t" * 26], [b"t" * 26]),
        ([b"a\x01b\x02TAGS\x01" + b"t" * 27], None),
        ([b"a\x01b\x02TAGS\x01A", b"WAIT\x01true"], None),
        ([b"a\x01b\x02TAGS\x01A\x02TAGS\x01B", b"WAIT\x01true"], None),
        ([b"a\x01b\x02TAGS\x01"], None),
        ([b"TAGS\x01A"], None),  # nothing separates it from what is no text
        ([], None),
    ],
)
def test_it_is_found_where_each_text_has_it_once_near_its_end(texts: list[bytes], expected: list[bytes] | None) -> None:
    assert found_in(texts) == expected


@pytest.mark.parametrize(("before", "text"), [(_NO_TAGS, b"WAIT\x01true"), (_NO_TAGS[:-1], b"")])
def test_what_stands_before_a_text_is_none_of_it(before: bytes, text: bytes) -> None:
    data = _HEAD + before
    assert last_values(data + text, np.array([len(data)]), np.array([len(data) + len(text)]), "TAGS") is None


def test_a_text_that_begins_the_buffer_is_left_to_others() -> None:
    text = b"a\x01b\x02TAGS\x01A"
    assert last_values(text, np.array([0]), np.array([len(text)]), "TAGS") is None
