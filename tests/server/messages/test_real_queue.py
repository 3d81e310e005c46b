"""The real topic and queue of a message, among its properties."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.server.messages.real_queue import real_queue, with_real_queue
from rocketwire.wire.errors import PropertiesInvalid
from rocketwire.wire.properties import decode_properties

items = st.sampled_from(["a\x01b", "REAL_TOPIC\x01Other", "REAL_QID\x017", "REAL_QID\x01", "xREAL_TOPIC\x01y", ""])


@given(st.lists(items, max_size=5).map("\x02".join), st.sampled_from(["T", "%RETRY%g"]), st.integers(0, 9))
def test_it_is_set_as_in_decoded_properties(text: str, topic: str, queue_id: int) -> None:
    changed = decode_properties(with_real_queue(text.encode(), topic, queue_id).decode())
    expected = {**decode_properties(text), "REAL_TOPIC": topic, "REAL_QID": str(queue_id)}
    assert changed == expected
    assert list(changed) == list(expected)


@pytest.mark.parametrize("text", [b"", b"a\x01b\x02"])
def test_there_is_no_superfluous_separator(text: bytes) -> None:
    assert with_real_queue(text, "T", 3) == text + b"REAL_TOPIC\x01T\x02REAL_QID\x013"


def test_an_ambiguous_name_is_refused() -> None:
    with pytest.raises(PropertiesInvalid):
        with_real_queue(b"a\x01b", "T\x02DELAY\x011", 0)


ends = st.sampled_from(["", "\x02" + "x\x01" + "y" * 600, "\x02REAL_QID\x01", "\x02REAL_TOPIC\x01"])


@given(st.lists(items, max_size=5).map("\x02".join), ends)
def test_it_is_read_as_from_decoded_properties(text: str, end: str) -> None:
    properties = decode_properties(text + end)
    topic, queue_id = properties.get("REAL_TOPIC"), properties.get("REAL_QID")
    expected = None if topic is None or queue_id is None else (topic, int(queue_id))
    assert real_queue((text + end).encode()) == expected


@pytest.mark.parametrize("queue_id", ["", "-1", "x", "²", "1_0", "9" * 20, "9" * 5000])
def test_a_queue_that_is_no_number_is_ignored(queue_id: str) -> None:
    assert real_queue(f"REAL_TOPIC\x01T\x02REAL_QID\x01{queue_id}".encode()) is None
