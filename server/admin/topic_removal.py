"""Deletion of topics: their configuration, consumer offsets and queues, one topic after the other.

At once sends and pulls are answered that the topic does not exist, held pulls too. Then its offsets and queues are
removed in steps, and the answer comes last. Until then no client can create the topic again, so a new one has nothing
of the old one.

A kill at any point means that the topic stays whole or is deleted. The store notes the deletion before anything else
(`store/tables/deleted_topics.py`), and a start after the kill finishes it: `finish_deletions` here, and recovery for
the queues. Messages of the topic stay in the commit log until they expire; those that wait for a time or for the
outcome of a transaction are delivered when they are due, as by Apache's brokers, and begin the topic's queues again.
"""

from __future__ import annotations

import contextlib
import logging
import math
from collections.abc import Callable, Generator, Iterator
from typing import Final

import trio

from rocketwire.server.core.background import BackgroundBudget
from rocketwire.server.core.errors import TopicNotFound
from rocketwire.server.core.long_tasks import ROWS_PER_STEP
from rocketwire.server.core.threads import RunSync
from rocketwire.server.maintenance.queue_removal import removing
from rocketwire.server.offsets.consumed import groups_of
from rocketwire.server.pop.pops import Pops
from rocketwire.server.pull.long_poll import LongPoll
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.store.errors import StoreError
from rocketwire.store.protocol import StoreProtocol
from rocketwire.store.retention import Retention
from rocketwire.store.tables.deleted_topics import DeletedTopics
from rocketwire.store.tables.offsets import OffsetTable
from rocketwire.store.tables.topics import TopicTable
from rocketwire.wire import names

log = logging.getLogger(__name__)

_RETRY_SECONDS: Final = 5.0

Done = Callable[[Exception | None], None]
"""Called when the topic is deleted, or with the error: it is not deleted, or something of it is not saved."""


class TopicRemoval:
    """Deletes topics of one broker."""

    def __init__(
        self,
        store: StoreProtocol,
        *,
        retention: Retention,
        deleted: DeletedTopics,
        topics: BrokerTopics,
        offsets: OffsetTable,
        long_poll: LongPoll,
        pops: Pops,
        run_sync: RunSync,
        budget: BackgroundBudget,
    ) -> None:
        self._store = store
        self._retention = retention
        self._deleted = deleted
        self._topics = topics
        self._offsets = offsets
        self._long_poll = long_poll
        self._pops = pops
        self._run_sync = run_sync
        self._budget = budget
        self._queue, self._jobs = trio.open_memory_channel[tuple[str, Done]](math.inf)

    def remove(self, topic: str, done: Done) -> None:
        """Delete a topic, if anything of it exists."""
        self._queue.send_nowait((topic, done))

    async def run(self) -> None:
        """Delete topics, without end."""
        async for topic, done in self._jobs:
            errors: list[StoreError] = []
            await self._remove(topic, errors)
            for error in errors:
                if not self._store.on_store_error(error):
                    log.error("topic %(topic)s: %(reason)s", {"topic": topic, "reason": error})
            done(errors[0] if errors else None)

    async def _remove(self, topic: str, errors: list[StoreError]) -> None:
        for retry in await self._pop_retries(topic):
            await self._remove_one(retry, errors)
        await self._remove_one(topic, errors)

    async def _pop_retries(self, topic: str) -> list[str]:
        """The retry topics of POP in which messages of a topic wait for its groups."""
        groups = await self._budget.carry_out(groups_of(self._offsets, topic))
        return await self._budget.carry_out(pop_retries(groups, topic, self._topics.table.__contains__))

    async def _remove_one(self, topic: str, errors: list[StoreError]) -> None:
        if topic in self._topics.table or self._store.queue_ids(topic):
            with self._topics.leaving(topic):
                await self._remove_existing(topic, errors)
        else:
            await self._remove_offsets(topic, errors)

    async def _remove_existing(self, topic: str, errors: list[StoreError]) -> None:
        store = self._store
        try:
            self._deleted.begin(topic, store.max_physical_offset, log_start=store.min_physical_offset)
        except StoreError as error:
            errors.append(error)
            return
        # From here on it is deleted, whatever else fails; and no message came in between.
        with _noting_errors(errors):
            self._topics.remove(topic)
        for waiting in (self._long_poll, self._pops):
            await self._budget.carry_out(waiting.end_topic(topic, TopicNotFound(topic, gap=" ")))
        with _noting_errors(errors):
            await self._run_sync(self._deleted.save)
        saving = self._topics.table.saving()
        if saving is not None:
            with _noting_errors(errors):
                await self._run_sync(self._topics.table.save, saving)
        await self._remove_offsets(topic, errors)
        await self._budget.carry_out(removing(self._retention, self._retention.queues_of(topic)))
        await self._finish(topic)
        log.info("topic %(topic)s: deleted", {"topic": topic})

    async def _finish(self, topic: str) -> None:
        """Mark the deletion as done; until that is saved no client may create the topic: a start would delete it."""
        self._deleted.finish(topic)
        while True:
            try:
                await self._run_sync(self._deleted.save)
            except StoreError as error:
                log.error("topic %(topic)s: %(reason)s", {"topic": topic, "reason": error})  # noqa: TRY400 - the text suffices
                await trio.sleep(_RETRY_SECONDS)
            else:
                return

    async def _remove_offsets(self, topic: str, errors: list[StoreError]) -> None:
        groups = await self._budget.carry_out(groups_of(self._offsets, topic))
        if groups:
            await self._budget.carry_out(self._removing(groups, topic))
            text = await self._budget.carry_out(self._offsets.encode_in_steps())
            if text is not None:
                with _noting_errors(errors):
                    await self._run_sync(self._offsets.write, text)

    def _removing(self, groups: list[str], topic: str) -> Generator[None, None, None]:
        while groups:
            self._offsets.remove(groups.pop(), topic)
            yield


def pop_retries(groups: list[str], topic: str, exists: Callable[[str], bool]) -> Generator[None, None, list[str]]:
    """Those retry topics of POP that exist, of groups that took messages from a topic; some groups in each step.

    The list is emptied: to free 500,000 groups in one step takes 10 ms.
    """
    found: list[str] = []
    while groups:
        part = groups[-ROWS_PER_STEP:]
        del groups[-ROWS_PER_STEP:]
        made = [name(topic, group) for group in part for name in (names.pop_retry_topic, names.pop_retry_topic_v2)]
        found += [each for each in made if exists(each)]
        yield
    return found


@contextlib.contextmanager
def _noting_errors(errors: list[StoreError]) -> Iterator[None]:
    """Continue after an error of the store, which is noted."""
    try:
        yield
    except StoreError as error:
        errors.append(error)


def finish_deletions(deleted: DeletedTopics, topics: TopicTable, offsets: OffsetTable) -> None:
    """Delete the rest of topics whose deletion was interrupted: the process was killed then.

    Raises:
        StoreError: that could not be saved.
    """
    pending = deleted.unfinished
    if not pending:
        return
    for topic, group, _ in offsets.all():
        if topic in pending:
            offsets.remove(group, topic)
    offsets.persist()
    for topic in pending:
        topics.remove(topic)
        deleted.finish(topic)
    topics.persist()
    deleted.save()
