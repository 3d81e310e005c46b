"""What a stream remembers of a store: with it every look finds what a first look finds, and reads less."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import zlib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocketwire.spark.request.options import ReadOptions
from rocketwire.spark.stores import log_end as log_ends
from rocketwire.spark.stores import remembered as remembering
from rocketwire.spark.stores.opening import Memory, open_stores
from rocketwire.spark.stores.remembered import Remembered
from tests.store.support import draft, open_store, remove_log_file, small

OPERATIONS = st.one_of(
    st.tuples(st.just("append"), st.sampled_from("AB"), st.integers(0, 2), st.integers(1, 40)),
    st.tuples(st.sampled_from(["retention", "reopen", "look", "delete", "damage", "other"])),
)


def listed(path: str) -> int | None:
    """In place of a folder's time of writing, which is too coarse for tests: a number for what is in it."""
    try:
        return zlib.crc32("/".join(sorted(each.name for each in Path(path).iterdir())).encode())
    except OSError:
        return None


@pytest.fixture(autouse=True)
def settled() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(remembering, "_SETTLED", 0.0)
        patch.setattr(remembering, "written_at", listed)
        yield


def bounds(root: Path, memory: Memory | None, *topics: str) -> dict[tuple[str, int], tuple[int, int]]:
    options = ReadOptions(paths=(str(root),), topics=topics)
    [store] = open_stores(options, memory)
    return store.selected_bounds(options) | {("", 0): (store.start, store.end)}


@settings(max_examples=15, deadline=None)
@given(operations=st.lists(OPERATIONS, max_size=12))
def test_each_look_finds_what_a_first_one_finds(operations: list[tuple[Any, ...]]) -> None:
    root = Path(tempfile.mkdtemp())
    memory: Memory = defaultdict(Remembered)
    of_one: Memory = defaultdict(Remembered)
    store = open_store(small(root))
    store.append([draft(topic="A")])
    number = 0
    try:
        for name, *arguments in operations:
            if name == "append":
                topic, queue_id, count = arguments
                store.append([draft(number + at, topic=topic, queue_id=queue_id) for at in range(count)])
                number += count
            elif name == "retention" and len(list((root / "commitlog").iterdir())) > 2:
                remove_log_file(store)
            elif name == "reopen":
                store.close()
                store = open_store(small(root))
            elif name in ("delete", "other"):  # another store in its place
                store.close()
                shutil.rmtree(root / "consumequeue" if name == "delete" else root)
                store = open_store(small(root))
                store.append([draft(5, topic="A", body=b"another one")])
            elif name == "damage":
                for queue in (root / "consumequeue").glob("*/*"):
                    last = max(queue.iterdir())
                    # Behind a full file comes another one, which is looked for when a file is full, and not in a hole.
                    if last.read_bytes()[-20:] == bytes(20):
                        os.truncate(last, 20 * 3)
                        os.truncate(last, 20 * 16)
            assert bounds(root, memory) == bounds(root, None)
            assert bounds(root, of_one, "A") == bounds(root, None, "A")
    finally:
        store.close()
        shutil.rmtree(root)


def test_the_end_of_the_log_is_found_by_other_queues_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(small(tmp_path, commit_log_file_size=1 << 20))
    store.append([draft(0, topic="A"), draft(0, topic="B")])
    memory: Memory = defaultdict(Remembered)
    for _ in range(3):
        bounds(tmp_path, memory, "A")
    store.append([draft(number, topic="B") for number in range(16)])
    started: list[int] = []
    real = log_ends._end_in

    def noted(*some: Any) -> int:
        started.append(some[2].end)
        return real(*some)

    monkeypatch.setattr(log_ends, "_end_in", noted)
    [opened] = open_stores(ReadOptions(paths=(str(tmp_path),), topics=("A",)), memory)
    assert 0 < started[0] < opened.end < started[0] + 300, "the walk begins behind the last record"
    store.close()


def test_of_known_queues_only_the_ends_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(small(tmp_path, consume_queue_file_size=20 * 6000))
    store.append([draft(number, queue_id=number % 5) for number in range(50)])
    memory: Memory = defaultdict(Remembered)
    for _ in range(3):
        bounds(tmp_path, memory)
    store.append([draft(number, queue_id=number % 2) for number in range(5000)])
    looked: list[str] = []
    monkeypatch.setattr("rocketwire.spark.stores.snapshot.Queue", lambda *files, **_: looked.append(str(files)))
    assert bounds(tmp_path, memory)["T", 1] == (0, 2510)
    assert looked == []
    store.close()


def test_a_queue_file_that_was_made_anew_is_seen(tmp_path: Path) -> None:
    with contextlib.closing(open_store(small(tmp_path))) as store:
        store.append([draft(number, topic="A") for number in range(6)])
    [queue] = (tmp_path / "consumequeue" / "A" / "0").iterdir()
    whole = queue.read_bytes()
    queue.write_bytes(whole[:100] + bytes(len(whole) - 100))
    memory: Memory = defaultdict(Remembered)
    for _ in range(3):
        assert bounds(tmp_path, memory)["A", 0] == (0, 5)
    queue.unlink()  # the folder of the topic does not change
    queue.write_bytes(whole)
    assert bounds(tmp_path, memory)["A", 0] == bounds(tmp_path, None)["A", 0] == (0, 6)
