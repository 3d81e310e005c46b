"""The store against a list a queue: appends, reads, flushes, clean stops and kills in any order."""

from __future__ import annotations

import shutil
import tempfile
from itertools import pairwise
from pathlib import Path

from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from rocketwire.store.store import FetchStatus
from rocketwire.wire.message import decode_record
from tests.store.support import Clock, bodies, draft, kill, open_store, small

QUEUES = [("A", 0), ("A", 1), ("B", 0)]


class StoreModel(RuleBasedStateMachine):
    @initialize(log_size=st.sampled_from([2048, 4096, 1 << 16]), queue_size=st.sampled_from([40, 320]))
    def open(self, log_size: int, queue_size: int) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="rocketwire-model-"))
        self.clock = Clock()
        self.settings = small(self.root, commit_log_file_size=log_size, consume_queue_file_size=queue_size)
        self.store = open_store(self.settings, self.clock)
        self.model: dict[tuple[str, int], list[tuple[int, bytes]]] = {key: [] for key in QUEUES}
        self.count = 0

    @rule(
        group=st.lists(
            st.tuples(st.sampled_from(QUEUES), st.integers(0, 600), st.integers(0, 5)), min_size=1, max_size=12
        ),
        passed=st.integers(0, 5000),
    )
    def append(self, group: list[tuple[tuple[str, int], int, int]], passed: int) -> None:
        self.clock.now += passed
        drafts = []
        for (topic, queue_id), size, kind in group:
            body = bytes([self.count % 256]) * size
            sys_flag = 4 if kind == 0 else 0
            drafts.append(draft(self.count, topic=topic, queue_id=queue_id, body=body, sys_flag=sys_flag))
            self.count += 1
        results = self.store.append(drafts)
        assert len(results) == len(drafts)
        for each, done in zip(drafts, results, strict=True):
            if each.sys_flag:
                continue
            queue = self.model[each.topic, each.queue_id]
            assert done.queue_offset == len(queue)
            queue.append((self.clock.now, bytes(each.body)))

    @rule(key=st.sampled_from(QUEUES), offset=st.integers(-1, 60), most=st.integers(0, 40), modulus=st.integers(1, 3))
    def get(self, key: tuple[str, int], offset: int, most: int, modulus: int) -> None:
        queue = self.model[key]
        accept = None if modulus == 1 else (lambda code: code % modulus == 0)
        fetched = self.store.get(*key, offset, most, None, accept)
        if not queue:
            assert fetched.status is FetchStatus.NO_MESSAGE_IN_QUEUE
            return
        assert (fetched.min_offset, fetched.max_offset) == (0, len(queue))
        if offset < 0:
            assert (fetched.status, fetched.next_offset) == (FetchStatus.OFFSET_TOO_SMALL, 0)
        elif offset > len(queue):
            assert (fetched.status, fetched.next_offset) == (FetchStatus.OFFSET_OVERFLOW_BADLY, len(queue))
        elif offset == len(queue):
            assert (fetched.status, fetched.next_offset) == (FetchStatus.OFFSET_OVERFLOW_ONE, len(queue))
        elif accept is None:
            assert fetched.status is FetchStatus.FOUND
            assert fetched.next_offset == offset + fetched.count
            assert 1 <= fetched.count <= max(1, most)
            got = b"".join(map(bytes, fetched.chunks))
            assert len(got) == fetched.size
            at = 0
            for n in range(fetched.count):
                assert decode_record(got, at).body == queue[offset + n][1]
                at += int.from_bytes(got[at : at + 4])
        else:
            assert fetched.next_offset > offset

    @rule(key=st.sampled_from(QUEUES), index=st.integers(0, 60), shift=st.integers(-1, 1))
    def by_time(self, key: tuple[str, int], index: int, shift: int) -> None:
        queue = self.model[key]
        if index < len(queue):
            found = self.store.offset_by_time(*key, queue[index][0] + shift)
            times = [time for time, _ in queue]
            assert abs(times[found] - times[index]) <= max([1, *(b - a for a, b in pairwise(times))])
            if shift == 0:
                assert times[found] == times[index] or self.store._queues.by_key[key].file_starts()[1:]

    @rule()
    def flush(self) -> None:
        self.store.flush_to(self.store.max_physical_offset)
        assert self.store.flushed_offset == self.store.max_physical_offset

    @rule(passed=st.integers(0, 70_000))
    def flush_due(self, passed: int) -> None:
        self.clock.now += passed
        self.store.flush_due(self.clock.now)

    @rule()
    def dispatch(self) -> None:
        self.store.dispatch_index()

    @precondition(lambda self: self.count)
    @rule(number=st.integers(0, 200))
    def query(self, number: int) -> None:
        number %= self.count
        found = [
            record
            for topic in ("A", "B")
            for record in self.store.query(topic, f"k{number}", 32, 0, 1 << 60).records
            if b"\x02KEYS\x01k%d\x02" % number in bytes(record)
        ]
        assert len(found) == 1

    @rule()
    def kill(self) -> None:
        kill(self.store)
        self.store = open_store(self.settings, self.clock)

    @rule()
    def stop(self) -> None:
        self.store.close()
        self.store = open_store(self.settings, self.clock)

    @invariant()
    def all_is_there(self) -> None:
        if hasattr(self, "store"):
            for key, queue in self.model.items():
                assert self.store.max_offset(*key) == len(queue)

    def teardown(self) -> None:
        if hasattr(self, "store"):
            for key, queue in self.model.items():
                assert bodies(self.store, *key) == [body for _, body in queue]
            self.store.close()
            shutil.rmtree(self.root)


TestStoreModel = StoreModel.TestCase
TestStoreModel.settings = hypothesis_settings(deadline=None, max_examples=60, stateful_step_count=30)
