"""Pulls messages of many queues: one request of each queue waits at its broker, which answers when messages come."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from rocketwire.remoting.core.client import ClientCore
from rocketwire.remoting.core.session import ClientRequest, Response
from rocketwire.remoting.core.steps import Operation, PendingResponse, WaitForSignal, request_later
from rocketwire.remoting.core.subscription import HasTags, matches_tags
from rocketwire.remoting.errors import NotReached, RemotingError, refusal
from rocketwire.remoting.messages import Queue
from rocketwire.remoting.requests import PULLED
from rocketwire.wire.bodies.client import SubscriptionData
from rocketwire.wire.errors import WireError
from rocketwire.wire.facts.codes import PullSysFlag, RequestCode, ResponseCode
from rocketwire.wire.headers import decode_ext
from rocketwire.wire.headers.pull import PullMessageRequestHeader, PullMessageResponseHeader

log = logging.getLogger(__name__)


M = TypeVar("M", bound=HasTags)

HELD_SECONDS: Final = 15.0
"""How long a broker holds a pull that finds nothing."""
_PAUSE: Final = 1.0
"""Seconds before a pull that failed is sent again."""
_LONGER_PAUSE: Final = 3.0
"""The same after a refusal."""


@dataclass(slots=True)
class QueueCursor:
    """The pulls of one queue, of which one at most is on its way.

    Attributes:
        queue: The queue.
        offset: Where the next pull begins.
    """

    queue: Queue
    offset: int
    pending: PendingResponse | None = None
    peer: str = ""
    until: float = 0.0
    """When the pull in flight times out."""
    not_before: float = 0.0
    """When the next pull may be sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedMessages(Generic[M]):
    """The result of one pull.

    Attributes:
        queue: The queue.
        messages: The messages.
        next_offset: Where the next pull begins.
        moved: Whether the offset did not exist: messages were removed, or the queue begins again.
        error: Why there is no result; the pull is sent again later.
    """

    queue: Queue
    messages: list[M] = field(default_factory=list)
    next_offset: int
    moved: bool = False
    error: RemotingError | None = None


class QueueFetcher(Generic[M]):
    """The pulls of one consumer.

    Args:
        client: The client.
        subscriptions: By topic; those of the queues.
        most: Messages of one pull.
        with_subscription: Whether pulls contain the subscription; else heartbeats have sent it.
        decode: Makes messages of the body of an answer from a queue.
        held_seconds: How long a broker holds a pull that finds nothing.
    """

    def __init__(
        self,
        client: ClientCore,
        subscriptions: dict[str, SubscriptionData],
        *,
        most: int,
        with_subscription: bool,
        decode: Callable[[bytes, Queue], Iterable[M]],
        held_seconds: float = HELD_SECONDS,
    ) -> None:
        self.signal = client.runtime.new_signal()
        self._client = client
        self._subscriptions = subscriptions
        self._most = most
        self._with_subscription = with_subscription
        self._decode = decode
        self._held_seconds = held_seconds
        self._lanes: dict[Queue, QueueCursor] = {}

    @property
    def positions(self) -> dict[Queue, int]:
        """Where the next pull of each queue begins."""
        return {queue: lane.offset for queue, lane in self._lanes.items()}

    def seek(self, queue: Queue, offset: int) -> None:
        """Pull a queue from an offset on, also if it was pulled from elsewhere before."""
        self.drop(queue)
        self._lanes[queue] = QueueCursor(queue, offset)
        self.signal.set()

    def drop(self, queue: Queue) -> None:
        """Pull a queue no longer."""
        lane = self._lanes.pop(queue, None)
        if lane is not None and lane.pending is not None:
            lane.pending.forget()

    def fetch(
        self, seconds: float, has_room: Callable[[Queue], bool] = lambda _: True
    ) -> Operation[list[FetchedMessages[M]]]:
        """Pull the queues that have room, and wait for a result; nothing if none comes in time, or `signal` is set."""
        yield from self.send_pulls(has_room)
        found = self._collected()
        if not found:
            yield WaitForSignal(self.signal, min(seconds, self._next_event()))
            found = self._collected()
        return found

    def send_pulls(self, has_room: Callable[[Queue], bool] = lambda _: True) -> Operation[None]:
        """Pull the queues that have room; `fetch` gives the results."""
        for lane in list(self._lanes.values()):
            if self._lanes.get(lane.queue) is not lane:  # dropped while a pull before this one was sent
                continue
            if lane.pending is None and self._now() >= lane.not_before and has_room(lane.queue):
                yield from self._post(lane)

    def _now(self) -> float:
        return self._client.runtime.monotonic()

    def _next_event(self) -> float:
        """Seconds until a pull times out, or may be sent."""
        now = self._now()
        times = [lane.not_before if lane.pending is None else lane.until for lane in self._lanes.values()]
        return min((time - now for time in times if time > now), default=float("inf"))

    def _post(self, lane: QueueCursor) -> Operation[None]:
        try:
            peer = yield from self._client.broker_of(lane.queue)
            pending = yield from request_later(peer, self._request(lane), self.signal)
        except RemotingError as error:
            lane.pending = PendingResponse(self.signal, error=error)
            return
        if self._lanes.get(lane.queue) is not lane:  # dropped meanwhile
            pending.forget()
            return
        lane.peer = str(peer)
        lane.pending = pending
        lane.until = self._now() + self._held_seconds + self._client.settings.timeout

    def _request(self, lane: QueueCursor) -> ClientRequest:
        by = self._subscriptions[lane.queue.topic]
        flags = PullSysFlag.SUSPEND if self._held_seconds else 0
        flags |= PullSysFlag.SUBSCRIPTION if self._with_subscription else 0
        fields = PullMessageRequestHeader(
            consumer_group=self._client.settings.group,
            topic=lane.queue.topic,
            queue_id=lane.queue.queue_id,
            queue_offset=lane.offset,
            max_msg_nums=self._most,
            sys_flag=flags,
            commit_offset=0,
            suspend_timeout_millis=int(self._held_seconds * 1000),
            sub_version=by.sub_version,
            subscription=by.sub_string if self._with_subscription else None,
            expression_type=by.expression_type,
        )
        return ClientRequest(RequestCode.PULL_MESSAGE, fields)

    def _collected(self) -> list[FetchedMessages[M]]:
        """The results that have arrived."""
        found: list[FetchedMessages[M]] = []
        for lane in self._lanes.values():
            pending = lane.pending
            if pending is None:
                continue
            if not pending.done and self._now() >= lane.until:
                pending.forget()
                pending.error = NotReached(lane.peer, "no answer to a pull in time")
            if pending.done:
                lane.pending = None
                found.append(self._result(lane, pending))
        return found

    def _result(self, lane: QueueCursor, pending: PendingResponse) -> FetchedMessages[M]:
        try:
            if pending.answer is None:
                raise pending.error or RemotingError("no answer")
            fetched = self._read(lane, pending.answer)
        except RemotingError as error:
            lane.not_before = self._now() + (_PAUSE if isinstance(error, NotReached) else _LONGER_PAUSE)
            self._client.expire_route(lane.queue.topic)
            return FetchedMessages(queue=lane.queue, next_offset=lane.offset, error=error)
        lane.offset = fetched.next_offset
        return fetched

    def _read(self, lane: QueueCursor, answer: Response) -> FetchedMessages[M]:
        if answer.code not in PULLED:
            raise refusal(lane.peer, answer.code, answer.remark)
        try:
            reached = decode_ext(PullMessageResponseHeader, answer.ext).next_begin_offset
        except WireError as error:
            raise RemotingError(f"{lane.peer}: the answer to a pull is not as it should be: {error}") from error
        messages: list[M] = []
        if answer.code == ResponseCode.SUCCESS:
            by = self._subscriptions[lane.queue.topic]
            messages = [each for each in self._decode(answer.body, lane.queue) if matches_tags(each, by)]
        moved = answer.code == ResponseCode.PULL_OFFSET_MOVED
        return FetchedMessages(queue=lane.queue, messages=messages, next_offset=reached, moved=moved)
