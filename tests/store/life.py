"""A store's life as the crash tests play it: every kind of write that a broker causes, in one short script."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import NamedTuple

from rocketwire.store.append.drafts import Draft
from rocketwire.store.errors import FlushDelayed, FlushFailed, StoreError, StoreNotWritable
from rocketwire.store.settings import StoreSettings
from rocketwire.store.store import MessageStore
from rocketwire.store.tables.offsets import OffsetTable
from rocketwire.store.tables.topics import TopicTable
from rocketwire.wire.bodies.topic import TopicConfig
from tests.store.crash_disk import CrashDisk
from tests.store.support import Clock, draft, kill, open_store, small
from tests.store.witness import Promise, Witness


def life_settings(root: Path) -> StoreSettings:
    return small(
        root,
        commit_log_file_size=8192,
        consume_queue_file_size=20 * 8,
        index_slots=7,
        index_entries=24,
        sync_flush=True,
    )


class Moment(NamedTuple):
    """What must hold if the machine stops now.

    Of the tables' texts: the oldest that may be there, the oldest after a mere kill, and the newest.
    """

    promise: Promise
    tables: tuple[int, int, int]

    def of_a_kill(self) -> Moment:
        """What must hold if only the process is killed."""
        _, kept, newest = self.tables
        return self._replace(tables=(kept, kept, newest))


class Life:
    """One store on one disk, with its topic and offset tables, and the witness.

    A refusal is answered as a broker would: what was not taken is dropped, a store that fails to open is opened again.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.disk = CrashDisk(root)
        self.clock = Clock()
        self.opened_at = self.clock.now
        self.settings = life_settings(root / "store")
        self.witness = Witness()
        self.store: MessageStore | None = None
        self.number = 0
        #: The content of the tables at each time they were written; the first of those a crash may leave, and the last.
        self.tables: list[tuple[list[str], int | None]] = [([], None)]
        self.oldest_table = 0
        self.oldest_of_a_kill = 0
        self.errors: list[StoreError] = []

    def settings_at(self, root: Path) -> StoreSettings:
        return life_settings(root / "store")

    def with_witness(self, witness: Witness) -> Life:
        """The same past, another present."""
        twin = copy.copy(self)
        twin.witness = witness
        return twin

    def moment(self) -> Moment:
        return Moment(self.witness.promise(), (self.oldest_table, self.oldest_of_a_kill, len(self.tables) - 1))

    # --- what happens to the store ---

    def open(self) -> None:
        for _ in range(2):
            try:
                self.topics = TopicTable.open(self._config("topics.json"), self.disk, clock=self.clock)
                self.offsets = OffsetTable.open(self._config("consumerOffset.json"), self.disk)
                self.store = open_store(self.settings, self.clock, self.disk)
                self.opened_at = self.clock.now
            except StoreError as error:
                self.errors.append(error)
            else:
                return
        raise AssertionError(self.errors)

    def _config(self, name: str) -> str:
        return str(self.settings.root / "config" / name)

    @property
    def opened(self) -> MessageStore:
        assert self.store is not None
        return self.store

    def draft(self, *, topic: str = "A", queue_id: int = 0, body: int = 6, sys_flag: int = 0) -> Draft:
        self.number += 1
        return draft(
            self.number,
            topic=topic,
            queue_id=queue_id,
            body=(b"%06d" % self.number).ljust(body, b"."),
            sys_flag=sys_flag,
            keys=f"shared k{self.number % 5}",
            properties=b"UNIQ_KEY\x01U%07d\x02KEYS\x01shared k%d\x02TAGS\x01Tag%d"
            % (self.number, self.number % 5, self.number % 3),
        )

    def append(self, *drafts: Draft) -> None:
        self.clock.now += 700
        self.witness.append(self.opened, drafts)
        if self.opened.append_error is not None:
            self.errors.append(self.opened.append_error)

    def flush(self) -> None:
        try:
            self.opened.flush_to(self.opened.max_physical_offset)
        except (FlushFailed, FlushDelayed) as error:
            self.errors.append(error)
        self._acknowledge()

    def flush_due(self, passed: int) -> None:
        self.clock.now += passed
        try:
            self.opened.flush_by_interval(self.clock.now - self.opened_at)
        except (FlushFailed, FlushDelayed) as error:
            self.errors.append(error)
        self._acknowledge()

    def checkpoint(self) -> None:
        try:
            self.opened.checkpoint()
        except (FlushFailed, FlushDelayed) as error:
            self.errors.append(error)

    def _acknowledge(self) -> None:
        self.witness.acknowledge(self.opened.flushed_offset)

    def index(self) -> None:
        try:
            while self.opened.dispatch_index():
                pass
        except StoreError as error:
            self.errors.append(error)

    def expire(self) -> None:
        """Remove the oldest file of the log, and what points into it."""
        retention = self.opened.retention
        taken = retention.detach_log_file(self.clock.now, 0, forcibly=True)
        if taken is None:  # a refusal kept the log short
            return
        self.witness.start = taken.end
        try:
            taken.remove()
        except OSError:
            retention.reattach_log_file(taken)
            self.witness.start = taken.start
            return
        try:
            retention.sync_log()
            for queue in retention.queues():
                while retention.remove_queue_file(queue):
                    retention.sync_queue(queue)
            for file in retention.detach_index_files():
                file.remove()
        except OSError as error:
            self.errors.append(StoreNotWritable(str(self.root), str(error)))

    def save_tables(self, topic: str) -> None:
        self.topics.put(TopicConfig(topic_name=topic))
        self.offsets.commit("G", "A", 0, self.number)
        self.tables.append((self.topics.names(), self.number))
        for table in (self.topics, self.offsets):
            try:
                table.persist()
            except StoreNotWritable as error:
                self.errors.append(error)
                return
        self.oldest_of_a_kill = len(self.tables) - 1
        saving = self.topics.saving()
        if saving is not None:
            try:
                self.topics.save(saving)
            except StoreNotWritable as error:
                self.errors.append(error)
                return
        self.oldest_table = len(self.tables) - 1

    def close(self) -> None:
        """Stop cleanly; a stop that fails leaves what a killed process leaves."""
        try:
            self.topics.finish()
        except StoreNotWritable as error:
            self.errors.append(error)
        try:
            self.opened.close()
        except StoreError as error:
            self.errors.append(error)
        else:
            self._acknowledge()
            assert self.opened.flushed_offset == self.opened.max_physical_offset
        self.store = None

    def kill(self) -> None:
        kill(self.opened)
        self.store = None

    # --- the script ---

    def play(self) -> None:
        self.open()
        self.save_tables("A")
        self.append(self.draft(), self.draft(queue_id=1), self.draft(topic="B"))
        self.flush()
        self.append(self.draft(), self.draft(body=5000), self.draft(sys_flag=4))
        self.index()
        self.append(self.draft(topic="B", sys_flag=4))
        self.flush_due(600)
        self.append(*(self.draft(queue_id=n % 2, body=700) for n in range(6)))
        self.flush_due(10_100)
        self.append(self.draft(body=3000), *(self.draft() for _ in range(4)))
        self.index()
        self.flush()
        self.flush_due(61_000)
        self.append(*(self.draft(topic="B", body=900) for n in range(5)))
        for topic in "BCDB":
            self.save_tables(topic)
        self.checkpoint()
        self.append(self.draft(), self.draft(queue_id=1, body=4090))
        self.close()
        self.open()
        self.append(*(self.draft(queue_id=n % 2, body=700) for n in range(6)))
        self.flush()
        for topic in "EFG":
            self.save_tables(topic)
        self.append(self.draft(), self.draft(topic="B"))
        self.index()
        self.expire()
        self.append(self.draft(queue_id=1, body=2500))
        self.kill()
        self.open()
        self.append(self.draft(), self.draft(topic="B"))
        self.close()
