"""The dependencies of POP's handlers, and the requests that they have wait."""

from __future__ import annotations

from dataclasses import dataclass

from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.clocks.waiting import DueTime
from rocketwire.server.core.metrics import RECEIVE
from rocketwire.server.core.request import Reply
from rocketwire.server.filters import EVERYTHING, MessageFilter, selection
from rocketwire.server.filters.keys import FilterKeys
from rocketwire.server.limits.keys import LimitKeys
from rocketwire.server.pop.acks import Acks
from rocketwire.server.pop.checks import PopChecks
from rocketwire.server.pop.ordered import PopQueue
from rocketwire.server.pop.peeking import Peeking
from rocketwire.server.pop.polls import ANY_QUEUE, Polls
from rocketwire.server.pop.pop_reader import PopReader, PopSpec
from rocketwire.server.pop.pop_result import PopResult
from rocketwire.server.pop.pop_topics import PopTopics
from rocketwire.server.pop.records import check_invisible_time
from rocketwire.server.pop.reviving.resetting import OffsetResetter
from rocketwire.server.throttle.throttle import Throttle
from rocketwire.wire.facts.codes import PopResponseCode, ResponseCode
from rocketwire.wire.headers.pop import (
    NotificationRequestHeader,
    NotificationResponseHeader,
    PopMessageRequestHeader,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PopServices:
    """The dependencies of serving POP.

    Attributes:
        polls: Pops that wait.
        notifications: Notifications that wait.
    """

    acks: Acks
    broker_name: str
    checks: PopChecks
    clock: Clock
    due_time: DueTime
    filter_keys: LiveGroup[FilterKeys]
    limit_keys: LiveGroup[LimitKeys]
    notifications: Polls
    peeking: Peeking
    polls: Polls
    pop_topics: PopTopics
    resets: OffsetResetter
    reader: PopReader
    throttle: Throttle

    def wanted(self, expression: str | None, expression_type: str | None) -> MessageFilter:
        """The filter of a request.

        Raises:
            ServerError: the expression cannot be parsed, or is not evaluated.
        """
        if not expression:
            return EVERYTHING
        most = self.limit_keys.current.max_heartbeat_bytes
        return selection.filter_of_request(self.filter_keys.current, expression, expression_type, most_bytes=most)

    def make_spec(self, fields: PopMessageRequestHeader, remote: str, account: str = "") -> PopSpec:
        """A pop of an account that is served, unless it is over a quota; `remote` is its address, for a refusal.

        Raises:
            ServerError: it is not served.
        """
        group, topic, checks = fields.consumer_group, fields.topic, self.checks
        checks.pop(group, topic, fields.queue_id, fields.max_msg_nums, remote)
        spec = PopSpec(fields, self.wanted(fields.exp, fields.exp_type), account=account)
        check_invisible_time(fields.invisible_time, checks.timer_keys.current.timer_max_delay_sec, least=1)
        self.pop_topics.check_retry(topic, group)
        self.pop_topics.create_own()
        self.resets.note_pop(topic, group)
        return spec

    def may_find(self, topic: str, group: str) -> bool:
        """Whether there may be messages for a pop of a group that reads all queues."""
        own = self.checks.topics.get(topic)
        may_find = self.reader.may_find
        return (own is not None and may_find(own, group)) or any(
            may_find(each, group) for each in self.pop_topics.retry_topics(topic, group, 0)
        )

    def take(self, spec: PopSpec) -> PopResult:
        """What a pop gets now; others that wait are tried if there is more.

        Raises:
            LimitExceeded, QueueBusy: see `PopReader.take`.
        """
        taken = self.reader.take(spec)
        if taken.rest and self.polls.held:
            self.polls.wake_queue(poll_queue(spec.fields.topic, spec.fields.consumer_group, spec.fields.queue_id))
        return taken

    def refusal(self, group: str, topic: str, account: str) -> Reply | None:
        """The refusal of a group or an account that is over its quota of receives; None: it is not."""
        throttle = self.throttle
        quota_set = throttle.receive(topic, group, account) if throttle.receives else None
        if quota_set is None or throttle.passes(RECEIVE, quota_set):
            return None
        return Reply(code=ResponseCode.FLOW_CONTROL, remark=throttle.receive_remark, ext={})

    def remaining_ms(self, born_time: int, poll_time: int) -> int:
        """For how many ms more a request may wait that a client made at a time; 0 stands for now."""
        born = self.due_time.from_client_time(born_time) if born_time else self.clock()
        return min(poll_time, born + poll_time - self.clock())


def poll_queue(topic: str, group: str, queue_id: int) -> PopQueue:
    """What a request waits for."""
    return PopQueue(topic, group, max(queue_id, ANY_QUEUE))


class WaitingPop:
    """A pop that waits."""

    __slots__ = ("_remote", "_services", "_spec")

    def __init__(self, services: PopServices, spec: PopSpec, remote: str) -> None:
        self._services = services
        self._spec = spec
        self._remote = remote

    @property
    def queue(self) -> PopQueue:
        """What it waits for."""
        fields = self._spec.fields
        return poll_queue(fields.topic, fields.consumer_group, fields.queue_id)

    @property
    def message_filter(self) -> MessageFilter:
        """Its filter."""
        return self._spec.message_filter

    def try_now(self) -> PopResult | Reply | None:
        """Pop."""
        services, fields = self._services, self._spec.fields
        services.checks.pop(fields.consumer_group, fields.topic, fields.queue_id, fields.max_msg_nums, self._remote)
        taken = services.reader.take(self._spec)
        if not taken.count:
            return None
        return services.refusal(fields.consumer_group, fields.topic, self._spec.account) or taken

    def timeout_reply(self) -> Reply:
        """The answer without messages."""
        spec = self._spec
        empty = self._services.reader.empty_result(spec.fields, spec.account)
        return empty.empty_reply(PopResponseCode.POLLING_TIMEOUT)

    def undo(self, taken: PopResult) -> None:
        """Make the messages visible again."""
        self._services.acks.give_back(taken.handles(self._services.broker_name))


class WaitingNotification:
    """A notification that waits."""

    __slots__ = ("_fields", "_remote", "_services", "message_filter")

    def __init__(self, services: PopServices, fields: NotificationRequestHeader, remote: str) -> None:
        self._services = services
        self._fields = fields
        self._remote = remote
        self.message_filter = EVERYTHING

    @property
    def queue(self) -> PopQueue:
        """What it waits for."""
        fields = self._fields
        return poll_queue(fields.topic, fields.consumer_group, fields.queue_id)

    def try_now(self) -> PopResult | Reply | None:
        """Check whether there is a message."""
        services, fields = self._services, self._fields
        config = services.checks.wait(fields.consumer_group, fields.topic, fields.queue_id, self._remote)
        if not services.peeking.has_message(fields, config):
            return None
        return Reply(fields=NotificationResponseHeader(has_msg=True))

    def timeout_reply(self) -> Reply:
        """The answer that there is none."""
        return Reply(fields=NotificationResponseHeader(has_msg=False))

    def undo(self, taken: PopResult) -> None:
        """Nothing was taken."""
