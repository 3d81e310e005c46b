"""Calls the handler with messages, so many at a time, and sends back what it fails."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable
from typing import Final

from rocketwire.remoting.core.client import CLOSE_SECONDS, ClientCore
from rocketwire.remoting.core.process_queue import ProcessQueue
from rocketwire.remoting.core.session import ClientRequest
from rocketwire.remoting.core.steps import CallHandler, Operation, Signal, Sleep, WaitForSignal
from rocketwire.remoting.errors import RemotingError
from rocketwire.remoting.messages import Later, ReceivedMessage
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.headers.send import ConsumerSendMsgBackRequestHeader

log = logging.getLogger(__name__)

RETRY_SECONDS: Final = 5.0
"""After this a message that could not be sent back is given to the handler again."""


class MessageHandling:
    """The handlers of one push consumer.

    `run_handlers` runs as often beside itself as messages may be handled at a time.

    Args:
        client: The client.
        has_room: Set when a queue that was full may be pulled again.
        max_retries: How often a message that failed is delivered again, before it becomes a dead letter.
    """

    def __init__(self, client: ClientCore, has_room: Signal, *, max_retries: int) -> None:
        self._client = client
        self._has_room = has_room
        self._max_retries = max_retries
        self._ready: deque[tuple[ProcessQueue[ReceivedMessage], ReceivedMessage]] = deque()
        self._idle: deque[Signal] = deque()
        self._busy = 0
        self._drained = client.runtime.new_signal()
        self._is_ending = False

    def add(self, stock: ProcessQueue[ReceivedMessage], messages: Iterable[ReceivedMessage]) -> None:
        """Handle messages of a queue as soon as others are done."""
        for message in messages:
            self._ready.append((stock, message))
            if self._idle:
                self._idle.popleft().set()

    def finish(self) -> Operation[None]:
        """Begin with no more messages, and wait for those that are being handled."""
        self._is_ending = True
        self._ready.clear()
        while self._busy:
            yield WaitForSignal(self._drained)

    def _next(self) -> tuple[ProcessQueue[ReceivedMessage], ReceivedMessage] | None:
        while self._ready and not self._is_ending:
            stock, message = self._ready.popleft()
            if not stock.is_dropped:
                return stock, message
        return None

    def run_handlers(self) -> Operation[None]:
        """Handle one message after the other."""
        signal = self._client.runtime.new_signal()
        while True:
            found = self._next()
            if found is None:
                self._idle.append(signal)
                yield WaitForSignal(signal)
                continue
            stock, message = found
            self._busy += 1
            try:
                done = yield from self._consume(message)
            finally:
                self._busy -= 1
                self._drained.set()
            stock.consumed_at = self._client.runtime.wall()
            if done:
                had_room = stock.has_room
                stock.remove(message.queue_offset)
                if not had_room and not stock.is_dropped:
                    self._has_room.set()

    def _consume(self, message: ReceivedMessage) -> Operation[bool]:
        """Handle a message until it is consumed or sent back; false: the consumer ends before."""
        while True:
            outcome = yield from self.handle_now(message)
            if outcome is None:
                return True
            if isinstance(outcome, Exception):
                log.error("message %s of %s is tried again later", message.message_id, message.topic, exc_info=outcome)
            try:
                yield from self._send_back(message, outcome.delay_level if isinstance(outcome, Later) else 0)
            except RemotingError as error:
                log.warning("message %s of %s could not be sent back: %s", message.message_id, message.topic, error)
                if self._is_ending:
                    return False
                yield Sleep(RETRY_SECONDS)
            else:
                return True

    def handle_now(self, message: ReceivedMessage) -> Operation[Later | Exception | None]:
        """The handler's result for a message."""
        outcome = yield CallHandler(message)
        if outcome is None or isinstance(outcome, Later | Exception):
            return outcome
        return TypeError(f"the handler returned {outcome!r:.100}: None or Later is wanted")

    def _send_back(self, message: ReceivedMessage, delay_level: int) -> Operation[None]:
        fields = ConsumerSendMsgBackRequestHeader(
            offset=message.physical_offset,
            group=self._client.settings.group,
            delay_level=delay_level,
            origin_msg_id=message.offset_message_id,
            origin_topic=message.topic,
            max_reconsume_times=self._max_retries,
        )
        peer = yield from self._client.broker_of(message.queue)
        seconds = CLOSE_SECONDS if self._is_ending else None
        yield from self._client.ask(peer, ClientRequest(RequestCode.CONSUMER_SEND_MSG_BACK, fields), seconds=seconds)
