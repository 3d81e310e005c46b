"""The check: producers are asked about half messages that stay undecided, every transactionCheckInterval.

A round goes through the undecided half messages in their order, as a 4.9.7 broker does. One that is old enough is put
again behind the queue with its number of checks raised by one, and a living producer of its group is asked about the
new copy; nobody waits for the answer, which comes as a 37 or not at all. So the queue's first part stays free of
undecided messages, and none is lost when old files of the log are removed. One that was asked about
transactionCheckMax times, or that is older than files are kept, goes to TRANS_CHECK_MAX_TIME_TOPIC. The first that is
younger than transactionTimeOut ends the round. Without a producer a check counts all the same, but not while there are
some that all have too much to read: then the message is left for the next round.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from enum import Enum, auto
from typing import Final

import trio

from rocketwire.server.config.live import Live
from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.clocks.due_time import DueTime
from rocketwire.server.core.errors import ServiceUnavailable, SystemBusy
from rocketwire.server.messages.stored_message import StoredMessage, stored_text
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.server.transactions.asking import Asking
from rocketwire.server.transactions.copies import Copies
from rocketwire.server.transactions.ending import Ending
from rocketwire.server.transactions.half import HALF
from rocketwire.server.transactions.keys import TransactionKeys
from rocketwire.server.transactions.state import TransactionState, messages_from
from rocketwire.server.upkeep.keys import RetentionKeys
from rocketwire.store.errors import StoreError
from rocketwire.store.protocol import Messages
from rocketwire.wire import names
from rocketwire.wire import properties as property_names
from rocketwire.wire.java import INT32_MAX, INT64_MAX, natural_number
from rocketwire.wire.message import MAX_PROPERTIES_LENGTH

log = logging.getLogger(__name__)

_HOUR: Final = 3_600_000  # ms
_LONGEST_SLEEP: Final = 1.0
#: What ends a round: no other message would fare better.
_FAULTS: Final = (ServiceUnavailable, SystemBusy, StoreError, OSError)
#: Half messages looked at, and bytes appended, between two turns of other tasks.
_AT_ONCE: Final = 64
_BYTES_AT_ONCE: Final = 512 * 1024


class _Next(Enum):
    GO_ON = auto()
    END = auto()


class Checking:
    """The check of one broker."""

    def __init__(
        self,
        store: Messages,
        state: TransactionState,
        copies: Copies,
        ending: Ending,
        asking: Asking,
        *,
        keys: Live[TransactionKeys],
        retention_keys: Live[RetentionKeys],
        topics: BrokerTopics,
        clock: Clock,
        due_time: DueTime,
        wake: Callable[[], None],
    ) -> None:
        self._store = store
        self._state = state
        self._copies = copies
        self._ending = ending
        self._asking = asking
        self._keys = keys
        self._retention_keys = retention_keys
        self._topics = topics
        self._clock = clock
        self._time = due_time
        self._wake = wake

    async def run(self) -> None:
        """Check for ever, and note how far the queues are done with."""
        last = self._time.elapsed()
        await _logged(self._read_copies)
        while True:
            interval = self._keys.current.transaction_check_interval / 1000
            await self._time.sleep(max(0.0, min(_LONGEST_SLEEP, last + interval - self._time.elapsed())))
            self._state.note_progress()
            if self._time.elapsed() >= last + interval:
                began, real = self._time.elapsed(), trio.current_time()
                await _logged(self.check)
                last = began + trio.current_time() - real  # without moves of the clock meanwhile: they count anew

    async def _read_copies(self) -> None:
        for _ in self._copies.read():
            await trio.lowlevel.checkpoint()

    async def check(self) -> None:
        """One round.

        Raises:
            ServiceUnavailable: the store takes nothing; the next round goes on.
            SystemBusy: an append just took too long; the next round goes on.
            StoreError: a topic could not be written down.
            OSError: the store cannot be read.
        """
        self._topics.create_retry(names.TRANS_HALF_TOPIC, 1)
        await self._read_copies()
        began, end = self._clock(), self._state.end  # behind it are this round's copies, whatever the clock does
        try:
            offset = self._state.next_undecided(self._state.first)
            while offset is not None and offset < end:
                offset = self._look_at_some(offset, end, began)
                await trio.lowlevel.checkpoint()
        finally:
            self._asking.tell_of_unasked()
            self._state.note_progress()
            self._wake()

    def _look_at_some(self, offset: int, end: int, began: int) -> int | None:
        """Look at as many half messages as others can wait for; where to go on, None when the round is over."""
        enough = self._store.max_physical_offset + _BYTES_AT_ONCE
        found: int | None = offset
        for _ in range(_AT_ONCE):
            if found is None or found >= end or self._store.max_physical_offset >= enough:
                break
            if self._try(found, began) is _Next.END:
                return None
            found = self._state.next_undecided(found + 1)
        return found

    def _try(self, offset: int, began: int) -> _Next:
        try:
            return self._look_at(offset, began)
        except _FAULTS:
            raise
        except Exception:  # whatever is wrong with this one, the others are to be checked
            log.exception("half message %(offset)d cannot be checked", {"offset": offset})
            return _Next.GO_ON

    def _look_at(self, offset: int, began: int) -> _Next:
        found, half = next(messages_from(self._store, HALF, offset, 1), (None, None))
        if half is None or found != offset:
            log.warning("half message %(offset)d is gone from the log, undecided", {"offset": offset})
            self._state.gone(offset)
            return _Next.GO_ON
        properties = half.decoded_properties()
        if self._is_over(offset, half):
            return _Next.GO_ON
        keys = self._keys.current
        reserved = self._retention_keys.current.file_reserved_time * _HOUR
        age = self._clock() - self._time.of_client(half.born_timestamp)
        checks = _number(properties.get(property_names.TRANSACTION_CHECK_TIMES), INT32_MAX)
        if (checks is not None and checks >= keys.transaction_check_max) or age > reserved:
            self._give_up(offset, half, properties)
            return _Next.GO_ON
        if 0 <= half.store_timestamp - began < keys.transaction_time_out:
            return _Next.END
        immunity = _immunity(properties)
        if immunity is not None and -immunity < age < immunity:
            self._put_again(offset, half, properties, _immune(properties, offset))
            return _Next.GO_ON
        if immunity is None and 0 <= age < keys.transaction_time_out:
            return _Next.END
        if self._asking.has_to_wait(properties.get(property_names.PRODUCER_GROUP, "")):
            return _Next.GO_ON
        times = 1 if checks is None else checks + 1
        checked = {**properties, property_names.TRANSACTION_CHECK_TIMES: str(times)}
        copy = self._put_again(offset, half, properties, checked)
        if copy is not None:
            self._asking.ask(half, copy, checked)
        return _Next.GO_ON

    def _is_over(self, offset: int, half: StoredMessage) -> bool:
        """Whether a half message only looks undecided: Apache's broker, which takes no note of it, put it again."""
        newest = self._copies.find(half)
        if newest is None or newest <= offset:
            return False
        self._ending.settle(offset, half, None)
        return True

    def _put_again(
        self, offset: int, half: StoredMessage, properties: Mapping[str, str], changed: Mapping[str, str]
    ) -> tuple[int, int] | None:
        """Put a half message behind its queue; physical and queue offset of the copy, None when there can be none."""
        text = stored_text(changed)
        if len(text) > MAX_PROPERTIES_LENGTH:
            self._give_up(offset, half, properties)
            return None
        appended = self._ending.settle(offset, half, half.draft(*HALF, changed))
        assert appended is not None  # noqa: S101 - there was one to append
        self._copies.put(half, appended.queue_offset)
        return appended.physical_offset, appended.queue_offset

    def _give_up(self, offset: int, half: StoredMessage, properties: Mapping[str, str]) -> None:
        log.warning(
            "half message %(offset)d is left undecided, and moved to %(topic)s",
            {"offset": offset, "topic": names.TRANS_CHECK_MAX_TIME_TOPIC},
        )
        self._topics.create_retry(names.TRANS_CHECK_MAX_TIME_TOPIC, 1)
        draft = half.draft(names.TRANS_CHECK_MAX_TIME_TOPIC, 0, properties)
        self._ending.settle(offset, half, draft)


async def _logged(do: Callable[[], Awaitable[None]]) -> None:
    try:
        await do()
    except _FAULTS as error:
        log.error("transaction check: %(reason)s", {"reason": error})  # noqa: TRY400 - the text says it all


def _number(text: str | None, most: int) -> int | None:
    """A number in a property; -1 for a text that is none, as Apache has it, and None when the property is missing."""
    if text is None:
        return None
    number = natural_number(text, most)
    return -1 if number is None else number


def _immunity(properties: Mapping[str, str]) -> int | None:
    """For how many ms after its birth a half message is not to be checked, None when it does not say."""
    seconds = _number(properties.get(property_names.CHECK_IMMUNITY_TIME_IN_SECONDS), INT64_MAX)
    return None if seconds is None or seconds < 0 else seconds * 1000


def _immune(properties: Mapping[str, str], offset: int) -> dict[str, str]:
    """Properties of a copy that is put again unchecked: it says where the first one was."""
    name = property_names.TRANSACTION_PREPARED_QUEUE_OFFSET
    return {**properties, name: properties.get(name, str(offset))}
