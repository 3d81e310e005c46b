"""Pulls (11, and 361 of 5.x clients): read a queue from an offset, or wait for a message.

Only "no new message at the offset" is ever held; every other outcome is answered at once, as Apache answers it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from rocketwire.server.consumed import commit_offset
from rocketwire.server.errors import (
    FAQ,
    GroupNotFound,
    NotPermitted,
    QueueIllegal,
    SubscriptionNotFound,
    TopicNotFound,
)
from rocketwire.server.filters import MessageFilter, selection
from rocketwire.server.handlers.route import Route
from rocketwire.server.long_poll import HeldPull
from rocketwire.server.request import Reply, Request
from rocketwire.server.services import BrokerServices
from rocketwire.store.store import Fetched, FetchStatus
from rocketwire.wire.bodies.group import SubscriptionGroupConfig
from rocketwire.wire.codes import Permission, PullSysFlag, RequestCode, ResponseCode
from rocketwire.wire.headers.pull import PullMessageRequestHeader, PullMessageResponseHeader

PullRequest = Request[PullMessageRequestHeader]


class _Answer(NamedTuple):
    code: ResponseCode
    remark: str


_ANSWERS: Final = {
    FetchStatus.FOUND: _Answer(ResponseCode.SUCCESS, "FOUND"),
    FetchStatus.MESSAGE_WAS_REMOVING: _Answer(ResponseCode.PULL_RETRY_IMMEDIATELY, "MESSAGE_WAS_REMOVING"),
    FetchStatus.NO_MATCHED_MESSAGE: _Answer(ResponseCode.PULL_RETRY_IMMEDIATELY, "NO_MATCHED_MESSAGE"),
    FetchStatus.OFFSET_FOUND_NULL: _Answer(ResponseCode.PULL_NOT_FOUND, "OFFSET_FOUND_NULL"),
    FetchStatus.OFFSET_OVERFLOW_ONE: _Answer(ResponseCode.PULL_NOT_FOUND, "OFFSET_OVERFLOW_ONE"),
    FetchStatus.OFFSET_OVERFLOW_BADLY: _Answer(ResponseCode.PULL_OFFSET_MOVED, "OFFSET_OVERFLOW_BADLY"),
    FetchStatus.OFFSET_TOO_SMALL: _Answer(ResponseCode.PULL_OFFSET_MOVED, "OFFSET_TOO_SMALL"),
    FetchStatus.NO_MATCHED_LOGIC_QUEUE: _Answer(ResponseCode.PULL_NOT_FOUND, "NO_MATCHED_LOGIC_QUEUE"),
    FetchStatus.NO_MESSAGE_IN_QUEUE: _Answer(ResponseCode.PULL_NOT_FOUND, "NO_MESSAGE_IN_QUEUE"),
}
# An empty or unknown queue is where a new consumer waits; asked for a later offset, the consumer is lost.
_EMPTY: Final = frozenset({FetchStatus.NO_MATCHED_LOGIC_QUEUE, FetchStatus.NO_MESSAGE_IN_QUEUE})


def _pull(services: BrokerServices, request: PullRequest) -> Reply | None:
    fields = request.fields
    group = _check(services, fields, request.peer.remote_text)
    wanted = _filter(services, fields, group)
    fetched = _fetch(services, fields, fields.queue_offset, wanted)
    if fields.sys_flag & PullSysFlag.COMMIT_OFFSET:
        commit_offset(services, fields.consumer_group, fields.topic, fields.queue_id, fields.commit_offset)
    reply = _reply(services, fields, fetched)
    if reply.code != ResponseCode.PULL_NOT_FOUND or not fields.sys_flag & PullSysFlag.SUSPEND:
        return reply
    _hold(services, request, wanted)
    return None


def _check(services: BrokerServices, fields: PullMessageRequestHeader, remote: str) -> SubscriptionGroupConfig:
    """The checks of a 4.9.7 broker, in its order."""
    config = services.config.current
    if not config.broker_permission & Permission.READ:
        raise NotPermitted(f"the broker[{config.advertised_host}] pulling message is forbidden")
    group = services.groups.find(fields.consumer_group)
    if group is None:
        raise GroupNotFound(fields.consumer_group)
    if not group.consume_enable:
        raise NotPermitted("subscription group no permission, " + fields.consumer_group)
    topic = services.topics.get(fields.topic)
    if topic is None:
        raise TopicNotFound(fields.topic, gap=" ")
    if not topic.perm & Permission.READ:
        raise NotPermitted(f"the topic[{fields.topic}] pulling message is forbidden")
    if not 0 <= fields.queue_id < topic.read_queue_nums:
        raise QueueIllegal(
            f"queueId[{fields.queue_id}] is illegal, topic:[{fields.topic}] "
            f"topicConfig.readQueueNums:[{topic.read_queue_nums}] consumer:[{remote}]"
        )
    return group


def _filter(
    services: BrokerServices, fields: PullMessageRequestHeader, group: SubscriptionGroupConfig
) -> MessageFilter:
    """What the consumer wants: named in the request, or in its last heartbeat."""
    if fields.sys_flag & PullSysFlag.SUBSCRIPTION:
        return selection.of_request(services.config.current, fields.subscription, fields.expression_type)
    consumers = services.clients.consumer(fields.consumer_group)
    if consumers is None:
        raise SubscriptionNotFound("the consumer's group info not exist" + FAQ)
    if consumers.broadcasting and not group.consume_broadcast_enable:
        raise NotPermitted(f"the consumer group[{fields.consumer_group}] can not consume by broadcast way")
    subscription = consumers.subscriptions.get(fields.topic)
    if subscription is None:
        raise SubscriptionNotFound("the consumer's subscription not exist" + FAQ)
    return selection.of_group(
        services.config.current, services.filters, fields.consumer_group, subscription, fields.sub_version
    )


def _fetch(services: BrokerServices, fields: PullMessageRequestHeader, offset: int, wanted: MessageFilter) -> Fetched:
    config = services.config.current
    max_bytes = config.max_transfer_bytes_on_message_in_memory
    return services.store.get(
        fields.topic,
        fields.queue_id,
        offset,
        min(fields.max_msg_nums, config.max_transfer_count_on_message_in_memory),
        max_bytes if fields.max_msg_bytes is None else min(fields.max_msg_bytes, max_bytes),
        wanted.by_code,
        wanted.by_properties,
        wanted.most_text,
    )


def _reply(services: BrokerServices, fields: PullMessageRequestHeader, fetched: Fetched) -> Reply:
    code, remark = _ANSWERS[fetched.status]
    if fetched.status in _EMPTY and fields.queue_offset != 0:
        code = ResponseCode.PULL_OFFSET_MOVED
    if fetched.count:
        services.metrics.delivered(fetched.count, fetched.size)
        services.consume_rates.delivered(fields.consumer_group, fields.topic, fetched.count)
    if code == ResponseCode.PULL_OFFSET_MOVED:
        services.offset_moved.tell(
            fields.consumer_group, fields.topic, fields.queue_id, asked=fields.queue_offset, new=fetched.next_offset
        )
    return Reply(
        code=code,
        remark=remark,
        fields=PullMessageResponseHeader(
            suggest_which_broker_id=0,
            next_begin_offset=fetched.next_offset,
            min_offset=fetched.min_offset,
            max_offset=fetched.max_offset,
        ),
        body=fetched.chunks,
    )


def _hold(services: BrokerServices, request: PullRequest, wanted: MessageFilter) -> None:
    """Keep the request until a message for it arrives or its time is up."""
    fields = request.fields
    offset = fields.queue_offset

    def attempt(final: bool) -> Reply | None:  # noqa: FBT001 - HeldPull's shape
        nonlocal offset
        fetched = _fetch(services, fields, offset, wanted)
        if fetched.status is FetchStatus.FOUND or final:
            return _reply(services, fields, fetched)
        if fetched.status is FetchStatus.NO_MATCHED_MESSAGE:
            # One look takes so many messages and no more: the consumer asks for the rest, and does not wait for it.
            if fetched.next_offset < fetched.max_offset:
                return _reply(services, fields, fetched)
            # What did not pass the filter need not be looked at again.
            offset = max(offset, fetched.next_offset)
        reply = _reply(services, fields, fetched)
        return None if reply.code in _WAITS else reply

    config = services.config.current
    seconds = fields.suspend_timeout_millis / 1000
    if not config.long_polling_enable:
        seconds = config.short_polling_time_mills / 1000
    services.long_poll.hold(HeldPull((fields.topic, fields.queue_id), request.held(), attempt), seconds)


_WAITS: Final = frozenset({ResponseCode.PULL_NOT_FOUND, ResponseCode.PULL_RETRY_IMMEDIATELY})

ROUTES: Final = (
    Route(
        code=RequestCode.PULL_MESSAGE,
        header=PullMessageRequestHeader,
        response=PullMessageResponseHeader,
        handler=_pull,
        heading="read messages of a queue, or wait for one",
    ),
    Route(
        code=RequestCode.LITE_PULL_MESSAGE,
        header=PullMessageRequestHeader,
        response=PullMessageResponseHeader,
        handler=_pull,
        heading="the same, from a 5.x lite pull consumer",
    ),
)
