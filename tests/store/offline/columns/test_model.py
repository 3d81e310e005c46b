"""Columns under any order of messages, extensions, damage, kills, retention and queries: always what the log has."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from rocketwire.store.offline.columns import queries
from rocketwire.store.offline.columns import segment as segments
from rocketwire.store.offline.columns.extend import extend
from rocketwire.store.offline.columns.manifest import ColumnsUnusable, load
from rocketwire.store.offline.columns.queries import StoreColumns
from rocketwire.store.offline.plan.plan import find
from rocketwire.store.offline.plan.select import MessageConditions
from rocketwire.store.offline.read.directory import StoreDirectory, discover
from tests.store.support import Clock, draft, open_store, small

MINUTE = 60_000


class ColumnsBesideAStore(RuleBasedStateMachine):
    """A store that is written, and its columns, with blocks of a few rows."""

    def __init__(self) -> None:
        super().__init__()
        self.work = Path(tempfile.mkdtemp())
        self.root, self.cache = self.work / "store", self.work / "cache"
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr("os.fsync", lambda _: None)
        for module in (segments, queries):
            self.patch.setattr(module, "BLOCK", 8)
        self.patch.setattr(segments, "KEY_BLOCK", 4)
        self.patch.setattr(segments, "_FEW_GROUPS", 9)
        self.clock = Clock()
        self.store = open_store(small(self.root), self.clock)
        self.count = self.covered = 0

    @initialize()
    def begin(self) -> None:
        self.append(3)
        self.extend(10)

    @property
    def directory(self) -> StoreDirectory:
        return discover(str(self.root))

    @rule(count=st.integers(1, 30))
    def append(self, count: int) -> None:
        self.clock.now += MINUTE // 7
        numbers = range(self.count, self.count + count)
        self.store.append([draft(number, topic="ABC"[number // 5 % 3], queue_id=number % 2) for number in numbers])
        self.count += count

    @rule(rows=st.sampled_from([5, 20, 50]))
    def extend(self, rows: int) -> None:
        extend(self.directory, self.cache, lambda trouble: pytest.fail(str(trouble)), rows=rows)
        self.covered = self.count

    @rule(flip=st.integers(0, 1 << 20))
    def damage(self, flip: int) -> None:
        files = sorted(self.cache.glob("*/*/*.ninja"))
        file = files[flip % len(files)]
        data = bytearray(file.read_bytes())
        if file.name == "data.ninja":
            data[flip % len(data)] ^= 1 << flip % 8
            file.write_bytes(data)
        elif flip & 1:
            file.unlink()
        else:
            file.write_bytes(data[: len(data) // 2])

    @rule(cut=st.integers(0, 1 << 20))
    def damage_of_the_manifest(self, cut: int) -> None:
        data = (self.cache / "manifest").read_bytes()
        (self.cache / "manifest").write_bytes(data[: cut % len(data)])
        with pytest.raises(ColumnsUnusable):
            StoreColumns(self.directory, self.cache)
        extend(self.directory, self.cache, lambda _: None, rebuild=True)
        self.covered = self.count

    @rule()
    def kill_before_the_manifest_is_replaced(self) -> None:
        kept = (self.cache / "manifest").read_bytes()
        with self.patch.context() as patch:
            patch.setattr("shutil.rmtree", lambda _: None)
            extend(self.directory, self.cache, lambda _: None)
        (self.cache / "manifest").write_bytes(kept)

    @precondition(lambda self: len(self.directory.commit_log) > 2)
    @rule()
    def retention(self) -> None:
        segment = self.store.retention.detach_log_file(0, 0, forcibly=True)
        assert segment is not None
        segment.remove()
        manifest = load(self.cache)
        assert manifest is not None
        if manifest.last < self.directory.start:  # nothing remains that identifies them
            with pytest.raises(ColumnsUnusable):
                StoreColumns(self.directory, self.cache)
            extend(self.directory, self.cache, lambda _: None, rebuild=True)
            self.covered = self.count

    @rule(number=st.integers(0, 200), tag=st.sampled_from(["Tag1", "none"]), topics=st.sets(st.sampled_from("ABX")))
    def query(self, number: int, tag: str, topics: set[str]) -> None:
        directory = self.directory
        columns = StoreColumns(directory, self.cache)
        every = list(find(directory, MessageConditions(), lambda _: None))
        known = [one for one in every if int(one.properties["KEYS"][1:]) < self.covered]
        middle = known[number % len(known)].message.store_timestamp if known else 0
        for wanted in (
            MessageConditions(key=f"k{number}"),
            MessageConditions(tags=frozenset({tag}), since=middle),
            MessageConditions(topics=frozenset(topics) or None, until=middle),
        ):
            found = list(columns.find(wanted, lambda trouble: pytest.fail(str(trouble))))
            assert found == [one for one in known if wanted.matches(one)]
        for by in (["topic", "tag", "hour"], ["queue", "minute"]):
            assert sum(columns.count(by).values()) == len(known)

    def teardown(self) -> None:
        with contextlib.suppress(OSError):
            self.store.close()
        self.patch.undo()
        shutil.rmtree(self.work)


ColumnsBesideAStore.TestCase.settings = settings(max_examples=8, stateful_step_count=10, deadline=None)
test_columns_beside_a_store = ColumnsBesideAStore.TestCase
