"""Pulls and offset updates in the kernel: the plans and answers that Python gives it.

The kernel answers pulls that find messages: without a filter, by the tags codes of the queue's entries, or by an SQL
filter, which Python evaluates once for each combination of property values. Python makes all decisions and serves all
other pulls (see `checks` and `handlers`), and those that quotas may refuse.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Final, Literal, NamedTuple, TypeAlias

from rocketwire.server.core.errors import ServerError, response_code
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.core.request import Peer, Reply, held_request
from rocketwire.server.filters import EVERYTHING, MessageFilter
from rocketwire.server.offsets.consumed import may_commit
from rocketwire.server.pull.answers import PullAnswers, PullSpec
from rocketwire.server.pull.long_poll import HeldPull
from rocketwire.server.pull.services import PullServices, filter_of_pull
from rocketwire.store.errors import StoreError
from rocketwire.store.queues.consume_queue import ConsumeQueue
from rocketwire.store.read.fetch import FetchResult, FetchStatus
from rocketwire.store.store import MessageStore
from rocketwire.wire.facts.codes import MAX_FRAME_LENGTH, PullSysFlag, SerializeType
from rocketwire.wire.header import encode_header_around_opaque
from rocketwire.wire.headers.pull import PullMessageRequestHeader


class _Account(NamedTuple):
    """The group and topic of a plan, and the request to hold when a pull has to wait."""

    group: str
    topic: str
    queue_id: int
    most: int
    most_bytes: int | None
    wanted: MessageFilter


#: Placeholders for the numbers of an answer, which the kernel writes.
_NEXT, _MIN, _MAX = (digit * 1_111_111_111_111_111_111 for digit in (1, 2, 3))
_LENGTH: Final = struct.Struct(">i")
_FLAG_SIZE: Final = 4
_TYPES: Final = (SerializeType.JSON, SerializeType.ROCKETMQ)


class PropertyFilter(NamedTuple):
    """A filter by properties: their names, the function that decides on values, and bytes examined in one pull."""

    properties: tuple[bytes, ...]
    matches: Callable[[bytes], bool]
    most_text: int


class PullPlan(NamedTuple):
    """How the kernel serves pulls that differ in their offsets only. kernel/pull/pull_plans.c reads it in this order.

    Attributes:
        queue: Their queue.
        codes: Tags codes that pass; None: all.
        by_properties: The filter by properties; None: without one.
        most: Messages of an answer.
        memory: This and the next four are those of `FetchLimits`.
        account: The group and topic to count for.
    """

    queue: ConsumeQueue
    codes: list[int] | None
    by_properties: PropertyFilter | None
    most: int
    memory: int
    count_in_memory: int
    bytes_in_memory: int
    count_on_disk: int
    bytes_on_disk: int
    account: _Account


class KernelPulls:
    """The kernel's `Pulls` of one broker.

    Attributes:
        native: The kernel's object, to which the hub offers frames.
    """

    def __init__(self, kernel: ModuleType, services: PullServices, store: MessageStore) -> None:
        self._services = services
        self._store = store
        self._most_properties: int = kernel.FILTER_NAMES_MOST
        self.native = kernel.Pulls(
            store.log,
            plan=self._plan,
            plan_offset=self._plan_offset,
            commit=services.offsets.commit,
            hold=self._hold,
            texts=answer_texts(services.pull_answers),
            max_frame=MAX_FRAME_LENGTH,
        )
        services.invalidation.register(self.native.forget, subscriptions=True)

    def before_round(self, _now: int, *, guarded: bool) -> None:
        """Enable or disable answers by the kernel for this round."""
        self.native.enabled = not guarded

    def after_round(self) -> None:
        """Count what was served since the last call."""
        services = self._services
        delivered, requests = self.native.take()
        for account, messages, size, pulls in delivered:
            services.metrics.delivered(messages, size, pulls)
            services.deliveries.add((account.group, account.topic), messages, size, pulls)
        for code, count in requests.items():
            if count:
                services.metrics.requests[code] += count

    def _plan(
        self,
        group: str,
        topic: str,
        queue_id: int,
        sys_flag: int,
        sub_version: int,
        subscription: str | None,
        expression_type: str | None,
        max_msg_nums: int,
        max_msg_bytes: int | None,
    ) -> PullPlan | Literal[False] | None:
        """The plan for pulls with these fields; None: Python serves them; False: Python serves this one."""
        services = self._services
        throttle = services.throttle
        if throttle.colds or (throttle.receives and throttle.receive(topic, group) is not None):
            return None
        if sys_flag & PullSysFlag.COMMIT_OFFSET and not may_commit(group):
            return None
        fields = PullMessageRequestHeader(
            consumer_group=group,
            topic=topic,
            queue_id=queue_id,
            queue_offset=0,
            max_msg_nums=max_msg_nums,
            sys_flag=sys_flag,
            commit_offset=0,
            suspend_timeout_millis=0,
            sub_version=sub_version,
            subscription=subscription,
            expression_type=expression_type,
            max_msg_bytes=max_msg_bytes,
        )
        try:
            wanted = filter_of_pull(services, fields, "")
        except (ServerError, StoreError):  # Python raises it again when it serves the pull
            return False
        by_properties = None
        if wanted.by_properties is not None:
            properties = wanted.properties
            if properties is None or len(properties) > self._most_properties or wanted.by_code is not None:
                return None
            names = tuple(map(str.encode, properties))
            by_properties = PropertyFilter(names, wanted.by_properties, wanted.most_text)
        queue = self._store.queues.by_key.get((topic, queue_id))
        if queue is None:
            return False
        most, most_bytes = services.pull_answers.most(max_msg_nums, max_msg_bytes)
        limits = self._store.limits(most_bytes)
        return PullPlan(
            queue,
            None if wanted.codes is None else list(wanted.codes),
            by_properties,
            most,
            limits.memory,
            limits.count_in_memory,
            limits.bytes_in_memory,
            limits.count_on_disk,
            limits.bytes_on_disk,
            _Account(group, topic, queue_id, max_msg_nums, max_msg_bytes, wanted),
        )

    def _hold(
        self, peer: Peer, account: _Account, offset: int, requested_ms: int, code: int, opaque: int, serialize_type: int
    ) -> None:
        """Hold a pull at the end of its queue until a message arrives or its time is up."""
        group, topic, queue_id, most, most_bytes, wanted = account
        spec = PullSpec(topic, queue_id, offset, offset == 0, most, most_bytes, wanted)
        request = held_request(peer, code, opaque, serialize_type)
        services = self._services
        pull = HeldPull(request, group=group, offset=offset)
        try:
            services.long_poll.hold(pull, spec, services.pull_answers.held_seconds(requested_ms))
        except LimitExceeded as error:
            peer.limited(error)
            peer.reply(request, Reply(code=response_code(error), remark=str(error), ext={}))
            peer.flush()

    def _plan_offset(self, group: str, _topic: str) -> bool:
        """Whether offset updates of a group need no check."""
        return may_commit(group)


# --- texts of answers, as Python encodes them ---

_Parts: TypeAlias = tuple[bytes, ...]
_Texts: TypeAlias = tuple[tuple[_Parts, ...], ...]


def answer_texts(answers: PullAnswers) -> _Texts:
    """The answers to pulls that found messages, to pulls without a match, and to offset updates."""
    statuses = (FetchStatus.FOUND, FetchStatus.NO_MATCHED_MESSAGE)
    spec = PullSpec("", 0, 0, True, 0, None, EVERYTHING)  # noqa: FBT003 - positions are faster, where pulls are served
    replies = [answers.reply(spec, FetchResult(status, _NEXT, _MIN, _MAX)) for status in statuses]
    return (
        *((_json_parts(reply), _binary_parts(reply)) for reply in replies),
        tuple(encode_header_around_opaque(Reply(ext={}).header(0), each) for each in _TYPES),
    )


def _cut(text: bytes, marks: Iterable[bytes]) -> list[bytes]:
    """The parts of a text before, between and after some marks."""
    parts = []
    for mark in marks:
        part, _, text = text.partition(mark)
        parts.append(part)
    return [*parts, text]


def _json_parts(reply: Reply) -> _Parts:
    before, after = encode_header_around_opaque(reply.header(0), SerializeType.JSON)
    return (*_cut(before, (b"%d" % number for number in (_NEXT, _MIN, _MAX))), after)


def _binary_parts(reply: Reply) -> _Parts:
    before, after = encode_header_around_opaque(reply.header(0), SerializeType.ROCKETMQ)
    texts = [b"%d" % number for number in (_NEXT, _MIN, _MAX)]
    first, second, third, _ = _cut(after, (_LENGTH.pack(len(text)) + text for text in texts))
    length_at = _FLAG_SIZE + _LENGTH.size + len(reply.remark or "")
    return before, first[:length_at], first[length_at + _LENGTH.size :], second, third
