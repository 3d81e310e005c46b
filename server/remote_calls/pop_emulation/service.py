"""POP at brokers that have none (4.9): the proxy carries out its requests.

A message that is not acknowledged in time is redelivered from the proxy's memory, with one more try: to send it back to
the broker would store it again each time, and would be late, by the broker's levels. So the broker does not count these
tries; when the proxy dies, they begin again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from secrets import token_hex
from typing import Any, Final

import trio

from rocketwire.remoting.core.session import Response
from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.remote_calls.groups import RemoteGroups
from rocketwire.server.remote_calls.pop_emulation.group import CLIENT_PREFIX, GroupAtBroker, QueueMessages
from rocketwire.server.remote_calls.pop_emulation.group_rpc import GroupRpc
from rocketwire.server.remote_calls.pop_emulation.queue import PulledQueue
from rocketwire.server.remote_calls.topics import RemoteTopics
from rocketwire.server.topics.topics import MOST_QUEUES
from rocketwire.server.upstream.broker_connection import OnAnswer
from rocketwire.server.upstream.connecting import UpstreamConnectionError
from rocketwire.server.upstream.connection_pool import ConnectionPool
from rocketwire.wire.bodies import decode_body
from rocketwire.wire.bodies.online import ResetOffsetBody
from rocketwire.wire.bodies.pop import BatchAck, BatchAckMessageRequestBody, decode_bit_set
from rocketwire.wire.errors import WireError
from rocketwire.wire.facts.codes import Permission, PopResponseCode, ResponseCode
from rocketwire.wire.headers import encode_ext
from rocketwire.wire.headers.online import ResetOffsetRequestHeader
from rocketwire.wire.headers.pop import (
    AckMessageRequestHeader,
    ChangeInvisibleTimeRequestHeader,
    ChangeInvisibleTimeResponseHeader,
    PopMessageRequestHeader,
    PopMessageResponseHeader,
)
from rocketwire.wire.names import retry_topic
from rocketwire.wire.pop_handle import (
    KIND_NORMAL,
    KIND_RETRY,
    PoppedQueue,
    decode_pop_handle,
    encode_message_offset_info,
    encode_start_offset_info,
)

EMULATED_REVIVE_QUEUE: Final = 998
"""The revive queue in handles of messages that were pulled here."""
_REMEMBERED_SECONDS: Final = 60.0
_CLOSE_SECONDS: Final = 3.0


class PopEmulation:
    """Carries out POP.

    Args:
        topics: The cluster's topics and brokers.
        groups: Its groups.
        pool: The connections that all calls share.
        clock: The time of handles.

    Attributes:
        client_id: By which this server is a member of its groups at brokers.
    """

    def __init__(self, topics: RemoteTopics, groups: RemoteGroups, pool: ConnectionPool, clock: Clock) -> None:
        self._topics = topics
        self._known_groups = groups
        self._pool = pool
        self._clock = clock
        self.client_id = CLIENT_PREFIX + token_hex(8)
        self._without: dict[str, float] = {}
        self._groups: dict[tuple[str, str], GroupAtBroker] = {}

    async def run(self) -> None:
        """Release all queues at the end, so that another proxy has them at once; never returns."""
        try:
            await trio.sleep_forever()
        finally:
            if self._groups:
                with trio.move_on_after(_CLOSE_SECONDS, shield=True):
                    await self._leave()

    async def _leave(self) -> None:
        pool = self._pool.with_new_connections()  # the others are closed by now
        async with trio.open_nursery() as nursery:
            nursery.start_soon(pool.run)
            async with trio.open_nursery() as leaving:
                for (broker, group), each in self._groups.items():
                    leaving.start_soon(each.leave, self._rpc(pool, broker, group))
            nursery.cancel_scope.cancel()

    # --- which brokers

    def lacks_pop(self, broker: str) -> bool:
        """Whether a broker has answered within the last minute that it has no POP."""
        return trio.current_time() < self._without.get(broker, 0)

    def note_lacks_pop(self, broker: str) -> None:
        """Note that a broker has no POP."""
        self._without[broker] = trio.current_time() + _REMEMBERED_SECONDS

    # --- receives

    def pop(self, broker: str, header: PopMessageRequestHeader, done: OnAnswer) -> None:
        """Give messages, or wait for them."""
        if not self._pool.start(self._pop, broker, header, done):
            done(UpstreamConnectionError("the proxy stops"))

    async def _pop(self, broker: str, header: PopMessageRequestHeader, done: OnAnswer) -> None:
        deadline = trio.current_time() + header.poll_time / 1000
        try:
            if not await self._topics.load(header.topic) or not self._queues(broker, header.topic):
                text = f"topic[{header.topic}] not exist, apply first please!"
                done(Response(ResponseCode.TOPIC_NOT_EXIST, text, {}, b""))
                return
        except UpstreamConnectionError as error:
            done(error)
            return
        group = self._group(broker, header.consumer_group)
        while True:
            group.note_receive(header)
            changed = group.changed
            taken = group.take(header)
            if taken:
                done(self._pop_response(header, taken))
                return
            if group.failure is not None:
                done(group.failure)
                return
            until = deadline
            due = group.next_due()
            if due is not None:
                until = min(until, trio.current_time() + max(1, due - self._clock()) / 1000)
            with trio.move_on_at(until):
                await changed.wait()
            if trio.current_time() >= deadline:
                done(Response(PopResponseCode.POLLING_TIMEOUT, "no new message", {}, b""))
                return

    def _pop_response(self, header: PopMessageRequestHeader, taken: Iterable[QueueMessages]) -> Response:
        popped, records = [], []
        pop_time = self._clock()
        for queue, messages in taken:
            kind = KIND_NORMAL if queue.topic == header.topic else KIND_RETRY
            offsets = sorted(each.offset for each in messages)
            popped.append(PoppedQueue(kind, queue.queue_id, offsets[0], offsets))
            records += [each.record() for each in messages]
            pop_time = messages[0].pop_time
        fields = PopMessageResponseHeader(
            pop_time=pop_time,
            invisible_time=header.invisible_time,
            revive_qid=EMULATED_REVIVE_QUEUE,
            start_offset_info=encode_start_offset_info(popped),
            msg_offset_info=encode_message_offset_info(popped),
        )
        return Response(ResponseCode.SUCCESS, "FOUND", encode_ext(fields), b"".join(records))

    def _group(self, broker: str, name: str) -> GroupAtBroker:
        group = self._groups.get((broker, name))
        if group is None:
            group = self._groups[broker, name] = GroupAtBroker(
                name,
                self._rpc(self._pool, broker, name),
                client_id=self.client_id,
                clock=self._clock,
                queues_of=lambda topic: self._queues(broker, topic, name),
            )
            self._pool.start(self._run, broker, name, group)
        return group

    async def _run(self, broker: str, name: str, group: GroupAtBroker) -> None:
        try:
            await group.run()
        finally:
            del self._groups[broker, name]

    def _rpc(self, pool: ConnectionPool, broker: str, group: str) -> GroupRpc:
        address: Callable[[], Any] = lambda: self._topics.address(broker)  # noqa: E731 - it may move
        return GroupRpc(pool, address, broker=broker, group=group, client_id=self.client_id)

    def _queues(self, broker: str, topic: str, group: str = "") -> int:
        """How many queues of a topic are read at a broker."""
        if group and topic == retry_topic(group):
            config = self._known_groups.get(group)
            return 1 if config is None else min(config.retry_queue_nums, MOST_QUEUES)
        for share in self._topics.shares(topic):
            if share.broker == broker and share.config.perm & Permission.READ:
                return share.config.read_queue_nums
        return 0

    # --- outcomes

    def acknowledge(self, broker: str, header: AckMessageRequestHeader, done: OnAnswer) -> None:
        """Forget a message that was consumed."""
        handle = decode_pop_handle(header.extra_info)
        topic = _read_topic(handle.kind, header.topic, header.consumer_group)
        done(self._settled(broker, header.consumer_group, topic, header.queue_id, [header.offset], handle.pop_time))

    def acknowledge_batch(self, broker: str, body: BatchAckMessageRequestBody, done: OnAnswer) -> None:
        """Likewise several."""
        answers = [
            self._settled(
                broker,
                each.consumer_group,
                _read_topic(each.retry, each.topic, each.consumer_group),
                each.queue_id,
                list(_offsets(each)),
                each.pop_time,
            )
            for each in body.acks
        ]
        done(next((each for each in answers if each.code), _ACKNOWLEDGED))

    def _settled(
        self, broker: str, group: str, topic: str, queue_id: int, offsets: Iterable[int], pop_time: int
    ) -> Response:
        found = self._queue(broker, group, topic, queue_id)
        if found is None:
            return _UNKNOWN
        at_broker, queue = found
        now = self._clock()
        good = [queue.acknowledge(offset, pop_time, now) for offset in offsets]
        at_broker.commit_soon()
        return _ACKNOWLEDGED if all(good) else _UNKNOWN

    def change(self, broker: str, header: ChangeInvisibleTimeRequestHeader, done: OnAnswer) -> None:
        """Make a message visible at another time."""
        handle = decode_pop_handle(header.extra_info)
        topic = _read_topic(handle.kind, header.topic, header.consumer_group)
        found = self._queue(broker, header.consumer_group, topic, header.queue_id)
        now = self._clock()
        each = None if found is None else found[1].find(header.offset, handle.pop_time, now)
        if found is None or each is None:
            done(_UNKNOWN)
            return
        group, queue = found
        queue.change(each, now, header.invisible_time, counts=not header.suspend)
        group.wake()
        fields = ChangeInvisibleTimeResponseHeader(
            pop_time=each.pop_time, invisible_time=header.invisible_time, revive_qid=EMULATED_REVIVE_QUEUE
        )
        done(Response(ResponseCode.SUCCESS, None, encode_ext(fields), b""))

    # --- resets

    def reset(self, client: object, broker: str, header: ResetOffsetRequestHeader, body: bytes) -> None:
        """Set a group to the offsets that a broker sends to one of its clients (220).

        Raises:
            BodyInvalid: the offsets cannot be read; only C++ clients get them as a list.
        """
        group = self._groups.get((broker, header.group))
        if group is not None:
            offsets = decode_body(ResetOffsetBody, body, lenient_limit=None, most_entries=None).offset_table
            mine = {queue.queue_id: offset for queue, offset in offsets.items() if queue.topic == header.topic}
            group.reset(client, header.topic, body, mine)

    def _queue(self, broker: str, group: str, topic: str, queue: int) -> tuple[GroupAtBroker, PulledQueue] | None:
        at_broker = self._groups.get((broker, group))
        found = None if at_broker is None else at_broker.queues.get((topic, queue))
        return None if at_broker is None or found is None else (at_broker, found)


_ACKNOWLEDGED: Final = Response(ResponseCode.SUCCESS, None, {}, b"")
_UNKNOWN: Final = Response(ResponseCode.NO_MESSAGE, "the delivery is over, or is not of this proxy", {}, b"")


def is_emulated_handle(extra_info: str) -> bool:
    """Whether a handle is of a message that was pulled by a proxy."""
    try:
        return decode_pop_handle(extra_info).revive_queue == EMULATED_REVIVE_QUEUE
    except WireError:
        return False


def _read_topic(kind: str, topic: str, group: str) -> str:
    """The topic that a message was read from: retried ones are in the group's own topic, as 4.9 has it."""
    return retry_topic(group) if kind == KIND_RETRY else topic


def _offsets(ack: BatchAck) -> Iterator[int]:
    return (ack.start_offset + bit for bit in decode_bit_set(ack.bit_set))
