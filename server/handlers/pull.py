"""Pulls (11, and 361 of 5.x clients): read a queue from an offset, or wait for a message.

Only "no new message at the offset" is ever held; every other outcome is answered at once, as Apache answers it.
"""

from __future__ import annotations

from typing import Final

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
from rocketwire.server.pull_answers import Asked
from rocketwire.server.request import Reply, Request
from rocketwire.server.services import BrokerServices
from rocketwire.wire.bodies.group import SubscriptionGroupConfig
from rocketwire.wire.codes import Permission, PullSysFlag, RequestCode, ResponseCode
from rocketwire.wire.headers.pull import PullMessageRequestHeader, PullMessageResponseHeader

PullRequest = Request[PullMessageRequestHeader]


def _pull(services: BrokerServices, request: PullRequest) -> Reply | None:
    fields = request.fields
    group = _check(services, fields, request.peer.remote_text)
    wanted = _filter(services, fields, group)
    offset = fields.queue_offset
    asked = Asked(fields.topic, fields.queue_id, offset, offset == 0, fields.max_msg_nums, fields.max_msg_bytes, wanted)
    answers = services.pull_answers
    fetched = answers.fetch(asked)
    if fields.sys_flag & PullSysFlag.COMMIT_OFFSET:
        commit_offset(services, fields.consumer_group, fields.topic, fields.queue_id, fields.commit_offset)
    reply = answers.reply(asked, fetched)
    answers.delivered(fields.consumer_group, offset, asked, fetched, reply)
    if reply.code != ResponseCode.PULL_NOT_FOUND or not fields.sys_flag & PullSysFlag.SUSPEND:
        return reply
    _hold(services, request, asked)
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


def _hold(services: BrokerServices, request: PullRequest, asked: Asked) -> None:
    """Keep the request until a message for it arrives or its time is up."""
    fields = request.fields
    config = services.config.current
    seconds = fields.suspend_timeout_millis / 1000
    if not config.long_polling_enable:
        seconds = config.short_polling_time_mills / 1000
    pull = HeldPull(request.held(), group=fields.consumer_group, offset=fields.queue_offset)
    services.long_poll.hold(pull, asked, seconds)


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
