"""The store against a list of messages: whatever happens to it, in any order.

What happens: appends, reads, flushes, stops of the process and of the machine at which any of the dirty pages are lost,
a full disk, a disk that refuses to sync, and files that are deleted or cut between two runs. The witness has what must
be stored.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from rocketwire.store.errors import DiskFull, FlushFailed, StoreNotWritable
from rocketwire.store.layout.record import store_timestamp
from rocketwire.store.read.fetch import FetchStatus
from rocketwire.wire.facts.record import MAGIC_AT
from tests.store import disk_images
from tests.store.crash_disk import CrashDisk
from tests.store.support import Clock, draft, kill, open_store, small
from tests.store.witness import Promise, Record, Witness, check, count_records, found, queues_of

QUEUES = [("A", 0), ("A", 1), ("B", 0)]
SYNC_FAILS = {"sync": 5, "sync_directory": 5}


class StoreModel(RuleBasedStateMachine):
    @initialize(log_size=st.sampled_from([8192, 12288, 1 << 16]), queue_size=st.sampled_from([40, 320, 6000]))
    def start(self, log_size: int, queue_size: int) -> None:
        shared = Path("/dev/shm")
        self.work = Path(tempfile.mkdtemp(prefix="rocketwire-model-", dir=shared if shared.is_dir() else None))
        self.machines = 0
        self.clock = Clock()
        self.sizes = {"commit_log_file_size": log_size, "consume_queue_file_size": queue_size}
        self.witness = Witness()
        self.numbers = 0
        self.failed = False
        self.boot({})

    def boot(self, left: dict[str, bytes | None]) -> None:
        """A machine starts, with what a former one left on its disk."""
        self.machines += 1
        self.root = self.work / str(self.machines)
        self.root.mkdir()
        disk_images.put(left, self.root)
        self.disk = CrashDisk(self.root)
        self.open(self.witness.promise())

    def open(self, promise: Promise) -> None:
        self.failed = False
        self.disk.refusing = {}
        self.disk.room = self.disk.files_left = None
        self.store = open_store(small(self.root / "store", **self.sizes), self.clock, self.disk)
        self.opened_at = self.clock.now
        self.witness.crashed(check(self.store, self.witness, promise))

    def nothing_lost(self) -> Promise:
        return Promise(len(self.witness.records), len(self.witness.records))

    # --- appending and flushing ---

    @rule(
        group=st.lists(
            st.tuples(st.sampled_from(QUEUES), st.sampled_from([0, 1, 90, 600, 4000, 6000]), st.integers(0, 7)),
            min_size=1,
            max_size=12,
        ),
        passed=st.integers(0, 5000),
    )
    def append(self, group: list[tuple[tuple[str, int], int, int]], passed: int) -> None:
        self.clock.now += passed
        drafts = []
        for (topic, queue_id), size, kind in group:
            n = self.numbers = self.numbers + 1
            changes = {
                "body": (b"%d." % n * size)[:size],
                "sys_flag": 4 if kind == 0 else 0,
                "keys": f"all k{kind}",
                "properties": b"UNIQ_KEY\x01U%07d\x02KEYS\x01all k%d\x02TAGS\x01Tag%d" % (n, kind, n % 3),
            }
            drafts.append(draft(n, topic=topic, queue_id=queue_id, **changes))
        taken = self.witness.append(self.store, drafts)
        if taken < len(drafts):
            error = self.store.append_error
            assert isinstance(error, FlushFailed if self.failed else DiskFull | StoreNotWritable)
            assert self.failed or self.disk.refused

    @rule()
    def flush(self) -> None:
        try:
            self.store.flush_to(self.store.max_physical_offset)
        except FlushFailed:
            assert self.failed or self.disk.refusing
            self.failed = True
            return
        assert not self.failed
        assert self.store.flushed_offset == self.store.max_physical_offset
        self.witness.acknowledge(self.store.flushed_offset)

    @rule(passed=st.sampled_from([0, 499, 500, 1500, 10_000, 61_000]))
    def flush_due(self, passed: int) -> None:
        self.clock.now += passed
        try:
            self.store.flush_by_interval(self.clock.now - self.opened_at)
        except FlushFailed:
            assert self.failed or self.disk.refusing
            self.failed = True
        else:
            if passed >= 10_000:  # the most that ASYNC_FLUSH lets wait
                assert self.store.flushed_offset == self.store.max_physical_offset
        self.witness.acknowledge(self.store.flushed_offset)

    @rule()
    def checkpoint(self) -> None:
        try:
            self.store.checkpoint()
        except FlushFailed:
            assert self.failed or self.disk.refusing
            self.failed = True

    @rule()
    def dispatch(self) -> None:
        try:
            self.store.dispatch_index()
        except (DiskFull, StoreNotWritable):
            assert self.disk.refused

    # --- reading ---

    def messages(self, key: tuple[str, int]) -> list[Record]:
        return queues_of(self.witness.records).get(key, [])

    @rule(key=st.sampled_from(QUEUES), offset=st.integers(-1, 60), most=st.integers(0, 40), modulus=st.integers(1, 3))
    def get(self, key: tuple[str, int], offset: int, most: int, modulus: int) -> None:
        queue = self.messages(key)
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
            assert got == b"".join(record.data for record in queue[offset : fetched.next_offset])
        else:
            assert fetched.next_offset > offset

    @rule(key=st.sampled_from(QUEUES), index=st.integers(0, 60), shift=st.integers(-1, 1))
    def by_time(self, key: tuple[str, int], index: int, shift: int) -> None:
        times = [store_timestamp(memoryview(record.data)) for record in self.messages(key)]
        if index < len(times):
            offset = self.store.offset_by_time(*key, times[index] + shift)
            assert all(time < times[index] + shift for time in times[:offset])
            assert all(time >= times[index] + shift for time in times[offset : offset + 1])

    @rule(kind=st.integers(0, 7), topic=st.sampled_from(["A", "B"]))
    def query(self, kind: int, topic: str) -> None:
        refused = self.disk.refused
        there = found(self.store, topic, f"k{kind}")
        wanted = [r.data for r in self.witness.records if (r.draft.topic, r.draft.keys) == (topic, f"all k{kind}")]
        if self.disk.refused == refused:
            assert there == wanted[-64:]
        else:  # the newest could not be indexed
            assert there == wanted[: len(there)]

    # --- the disk ---

    @rule(room=st.sampled_from([0, 4096, 20_000]), files=st.integers(0, 2))
    def fill_disk(self, room: int, files: int) -> None:
        self.disk.room, self.disk.files_left = room, files

    @rule()
    def free_disk(self) -> None:
        self.disk.room = self.disk.files_left = None

    @rule()
    def break_sync(self) -> None:
        self.disk.refusing = SYNC_FAILS

    # --- stops ---

    @rule()
    def stop(self) -> None:
        self.close()
        self.open(self.nothing_lost())

    def close(self) -> None:
        self.disk.room = self.disk.files_left = None
        try:
            self.store.close()
        except FlushFailed:
            assert self.failed or self.disk.refusing
        else:
            assert not self.failed
            self.witness.acknowledge(self.store.max_physical_offset)

    @rule()
    def kill(self) -> None:
        kill(self.store)
        self.open(self.nothing_lost())

    @rule(changes=st.integers(0, 8), pages=st.integers(0, (1 << 64) - 1), clean=st.booleans())
    def crash(self, changes: int, pages: int, clean: bool) -> None:
        if clean:
            self.close()
        left = disk_images.after(self.disk.image(), disk_images.chosen(changes, pages))
        if not clean:
            kill(self.store)
        self.boot(left)

    @rule(part=st.sampled_from(["consumequeue", "index"]), clean=st.booleans())
    def delete(self, part: str, clean: bool) -> None:
        self.end(clean=clean)
        shutil.rmtree(self.root / "store" / part, ignore_errors=True)
        self.disk = CrashDisk(self.root)
        self.open(self.nothing_lost())

    @rule(keep=st.integers(0, 1 << 16), clean=st.booleans())
    def cut_log(self, keep: int, clean: bool) -> None:
        """Zero the end of the last file that has something in it."""
        self.end(clean=clean)
        if self.witness.records:
            last = self.witness.records[-1].place.physical_offset
            size = self.sizes["commit_log_file_size"]
            start = last - last % size
            at = start + keep % (self.witness.records[-1].end - start)
            cut = next(record for record in self.witness.records if at < record.end)
            properties = len(cut.draft.properties)
            if clean and at >= cut.end - properties:
                # Properties of zeros are believed after a clean stop, and have no checksum: cut their length as well.
                at = cut.end - properties - 2
            if at < MAGIC_AT + 4:  # a log that begins with half a magic number is taken for no log at all
                at = 0
            path = self.root / "store" / "commitlog" / f"{start:020d}"
            path.write_bytes(path.read_bytes()[: at - start].ljust(size, b"\0"))
            whole = [record for record in self.witness.records if record.end <= at]
            # A record that ends in zeros may be whole nevertheless.
            self.witness.acknowledged = min(self.witness.acknowledged, len(whole))
        self.disk = CrashDisk(self.root)
        self.open(Promise(self.witness.acknowledged, len(self.witness.records)))

    def end(self, *, clean: bool) -> None:
        if clean:
            self.close()
        else:
            kill(self.store)

    @invariant()
    def offsets_are_right(self) -> None:
        if hasattr(self, "store"):
            for key in QUEUES:
                assert self.store.max_offset(*key) == len(self.messages(key))
            assert count_records(self.store, self.witness.records) == len(self.witness.records)

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.disk.room = self.disk.files_left = None
            self.disk.refusing = {}
            if not self.failed:
                check(self.store, self.witness, self.nothing_lost())
            kill(self.store)
            shutil.rmtree(self.work)


TestStoreModel = StoreModel.TestCase
TestStoreModel.settings = hypothesis_settings(deadline=None, max_examples=50, stateful_step_count=25)
