"""Sends by the kernel: what Python decides beforehand, and what it does after the kernel stored a round's messages.

The kernel stores and answers the plain ones. It calls `_plan` once for each topic, queue and sysFlag (and a batch's
properties), and keeps the result until one of its inputs changes. What is not plain goes the general way.
"""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

from rocketwire import native
from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.cache_invalidation import CacheInvalidation
from rocketwire.server.core.errors import ServerError
from rocketwire.server.core.metrics import SEND, Metrics
from rocketwire.server.core.request import Reply
from rocketwire.server.messages.message_writer import KEPT_EACH, MessageWriter
from rocketwire.server.messages.next_tries import GivesBack
from rocketwire.server.messages.page_cache import LEAST_MS, PageCacheGuard
from rocketwire.server.messages.real_queue import with_real_queue
from rocketwire.server.net.session import Session
from rocketwire.server.send.drafts import DirectSend, SendPreparer
from rocketwire.server.send.keys import SendKeys
from rocketwire.server.throttle.bucket import PythonBucket
from rocketwire.server.transactions.half import HALF, OP, OP_PROPERTIES, OP_TAGS_CODE
from rocketwire.store.append.group_commit import GroupCommit
from rocketwire.store.errors import StoreError
from rocketwire.store.queues.consume_queue import ConsumeQueue
from rocketwire.store.store import MessageStore
from rocketwire.wire import names
from rocketwire.wire.errors import WireError
from rocketwire.wire.facts.codes import ResponseCode, SerializeType
from rocketwire.wire.header import encode_header_around_opaque
from rocketwire.wire.headers.send import SendMessageRequestHeader
from rocketwire.wire.send_reply_frames import SendReplyFrames

_TIMER_QUEUE: Final = (names.TIMER_TOPIC, 0)
_NS_PER_MS: Final = 1_000_000
_NS_PER_SECOND: Final = 1_000_000_000


class TimerPlan(NamedTuple):
    """What is done with messages for a set time: the timer's queue, and what `timer.sends.TimerQueueParts` has."""

    queue: ConsumeQueue
    most: int
    behind: bytes
    handle: bytes | None


class WaitingPlan(NamedTuple):
    """What is done with messages that wait for a delay level or for their transaction.

    Attributes:
        behind: The properties of their destination, behind their own, with the separator before them.
        half: The queue of half messages; None: they are for Python.
        levels: The queue of each delay level from 1 on (None: it is made by the first message), and its delay in ms.
    """

    behind: bytes
    half: ConsumeQueue | None
    levels: tuple[tuple[ConsumeQueue | None, int], ...]


class QuotaPlan(NamedTuple):
    """The quotas that sends are under: buckets, what each is of, and for how much messages count (see `factors`)."""

    buckets: tuple[PythonBucket, ...]
    kinds: tuple[str, ...]
    bytes_each: int
    any: int
    ordered: int
    scheduled: int


class SendPlan(NamedTuple):
    """What the kernel does with plain sends to one queue. kernel/send/send_plans.c reads it in this order.

    Attributes:
        queue: Their queue; None when only messages that wait are planned.
        sys_flag: The sysFlag as it is stored.
        tail: The properties behind those of each message of a batch; None: it is no batch.
        waits: Whether their answers wait for the disk.
        timer: For messages for a set time; None: Python takes them.
        quota: Their quotas; None: there are none.
        held: For those that wait for a delay level or for their transaction; None: Python takes them.
    """

    queue: ConsumeQueue | None
    sys_flag: int
    tail: bytes | None
    waits: bool
    timer: TimerPlan | None
    quota: QuotaPlan | None
    held: WaitingPlan | None


class SendBackPlan(NamedTuple):
    """What the kernel does with messages of a topic that a group gives back. kernel/send/send_back.c reads it.

    Attributes:
        counted: What they are counted by.
        limit: How many tries they have.
        topic: The group's retry topic.
        levels: For each delay level its queue (None: its first message makes it), its delay in ms, and the properties
            behind the message's own, before its id.
    """

    counted: tuple[str, str]
    limit: int
    topic: bytes
    levels: tuple[tuple[ConsumeQueue | None, int, bytes], ...]


class OutcomePlan(NamedTuple):
    """The queues of an outcome of a half message. kernel/send/end_transaction.c reads it.

    Attributes:
        queue: The queue that a commit delivers to; None: it is a rollback.
        half: The queue of half messages.
        op: The queue of op messages.
    """

    queue: ConsumeQueue | None
    half: ConsumeQueue
    op: ConsumeQueue


class DecidesTransactions(Protocol):
    """Knows which half messages are undecided."""

    def may_decide(self, offset: int) -> bool:
        """Whether the half message at a queue offset is undecided, and has no copies."""
        ...

    def note_stored(self, offset: int) -> None:
        """Take note that its outcome is stored."""
        ...


class KernelSends:
    """The plain sends of one broker.

    Attributes:
        native: The kernel's part, for its hub, or for calls.
    """

    def __init__(
        self,
        *,
        sending: SendPreparer,
        storing: MessageWriter,
        store: MessageStore,
        answers: SendReplyFrames,
        store_host: bytes,
        keys: LiveGroup[SendKeys],
        metrics: Metrics,
        page_cache: PageCacheGuard,
        flush: GroupCommit | None,
        invalidation: CacheInvalidation,
        send_back: GivesBack | None = None,
        typed: bool = False,
    ) -> None:
        """Make it; with `typed` the caller checks the types of messages. `send_back` takes messages given back."""
        assert native.kernel is not None  # noqa: S101 - the caller has checked it
        self._sending = sending
        self._storing = storing
        self._store = store
        self._answers = answers
        self._keys = keys
        self._metrics = metrics
        self._page_cache = page_cache
        self._flush = flush
        self._send_back = send_back
        self._typed = typed
        self._lacks_timer_queue = False
        self.native = native.kernel.Sends(
            store.log,
            plan=self._plan,
            make_room=store.log.make_room,
            waiting=self._wait,
            slow=self._slow,
            keys=store.index_keys,
            store_host=store_host,
            broker_items=sending.drafts.broker_items.encode(),
            answers=(answers.parts, answers.binary_parts),
            id_prefix=store_host.hex().upper().encode(),
            max_body=0,
        )
        done = Reply().header(0)
        self.native.done = (
            encode_header_around_opaque(done, SerializeType.JSON),
            encode_header_around_opaque(done, SerializeType.ROCKETMQ),
        )
        if send_back is not None:
            self.native.take_back(self._back_plan)
        self.native.deferred = flush is not None
        self.native.slow_ns = LEAST_MS * _NS_PER_MS
        page_cache.on_busy.subscribe(self._stop)
        invalidation.register(self._changed)
        self._changed()

    def _changed(self) -> None:
        self.native.forget()
        self.native.max_body = self._keys.current.max_message_size
        throttle = self._sending.throttle
        self.native.by_group = throttle.by_group
        self.native.refusal = self._answers.refusal_parts(ResponseCode.FLOW_CONTROL, throttle.send_remark)

    def _plan(self, topic: str, queue_id: int, sys_flag: int, batch: str | None, group: str) -> SendPlan | bool | None:
        """What is to be done with such sends. None: they are for Python. False: this one is, for it makes the queue."""
        fields = SendMessageRequestHeader(
            producer_group=group,
            topic=topic,
            default_topic="",
            default_topic_queue_nums=0,
            queue_id=queue_id,
            sys_flag=sys_flag,
            born_timestamp=0,
            flag=0,
            properties=batch,
            batch=batch is not None,
        )
        if not self._sending.drafts.has_topic(topic):  # not kept: making a topic does not have plans forgotten
            return False
        plain = self._sending.drafts.direct_send(fields, typed=self._typed)
        if plain is None:
            return None
        queue = None if plain.is_half else self._store.queues.by_key.get((topic, queue_id))
        timer, held = self._timer_plan(plain), self._waiting_plan(topic, queue_id, plain)
        if queue is None and timer is None and held is None:
            return False
        if queue is not None and queue.delay is not None:
            return None
        quota = self._quota(topic, group, plain.tail)
        return SendPlan(queue, plain.sys_flag, plain.tail, plain.waits_for_flush, timer, quota, held)

    def _quota(self, topic: str, group: str, tail: bytes | None) -> QuotaPlan | None:
        throttle = self._sending.throttle
        quota_set = throttle.send(topic, group) if throttle.sends else None
        if quota_set is None:
            return None
        factors = throttle.conversion.factors(tail or b"", ordered=throttle.is_ordered(topic))
        return QuotaPlan(quota_set.buckets, quota_set.kinds, *factors)

    def _timer_plan(self, plain: DirectSend) -> TimerPlan | None:
        if plain.timer is None:
            return None
        queue = self._store.queues.by_key.get(_TIMER_QUEUE)
        if queue is None:
            self._lacks_timer_queue = True
            return None
        return TimerPlan(queue, *plain.timer)

    def _waiting_plan(self, topic: str, queue_id: int, plain: DirectSend) -> WaitingPlan | None:
        if plain.tail is not None:
            return None
        queues = self._store.queues.by_key
        takes_half = plain.takes_half and not self._typed  # the answers of calls are Python's
        half = queues.get(HALF) if takes_half else None
        delays = () if plain.is_half else self._store.delay_levels
        levels = tuple((queues.get((names.SCHEDULE_TOPIC, number)), delay) for number, delay in enumerate(delays))
        if half is None and not any(queue for queue, _ in levels):
            return None
        return WaitingPlan(with_real_queue(b"x", topic, queue_id)[1:], half, levels)

    def _back_plan(self, group: str, unit_mode: bool, topic: str) -> SendBackPlan | bool | None:  # noqa: FBT001 - as the kernel calls it
        """What is done with messages given back. None: they are for Python. False: this one is, for it is refused."""
        assert self._send_back is not None  # noqa: S101 - else nothing calls this
        try:
            found = self._send_back.next_tries(group, topic, unit_mode=unit_mode)
        except (ServerError, WireError, StoreError):
            return False
        if found is None:
            return None
        queues = self._store.queues.by_key
        levels = enumerate(zip(self._store.delay_levels, found.behind, strict=True))
        return SendBackPlan(
            found.counted,
            found.limit,
            found.topic.encode(),
            tuple((queues.get((names.SCHEDULE_TOPIC, number)), delay, behind) for number, (delay, behind) in levels),
        )

    def serve_outcomes(self, outcomes: DecidesTransactions) -> None:
        """Have the kernel store the outcomes of half messages, too."""
        self.native.take_outcomes(
            self._outcome_plan, outcomes.may_decide, outcomes.note_stored, OP_PROPERTIES, OP_TAGS_CODE
        )

    def _outcome_plan(self, topic: str, queue_id: int) -> OutcomePlan | bool | None:
        """Where messages of committed transactions go; no topic: those of a rollback. None, False: as `_back_plan`."""
        queues = self._store.queues.by_key
        half, op, queue = queues.get(HALF), queues.get(OP), None
        if topic:
            if names.is_system_topic_of_any_version(topic):
                return None
            queue = queues.get((topic, queue_id))
        if half is None or op is None or (topic and queue is None):
            return False
        return OutcomePlan(queue, half, op)

    def before_round(self, now: int, *, guarded: bool) -> None:
        """Decide whether the kernel may store what comes with a store timestamp in ms."""
        busy = self._page_cache.is_busy or (self._flush is not None and self._flush.is_full)
        self.native.enabled = not guarded and not busy and self._store.kernel_may_append_at(now)

    def _stop(self) -> None:
        """Leave the rest of the round to Python, which refuses what waited."""
        self.native.enabled = False

    def after_round(self) -> None:
        """Publish what the kernel stored since the last call: arrivals and metrics."""
        if self._lacks_timer_queue and _TIMER_QUEUE in self._store.queues.by_key:
            self._lacks_timer_queue = False
            self.native.forget()
        metrics = self._metrics
        touched, messages, size, requests, converted, refused, given_back = self.native.take()
        if messages:
            self._store.note_kernel_appends(touched)
            metrics.stored(messages, size)
        for code, count in requests.items():
            metrics.requests[code] += count
        if converted:
            metrics.converted[SEND] += converted
        for kind, count in refused.items():
            metrics.throttled[SEND, kind] += count
        if given_back and self._send_back is not None:
            self._send_back.count_all(given_back)

    def _wait(self, session: Session, answers: bytes, end: int) -> None:
        """Send a read's answers when the disk has the log up to an offset, or answer that it took too long."""
        assert self._flush is not None  # noqa: S101 - else `deferred` is not set

        def write(durable: bool) -> None:  # noqa: FBT001 - as GroupCommit calls it
            late = answers and not durable
            session.write(self._answers.with_code(ResponseCode.FLUSH_DISK_TIMEOUT, answers) if late else answers)
            self._storing.flush_when_answered(session)

        self._flush.wait_durable(end, write, keeps=KEPT_EACH + len(answers))

    def _slow(self, took_ns: int) -> None:
        """Note an append that took so long; those who waited behind it may be refused."""
        self._page_cache.note_append(self._page_cache.now() - took_ns / _NS_PER_SECOND)
