"""Properties with zero bytes, as recovery sees them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocketwire.store.records.lost_pages import PAGE, guard_against_lost_pages, has_lost_page
from rocketwire.wire.properties import decode_properties
from tests.store.support import bodies, draft, kill, open_store, small

runs = st.tuples(st.sampled_from([b"a\x01", b"\x02", b"x", b"\0"]), st.sampled_from([1, 2, PAGE - 1, PAGE, PAGE + 1]))
texts = st.lists(runs, max_size=5).map(lambda parts: b"".join([part * count for part, count in parts]))


@given(texts, st.integers(0, PAGE - 1))
@example(b"a\x01\0", PAGE - 3)
@example(b"\0a\x01b", PAGE - 1)
@example(bytes(2 * PAGE - 1), 0)
def test_fenced_text_is_valid_anywhere_and_decodes_to_the_same(text: bytes, at: int) -> None:
    found = guard_against_lost_pages(text)
    if found is None:
        assert bytes(PAGE) in text
        return
    assert not has_lost_page(found, at)
    assert not found.endswith(b"\0")
    assert decode_properties(found.decode()) == decode_properties(text.decode())
    assert found == text or 0 in text


@pytest.mark.parametrize("text", [b"\0", b"a\x01\0", b"\0\x02a\x01b", b"a\x01" + bytes(4000) + b"x"])
@pytest.mark.parametrize("shift", [*range(0, PAGE, 509), *range(PAGE - 110, PAGE - 80, 3)])
def test_what_comes_behind_is_kept_over_a_kill(tmp_path: Path, text: bytes, shift: int) -> None:
    settings = small(tmp_path, commit_log_file_size=1 << 16)
    store = open_store(settings)
    properties = guard_against_lost_pages(text)
    assert properties is not None
    sent = [draft(1, properties=properties, body=bytes(shift)), draft(2, body=b"behind")]
    assert len(store.append(sent[:1])) == 1
    kill(store)
    store = open_store(settings)
    assert len(store.append(sent[1:])) == 1
    kill(store)
    store = open_store(settings)
    assert bodies(store) == [bytes(shift), b"behind"]
