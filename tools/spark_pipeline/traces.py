"""What clients report of messages to the trace topic, as Java's clients do it: in the background, many at a time."""

from __future__ import annotations

import queue
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Final, Self

from rocketwire.remoting import Message, Producer, ReceivedMessage, SendResult
from rocketwire.remoting.clock import system_clock
from rocketwire.wire.names import TRACE_TOPIC
from rocketwire.wire.trace import CONSUME_RESULTS, FIELD_SEP, REPORT_SEP

_AT_ONCE: Final = 100
_PAUSE: Final = 0.2
_SUCCESS: Final = CONSUME_RESULTS.index("success")
_EXCEPTION: Final = CONSUME_RESULTS.index("exception")
_FAILED: Final = CONSUME_RESULTS.index("failed")


class Consumption:
    """How a group does with a message."""

    def __init__(self) -> None:
        self.result = _EXCEPTION

    def ends(self, *, well: bool) -> None:
        """Set how it ended; else it counts as an exception."""
        self.result = _SUCCESS if well else _FAILED


class Tracer:
    """Takes reports from any thread, and sends them until the block ends."""

    def __init__(self, name_servers: str) -> None:
        self._producer = Producer("tracers", name_servers)
        self._reports: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        """Begin."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Send the rest."""
        self._over.set()
        self._thread.join()
        self._producer.close()

    def sent(self, group: str, message: Message, result: SendResult, began: int) -> None:
        """Report that a producer of a group sent a message; it began at that time, in ms since 1970."""
        keys = " ".join(message.keys)
        head = ("Pub", began, "DefaultRegion", group, message.topic, result.message_id, message.tags, keys)
        tail = ("", len(message.body), system_clock() - began, 0, result.offset_message_id, "true")
        self._report(*head, *tail)

    @contextmanager
    def consuming(self, group: str, message: ReceivedMessage) -> Iterator[Consumption]:
        """Report that a group is given a message, and how that ended."""
        request, keys, began = uuid.uuid4().hex, " ".join(message.keys), system_clock()
        self._report(
            "SubBefore", began, "null", group, request, message.message_id, message.reconsume_times, keys or "null"
        )
        consumption = Consumption()
        try:
            yield consumption
        finally:
            result, ended = consumption.result, system_clock()
            done = "true" if result == _SUCCESS else "false"
            self._report("SubAfter", request, message.message_id, ended - began, done, keys, result, ended, group)

    def _report(self, *fields: object) -> None:
        self._reports.put(FIELD_SEP.join(map(str, fields)) + REPORT_SEP)

    def _run(self) -> None:
        while not self._over.wait(_PAUSE) or not self._reports.empty():
            while not self._reports.empty():
                count = min(_AT_ONCE, self._reports.qsize())
                body = "".join(self._reports.get() for _ in range(count))
                self._producer.send(Message(TRACE_TOPIC, body.encode()))
