"""Sending many messages: requests are pipelined, or batched, and what a broker throttles is sent again.

Sends to one queue that must keep their order wait for each other, since brokers work on several requests at once.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from rocketwire.cli.errors import CommandFailed
from rocketwire.cli.message.targets import OutgoingMessage, SendTarget, SendTargets
from rocketwire.remoting.clock import system_clock
from rocketwire.remoting.cluster import BlockingCluster
from rocketwire.remoting.connection import Response
from rocketwire.remoting.core.outgoing import UniqueIds, compressed
from rocketwire.remoting.errors import AccessDenied, refusal
from rocketwire.remoting.requests import STORED, send_request
from rocketwire.wire.batch import BatchItem, encode_batch
from rocketwire.wire.facts.codes import ResponseCode
from rocketwire.wire.facts.properties import DELAY, TIMER_DELAY_MS, TIMER_DELAY_SEC, TIMER_DELIVER_MS
from rocketwire.wire.names import RETRY_PREFIX
from rocketwire.wire.properties import encode_properties

PRODUCER_GROUP: Final = "TOOLS_PRODUCER"
"""The producer group of the commands, as a broker's traces and back-checks would name it."""
_THROTTLED: Final = frozenset({ResponseCode.SYSTEM_BUSY, ResponseCode.FLOW_CONTROL})
_WINDOW: Final = 512
_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 2.0
_IDLE_SECONDS: Final = 60.0
_PATIENCE_SECONDS: Final = 60.0
"""So long a broker may throttle everything."""
_BATCH_BYTES: Final = 1 << 20
_DELAYS: Final = frozenset({DELAY, TIMER_DELIVER_MS, TIMER_DELAY_MS, TIMER_DELAY_SEC})
"""Properties of messages that are delivered later; brokers take none of them in a batch."""


class SentMessage(NamedTuple):
    """A message that a broker has stored; `code` is not 0 if it is not on disk, or not on the slave, yet."""

    message: OutgoingMessage
    broker: str
    queue_id: int
    offset: int
    offset_message_id: str
    code: int

    @property
    def is_delayed(self) -> bool:
        """Whether the message waits: then queue and offset are not those at which its consumers will find it."""
        return not _DELAYS.isdisjoint(self.message.properties)


class FailedSend(NamedTuple):
    """A message that a broker refused, and why."""

    message: OutgoingMessage
    reason: str


@dataclass(slots=True)
class _Parcel:
    """One request."""

    messages: list[OutgoingMessage]
    target: SendTarget
    opaque: int = 0
    sent_at: float = 0.0


@dataclass(slots=True)
class _Filling:
    """A batch to which more messages may come."""

    messages: list[OutgoingMessage] = field(default_factory=list)
    size: int = 0


class MessageSender:
    """Sends messages through a cluster.

    Args:
        batch: So many messages at most go into one request.
        ordered: Whether messages for one queue must keep their order.
        say: Gets a line when a broker throttles.
        on_new_topic: As of `SendTargets`.
    """

    def __init__(
        self,
        cluster: BlockingCluster,
        *,
        batch: int = 1,
        ordered: bool = False,
        say: Callable[[str], None],
        on_new_topic: Callable[[str], None] | None = None,
    ) -> None:
        self._targets = SendTargets(cluster, on_new_topic=on_new_topic)
        self._ids = UniqueIds(cluster.own_host, os.getpid(), os.urandom(4), system_clock)
        self._batch = batch
        self._ordered = ordered
        self._say = say
        self._window = float(_WINDOW)
        self._waiting: deque[_Parcel] = deque()
        self._again: deque[_Parcel] = deque()
        self._filling: dict[SendTarget, _Filling] = defaultdict(_Filling)
        self._pause = _FIRST_PAUSE
        self._paused_until = 0.0
        self._throttled_since: float | None = None
        self._used = time.monotonic()
        self.throttled = 0

    @property
    def unanswered(self) -> int:
        """How many messages were sent, or should have been, whose fate is not known."""
        parcels = (*self._waiting, *self._again)
        return sum(len(parcel.messages) for parcel in parcels) + sum(len(f.messages) for f in self._filling.values())

    def send(self, messages: Iterable[OutgoingMessage | None]) -> Iterator[SentMessage | FailedSend]:
        """Send messages; None stands for a pause in them: all before it are sent, and their answers awaited.

        Raises:
            NoSuchTopic, Unsuccessful: there is no such topic or queue; a broker throttles everything for a minute.
            NotReached, AccessDenied: a broker does not answer, or denies access.
        """
        for each in messages:
            if each is None:
                yield from self._all_done()
                continue
            self._renew_after_a_pause()
            message = each.with_id(self._ids)
            target = self._targets.of(message, stay=bool(self._filling))
            # Either all messages of a target go alone or none: the command's options delay all of its messages.
            alone = message.topic.startswith(RETRY_PREFIX) or not _DELAYS.isdisjoint(message.properties)
            filling = self._filling[target]
            filling.messages.append(message)
            filling.size += len(message.body)
            if alone or len(filling.messages) >= self._batch or filling.size >= _BATCH_BYTES:
                yield from self._flush(target)
        yield from self._all_done()

    def _renew_after_a_pause(self) -> None:
        """Connect again if no message came for long: brokers close connections that are idle for two minutes."""
        now = time.monotonic()
        if now - self._used > _IDLE_SECONDS and not self.unanswered:
            self._targets.renew()
        self._used = now

    def _flush(self, target: SendTarget) -> Iterator[SentMessage | FailedSend]:
        messages = self._filling.pop(target).messages
        while self._again or len(self._waiting) >= self._window or (self._ordered and self._is_busy(target)):
            yield from self._oldest_done()
        self._post(_Parcel(messages, target))

    def _is_busy(self, target: SendTarget) -> bool:
        return any(parcel.target == target for parcel in (*self._waiting, *self._again))

    def _all_done(self) -> Iterator[SentMessage | FailedSend]:
        for target in list(self._filling):
            yield from self._flush(target)
        while self._waiting or self._again:
            yield from self._oldest_done()

    def _post(self, parcel: _Parcel) -> None:
        target, first = parcel.target, parcel.messages[0]
        properties, sys_flag = None, 0
        if len(parcel.messages) > 1:
            items = (BatchItem(m.flag, m.body, encode_properties(m.properties).encode()) for m in parcel.messages)
            body = encode_batch(items)
        else:
            properties = encode_properties(first.properties)
            body, sys_flag = compressed(first.body)
        request = send_request(
            target.topic,
            target.queue_id,
            body,
            group=PRODUCER_GROUP,
            born_timestamp=system_clock(),
            properties=properties,
            flag=first.flag,
            sys_flag=sys_flag,
            reconsume_times=first.reconsume_times,
        )
        parcel.sent_at = time.monotonic()
        parcel.opaque = target.connection.send(request)
        self._waiting.append(parcel)

    def _oldest_done(self) -> Iterator[SentMessage | FailedSend]:
        if not self._waiting:
            # What was throttled goes before anything new.
            time.sleep(max(0.0, self._paused_until - time.monotonic()))
            while self._again and len(self._waiting) < self._window:
                self._post(self._again.popleft())
        parcel = self._waiting[0]
        answer = parcel.target.connection.answer(parcel.opaque)
        self._waiting.popleft()
        if answer.code in STORED:
            self._throttled_since, self._pause = None, _FIRST_PAUSE
            self._window = min(_WINDOW, self._window + 1)
            yield from _stored(parcel, answer)
        elif answer.code in _THROTTLED:
            self._back_off(parcel, answer)
        else:
            error = refusal(parcel.target.connection.what, answer.code, answer.remark)
            if isinstance(error, AccessDenied):
                raise error
            yield from (FailedSend(message, str(error)) for message in parcel.messages)

    def _back_off(self, parcel: _Parcel, answer: Response) -> None:
        """Keep what was throttled for later; all that was sent before the same pause counts as one refusal.

        Raises:
            Unsuccessful: nothing was stored for a minute.
        """
        now = time.monotonic()
        self._again.append(parcel)
        self.throttled += len(parcel.messages)
        reason = refusal(parcel.target.connection.what, answer.code, answer.remark)
        if self._throttled_since is None:
            self._throttled_since = now
            self._say(f"{reason}; sending more slowly")
        elif now - self._throttled_since > _PATIENCE_SECONDS:
            raise CommandFailed(f"{reason}; nothing was stored for {_PATIENCE_SECONDS:g} s") from reason
        if parcel.sent_at >= self._paused_until:
            self._paused_until = now + self._pause
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)
            self._window = max(1.0, self._window / 2)


def _stored(parcel: _Parcel, answer: Response) -> Iterator[SentMessage]:
    first, queue_id = int(answer.ext["queueOffset"]), int(answer.ext["queueId"])
    ids = answer.ext["msgId"].split(",")
    for number, message in enumerate(parcel.messages):
        place = ids[number] if number < len(ids) else ""
        yield SentMessage(message, parcel.target.broker, queue_id, first + number, place, answer.code)
