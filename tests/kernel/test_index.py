"""Index files that the kernel wrote have the bytes of those that its twin wrote, whatever came to be indexed."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocketwire import _kernel as kernel
from rocketwire.store.errors import DiskFull
from rocketwire.store.files import RealFileSystem
from rocketwire.store.index_put import python_put
from rocketwire.store.key_column import PythonKeyColumn
from tests.store.support import Clock, draft, open_store, small

TWIN = (PythonKeyColumn, python_put)
KERNEL = (kernel.KeyColumn, kernel.put_index_entries)


class Disk(RealFileSystem):
    """Has no room for so many of the next calls that need some."""

    full = 0

    def _room(self) -> None:
        if self.full > 0:
            self.full -= 1
            raise OSError(errno.ENOSPC, "No space left on device")

    def create(self, path: str, size: int, head: bytes = b"") -> int:
        self._room()
        return super().create(path, size, head)

    def reserve(self, fd: int, offset: int, length: int) -> None:
        self._room()
        super().reserve(fd, offset, length)


def write(root: Path, kinds: tuple[Any, Any], history: list[Any], most: int) -> dict[str, bytes]:
    """The index files after groups of messages were appended, and indexed now and then."""
    disk, clock = Disk(), Clock()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rocketwire.store.index_backlog.KeyColumn", kinds[0])
        patch.setattr("rocketwire.store.index_file.put_entries", kinds[1])
        patch.setattr("rocketwire.store.index_backlog._MOST_PENDING", most)
        store = open_store(small(root, index_entries=30, commit_log_file_size=1 << 15), clock, disk)
        number = 0
        for keys, later, full, indexed in history:
            drafts = [draft(number + n, unique_key=key[0], keys=key[1]) for n, key in enumerate(keys)]
            for one, (unique_key, words) in zip(drafts, keys, strict=True):
                # What is read from the log again has the same keys.
                items = [f"UNIQ_KEY\x01{unique_key}"] * bool(unique_key) + [f"KEYS\x01{words}"] * bool(words)
                one.properties = "\x02".join(items).encode()
            assert len(store.append(drafts)) == len(drafts)
            number += len(drafts)
            clock.now += later
            disk.full = full if indexed else 0
            more = indexed
            while more:
                try:
                    more = store.dispatch_index()
                except DiskFull:
                    assert full
            disk.full = 0
        store.close()
    return {path.name: path.read_bytes() for path in (root / "index").iterdir()}


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x01\x02"), max_size=10)
unique = st.none() | st.integers(0, 40).map(str) | texts.map(lambda text: text or None)
words = st.none() | st.sampled_from(["a", "a b", " a  b ", " ", "鍵 é 😀"]) | texts.map(lambda text: text or None)
later = st.sampled_from([0, 1, 999, 5000, -3000, 10**10])
keys_of_group = st.lists(st.tuples(unique, words), min_size=1, max_size=8)
histories = st.lists(
    st.tuples(keys_of_group, later, st.sampled_from([0, 0, 1, 2, 5]), st.booleans()), min_size=1, max_size=12
)


@settings(deadline=None, max_examples=60)
@given(history=histories, most=st.sampled_from([3, 20, 1000]))
def test_the_files_are_those_of_the_twin(
    tmp_path_factory: pytest.TempPathFactory, history: list[Any], most: int
) -> None:
    expected = write(tmp_path_factory.mktemp("twin"), TWIN, history, most)
    found = write(tmp_path_factory.mktemp("kernel"), KERNEL, history, most)
    assert found == expected
