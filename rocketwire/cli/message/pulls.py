"""Pulling the messages of one queue as a consumer does, without committing offsets.

The next pull is sent while the messages of the last one are processed; so at most two answers are held.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from rocketwire.remoting.admin.offsets import end_offsets
from rocketwire.remoting.connection import BlockingConnection, Response
from rocketwire.remoting.errors import refusal
from rocketwire.remoting.pulls import pull_header
from rocketwire.store.offline.read.selected import SelectedMessage, with_properties
from rocketwire.wire.errors import RecordInvalid
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.headers import decode_ext
from rocketwire.wire.headers.pull import PullMessageResponseHeader
from rocketwire.wire.message import decode_record

TOOLS_GROUP: Final = "TOOLS_CONSUMER"
"""The group that RocketMQ's own tools pull with; every broker has it, and no client commits offsets for it."""
PULLED_AT_ONCE: Final = 1024  # the broker takes as many as its settings allow: 32 unless they are changed
_FAREWELL: Final = frozenset(
    {ResponseCode.PULL_NOT_FOUND, ResponseCode.PULL_RETRY_IMMEDIATELY, ResponseCode.PULL_OFFSET_MOVED}
)


class PulledQueueMessages(NamedTuple):
    """One queue of a topic, and the connection to its broker."""

    broker: str
    connection: BlockingConnection
    topic: str
    queue_id: int

    def __str__(self) -> str:
        return f"{self.topic}, broker {self.broker}, queue {self.queue_id}"

    def offsets(self) -> range:
        """From the offset of the oldest message up to, not including, that of the next one."""
        return range(*end_offsets(self.connection, self.topic, [self.queue_id])[self.queue_id])

    def first_at(self, time: int, offsets: range) -> int:
        """The offset of the first message stored at or after a time in ms; the end of the range if there is none.

        Searches by bisection itself, because brokers differ in their answers to a query by time. Store times are
        assumed to rise along the queue.
        """
        low, high = offsets.start, offsets.stop
        while low < high:
            middle = (low + high) // 2
            found = self.message(middle, lambda _: None)
            if found is None or found.message.store_timestamp < time:
                low = middle + 1
            else:
                high = middle
        return low

    def message(self, offset: int, report: Callable[[str], None]) -> SelectedMessage | None:
        """The message at an offset; None when it is gone, or damaged, which `report` gets a line about.

        Raises:
            NotReached, Refused: the broker does not answer, or refuses.
        """
        return next(iter(self.records(self._answer(self._send(offset, most=1)), report)), None)

    def messages(self, offsets: range, report: Callable[[str], None]) -> Iterator[SelectedMessage]:
        """The messages with these offsets, in order; `report` gets a line for what is missing or damaged.

        Raises:
            NotReached, Refused: the broker does not answer, or refuses.
        """
        offset, end = offsets.start, offsets.stop
        waiting = self._send(offset) if offset < end else None
        while waiting is not None:
            answer = self._answer(waiting)
            reached = decode_ext(PullMessageResponseHeader, answer.ext).next_begin_offset
            waiting = self._send(reached) if offset < reached < end else None
            if answer.code == ResponseCode.SUCCESS:
                for one in self.records(answer, report):
                    if one.message.queue_offset < end:
                        yield one
            else:
                gone = min(reached, end) if reached > offset else end
                report(f"{self}: the messages from offset {offset} up to {gone - 1} are gone")
            offset = reached

    def _send(self, offset: int, *, most: int = PULLED_AT_ONCE) -> int:
        fields = pull_header(self.topic, self.queue_id, offset, most=most, group=TOOLS_GROUP)
        return self.connection.send(RequestCode.PULL_MESSAGE, fields)

    def _answer(self, waiting: int) -> Response:
        return self.checked(self.connection.answer(waiting))

    def checked(self, answer: Response) -> Response:
        """The answer to a pull.

        Raises:
            Refused: the broker refuses.
        """
        if answer.code != ResponseCode.SUCCESS and answer.code not in _FAREWELL:
            raise refusal(self.connection.what, answer.code, answer.remark)
        return answer

    def records(self, answer: Response, report: Callable[[str], None]) -> Iterator[SelectedMessage]:
        """The messages in an answer; `report` gets a line about each that is damaged."""
        body = bytes(answer.body)
        at = 0
        while at < len(body):
            size = int.from_bytes(body[at : at + 4], "big")
            try:
                yield with_properties(decode_record(body, at), size)
            except RecordInvalid as error:
                report(f"{self}: a message cannot be read: {error}")
                if not size:
                    return
            at += size
