"""Pulls with a filter by properties: Python is called once for the same values."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocketwire.server.filters import MessageFilter
from rocketwire.wire.properties import property_reader
from tests.kernel.pull.pulls_support import PullCase, Twins, numbered
from tests.store.support import draft, open_store, small


def test_a_filter_is_called_once_for_the_same_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = numbered(tmp_path)
    requested: list[bytes] = []

    def wanted(text: bytes) -> bool:
        requested.append(text)
        return b"a\x013" in text

    chosen = MessageFilter(by_properties=wanted, most_text=1 << 20, properties=("a",))
    monkeypatch.setattr("tests.kernel.pull.pulls_support.filter_of", lambda _: chosen)
    twins = Twins(store)
    pull = PullCase(expression="a = 3")
    for _ in range(3):
        answer, taken = twins.serve(pull.frame())
        assert taken
    assert len(requested) == 5
    assert answer == twins.python(pull)[1]
    twins.pulls.forget()
    twins.serve(pull.frame())
    assert len(requested) == 5 + 50 + 5


def test_filters_do_not_share_what_they_decide(tmp_path: Path) -> None:
    store = numbered(tmp_path)
    twins = Twins(store)
    for expression in ("a > 3", "a <= 3", "a > 3", "a = b", "b > 7 AND b < 9", "a IS NULL"):
        pull = PullCase(expression=expression)
        assert twins.serve(pull.frame()) == (twins.python(pull)[1], len(pull.frame()))


def test_more_values_than_are_kept(tmp_path: Path) -> None:
    store = numbered(tmp_path, 700)
    twins = Twins(store)
    for number in range(30):
        pull = PullCase(expression=f"b = {number} OR b = {number}")
        assert twins.serve(pull.frame()) == (twins.python(pull)[1], len(pull.frame()))


@pytest.mark.parametrize("size", [600, 700, 70_000])
def test_with_a_long_value_the_filter_is_called_each_time(tmp_path: Path, size: int) -> None:
    store = open_store(small(tmp_path, commit_log_file_size=1 << 20, consume_queue_file_size=20_000))
    store.append([draft(number, properties=b"a\x01" + b"x" * min(size, 32_000)) for number in range(3)])
    twins = Twins(store)
    pull = PullCase(expression="a <> 'y'")
    assert twins.serve(pull.frame()) == (twins.python(pull)[1], len(pull.frame()))


def test_what_a_filter_raises_is_for_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wanted(_: bytes) -> bool:
        raise ValueError

    chosen = MessageFilter(by_properties=wanted, most_text=1 << 20, properties=("a",))
    monkeypatch.setattr("tests.kernel.pull.pulls_support.filter_of", lambda _: chosen)
    store = numbered(tmp_path)
    assert Twins(store).serve(PullCase().frame()) == (b"", 0)


def test_records_of_another_form_are_for_python(tmp_path: Path) -> None:
    store = numbered(tmp_path, sys_flag=0x10, born_host=bytes(20))
    twins = Twins(store)
    assert twins.serve(PullCase(expression="a > 3").frame()) == (b"", 0)
    assert twins.serve(PullCase().frame())[1]


texts_of_properties = st.lists(
    st.sampled_from(["a", "b", "ab", "", "\x01", "\x02", "a\x01", "\x02a\x01", "b\x01x\x02", "5"]), max_size=12
).map("".join)


@settings(max_examples=60, deadline=None)
@given(st.lists(texts_of_properties, min_size=1, max_size=32))
def test_values_are_those_that_python_finds(texts: list[str]) -> None:
    """A filter that remembers each text's values, called with texts of which some have the same."""
    readers = [property_reader(name) for name in (b"a", b"b", b"")]

    def values(text: bytes) -> list[bytes | None]:
        return [read(text) for read in readers]

    seen: list[list[bytes | None]] = []

    def wanted(text: bytes) -> bool:
        seen.append(values(text))
        return True

    found = native_matches([text.encode() for text in texts], wanted)
    assert found == len(texts)
    expected: list[list[bytes | None]] = []
    for text in texts:
        if values(text.encode()) not in expected:
            expected.append(values(text.encode()))
    assert seen == expected


def native_matches(texts: list[bytes], wanted: Callable[[bytes], bool]) -> int:
    """How many messages with these property texts the kernel finds by a filter that goes by a, b and the empty name."""
    with tempfile.TemporaryDirectory() as directory:
        store = open_store(small(Path(directory), commit_log_file_size=1 << 20, consume_queue_file_size=20_000))
        store.append([draft(number, properties=text) for number, text in enumerate(texts)])
        twins = Twins(store)
        queue = store.queues.by_key["T", 0]
        chosen = ((b"a", b"b", b""), wanted, 1 << 20)
        twins.pulls = twins.kernel_pulls(plan=lambda *_: (queue, None, chosen, 32, 1 << 40, 32, 1 << 20, 9, 9, "me"))
        assert twins.serve(PullCase().frame())[1]
        (delivered,) = twins.pulls.take()[0]
        store.close()
        return int(delivered[1])
