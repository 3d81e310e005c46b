"""The back-check: requests to producers for the outcome of undecided half messages, every transactionCheckInterval.

A round goes through the undecided half messages in their order, as a 4.9.7 broker does. One that is old enough is put
again behind the queue with its number of checks raised by one, and a connected producer of its group gets a back-check
for the new copy. The answer comes as a 37 or not at all; the round does not wait for it. So the queue's first part
stays free of undecided messages, and none is lost when old files of the log are removed. One that was checked
transactionCheckMax times, or that is older than files are kept, goes to TRANS_CHECK_MAX_TIME_TOPIC. The first that is
younger than transactionTimeOut ends the round. A check without a producer counts nevertheless, but not while all
connected ones have too much to read: then the message waits for the next round.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Generator, Mapping
from enum import Enum, auto
from typing import Final

import trio

from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.background import BackgroundBudget, as_steps
from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.clocks.waiting import DueTime
from rocketwire.server.core.errors import ServiceUnavailable, SystemBusy
from rocketwire.server.maintenance.keys import RetentionKeys
from rocketwire.server.messages.stored_message import StoredMessage, stored_message, stored_text
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.server.transactions.back_check_sender import BackCheckSender
from rocketwire.server.transactions.copies import HalfMessageCopies
from rocketwire.server.transactions.half import HALF
from rocketwire.server.transactions.keys import TransactionKeys
from rocketwire.server.transactions.outcomes import TransactionResolver
from rocketwire.server.transactions.round_report import RoundReport
from rocketwire.server.transactions.state import TransactionState
from rocketwire.store.errors import StoreError
from rocketwire.store.protocol import StoreProtocol
from rocketwire.wire import names
from rocketwire.wire.errors import RecordInvalid
from rocketwire.wire.facts import properties as property_names
from rocketwire.wire.facts.record import MAX_PROPERTIES_LENGTH
from rocketwire.wire.java import INT32_MAX, INT64_MAX, parse_natural_number

log = logging.getLogger(__name__)

_HOUR: Final = 3_600_000  # ms
_LONGEST_SLEEP: Final = 1.0
#: What ends a round: no other message would fare better.
_FAULTS: Final = (ServiceUnavailable, SystemBusy, StoreError, OSError)
#: After so many half messages the progress is noted.
_NOTED_EACH: Final = 1024


class _Next(Enum):
    GO_ON = auto()
    END = auto()


class BackChecker:
    """The check of one broker."""

    def __init__(
        self,
        store: StoreProtocol,
        state: TransactionState,
        copies: HalfMessageCopies,
        ending: TransactionResolver,
        sender: BackCheckSender,
        *,
        keys: LiveGroup[TransactionKeys],
        retention_keys: LiveGroup[RetentionKeys],
        topics: BrokerTopics,
        clock: Clock,
        due_time: DueTime,
        wake: Callable[[], None],
        budget: BackgroundBudget,
    ) -> None:
        self._store = store
        self._state = state
        self._copies = copies
        self._ending = ending
        self._sender = sender
        self._keys = keys
        self._retention_keys = retention_keys
        self._topics = topics
        self._clock = clock
        self._time = due_time
        self._wake = wake
        self._budget = budget

    async def run(self) -> None:
        """Check without end, and note how far the queues are done with."""
        last = self._time.elapsed()
        await _run_logged(self._read_copies)
        while True:
            interval = self._keys.current.transaction_check_interval / 1000
            await self._time.sleep(max(0.0, min(_LONGEST_SLEEP, last + interval - self._time.elapsed())))
            self._state.note_progress()
            if self._time.elapsed() >= last + interval:
                began, real = self._time.elapsed(), trio.current_time()
                await _run_logged(self.run_round)
                last = began + trio.current_time() - real  # without moves of the clock meanwhile: they count again

    async def _read_copies(self) -> None:
        await self._budget.carry_out(as_steps(self._copies.read()))

    async def run_round(self) -> None:
        """One round.

        Raises:
            ServiceUnavailable: the store takes nothing; the next round continues.
            SystemBusy: an append just took too long; the next round continues.
            StoreError: a topic could not be written down.
            OSError: the store cannot be read.
        """
        self._topics.create_retry(names.TRANS_HALF_TOPIC, 1)
        await self._read_copies()
        report = RoundReport()
        try:
            await self._budget.carry_out(self._round(report))
        finally:
            report.log_summary()
            self._wake()

    def _round(self, report: RoundReport) -> Generator[None, None, None]:
        """Check one half message in each step, and note the progress now and then."""
        began, end = self._clock(), self._state.end  # behind it are this round's copies, whatever the clock does
        offset = self._state.next_undecided(self._state.first)
        count = 0
        while offset is not None and offset < end and self._try(offset, began, report) is not _Next.END:
            count += 1
            if count % _NOTED_EACH == 0:
                self._state.note_progress()
            yield
            offset = self._state.next_undecided(offset + 1)
        while self._state.note_progress():
            yield

    def _try(self, offset: int, began: int, report: RoundReport) -> _Next:
        try:
            return self._look_at(offset, began, report)
        except _FAULTS:
            raise
        except Exception:  # whatever is wrong with this one, the others are to be checked
            if not report.failed:
                log.exception("half message %(offset)d cannot be checked", {"offset": offset})
            report.failed += 1
            return _Next.GO_ON

    def _look_at(self, offset: int, began: int, report: RoundReport) -> _Next:
        half = self._half(offset)
        if half is None:
            report.missing += 1
            self._state.note_done(offset)
            return _Next.GO_ON
        properties = half.decoded_properties()
        if self._is_over(offset, half):
            return _Next.GO_ON
        keys = self._keys.current
        reserved = self._retention_keys.current.file_reserved_time * _HOUR
        age = self._clock() - self._time.from_client_time(half.born_timestamp)
        checks = _number(properties.get(property_names.TRANSACTION_CHECK_TIMES), INT32_MAX)
        if (checks is not None and checks >= keys.transaction_check_max) or age > reserved:
            self._give_up(offset, half, properties, report)
            return _Next.GO_ON
        if 0 <= half.store_timestamp - began < keys.transaction_time_out:
            return _Next.END
        immunity = _immunity(properties)
        if immunity is not None and -immunity < age < immunity:
            self._put_again(offset, half, properties, _immune(properties, offset), report)
            return _Next.GO_ON
        if immunity is None and 0 <= age < keys.transaction_time_out:
            return _Next.END
        if self._sender.must_wait(properties.get(property_names.PRODUCER_GROUP, "")):
            return _Next.GO_ON
        times = 1 if checks is None else checks + 1
        checked = {**properties, property_names.TRANSACTION_CHECK_TIMES: str(times)}
        copy = self._put_again(offset, half, properties, checked, report)
        if copy is not None:
            self._sender.send(half, copy, checked, report)
        return _Next.GO_ON

    def _half(self, offset: int) -> StoredMessage | None:
        """The half message at a queue offset; None: the log does not have it any more, or it is damaged."""
        place = self._store.place(HALF, offset)
        record = None if place is None else self._store.record_at(place)
        try:
            half = None if record is None else stored_message(record)
        except RecordInvalid:
            return None
        return half if half is not None and half.queue_offset == offset else None

    def _is_over(self, offset: int, half: StoredMessage) -> bool:
        """Whether a half message only looks undecided: Apache's broker, which takes no note of it, put it again."""
        newest = self._copies.find(half)
        if newest is None or newest <= offset:
            return False
        self._ending.store_outcome(offset, half, None)
        return True

    def _put_again(
        self,
        offset: int,
        half: StoredMessage,
        properties: Mapping[str, str],
        changed: Mapping[str, str],
        report: RoundReport,
    ) -> tuple[int, int] | None:
        """Put a half message behind its queue; physical and queue offset of the copy, None when there can be none."""
        text = stored_text(changed)
        if len(text) > MAX_PROPERTIES_LENGTH:
            self._give_up(offset, half, properties, report)
            return None
        appended = self._ending.store_outcome(offset, half, half.draft(*HALF, changed))
        assert appended is not None  # noqa: S101 - there was one to append
        self._copies.put(half, appended.queue_offset)
        return appended.physical_offset, appended.queue_offset

    def _give_up(self, offset: int, half: StoredMessage, properties: Mapping[str, str], report: RoundReport) -> None:
        self._topics.create_retry(names.TRANS_CHECK_MAX_TIME_TOPIC, 1)
        draft = half.draft(names.TRANS_CHECK_MAX_TIME_TOPIC, 0, properties)
        self._ending.store_outcome(offset, half, draft)
        report.moved += 1


async def _run_logged(do: Callable[[], Awaitable[None]]) -> None:
    try:
        await do()
    except _FAULTS as error:
        log.error("transaction check: %(reason)s", {"reason": error})  # noqa: TRY400 - the text suffices


def _number(text: str | None, most: int) -> int | None:
    """A number in a property; -1 for a text that is none, as Apache has it, and None when the property is missing."""
    if text is None:
        return None
    number = parse_natural_number(text, most)
    return -1 if number is None else number


def _immunity(properties: Mapping[str, str]) -> int | None:
    """For how many ms after its birth a half message is not to be checked; None if it has no such time."""
    seconds = _number(properties.get(property_names.CHECK_IMMUNITY_TIME_IN_SECONDS), INT64_MAX)
    return None if seconds is None or seconds < 0 else seconds * 1000


def _immune(properties: Mapping[str, str], offset: int) -> dict[str, str]:
    """Properties of a copy that is put again unchecked: they name the offset of the first one."""
    name = property_names.TRANSACTION_PREPARED_QUEUE_OFFSET
    return {**properties, name: properties.get(name, str(offset))}
