"""POP: pop messages, acknowledge them, change their invisible time, query whether there are any."""

from __future__ import annotations

from typing import Any, Final

from rocketwire.server.core.append import Append
from rocketwire.server.core.client_errors import NotInQueue
from rocketwire.server.core.request import NOT_A_FRAME, Reply, Request
from rocketwire.server.core.route import RequestRoutes
from rocketwire.server.pop.polls import PollRequest, Polls
from rocketwire.server.pop.services import PopServices, WaitingNotification, WaitingPop, poll_queue
from rocketwire.wire.bodies.pop import BatchAckMessageRequestBody, decode_batch
from rocketwire.wire.facts.codes import PopResponseCode, RequestCode
from rocketwire.wire.headers.pop import (
    AckMessageRequestHeader,
    ChangeInvisibleTimeRequestHeader,
    ChangeInvisibleTimeResponseHeader,
    NotificationRequestHeader,
    NotificationResponseHeader,
    PeekMessageRequestHeader,
    PollingInfoRequestHeader,
    PollingInfoResponseHeader,
    PopMessageRequestHeader,
    PopMessageResponseHeader,
)

_TOO_LATE_MS: Final = 500
"""A request whose time is up for so long comes from a client that does not wait any more."""


family: Final = RequestRoutes[PopServices]("pop")


@family.route(
    RequestCode.POP_MESSAGE,
    header=PopMessageRequestHeader,
    response=PopMessageResponseHeader,
    appends=True,
    summary="take messages for a while, or wait for one",
)
def _pop(services: PopServices, request: Request[PopMessageRequestHeader]) -> Reply | Append | None:
    fields = request.fields
    remote = request.peer.remote_text
    remaining = services.remaining_ms(fields.born_time, fields.poll_time)
    if remaining < -_TOO_LATE_MS:
        host = services.checks.broker_keys.current.advertised_host
        remark = f"the broker[{host}] pop message is timeout too much"
        return Reply(code=PopResponseCode.POLLING_TIMEOUT, remark=remark, ext={})
    spec = services.make_spec(fields, remote, request.account)
    refusal = services.refusal(fields.consumer_group, fields.topic, request.account)
    if refusal is not None:
        return refusal
    taken = services.take(spec)
    if taken.drafts:
        return taken.append()
    if taken.count:
        taken.commit()
        return taken.messages_reply()
    if remaining <= 0:
        return taken.empty_reply(PopResponseCode.POLLING_TIMEOUT)
    if _hold(services.polls, request, WaitingPop(services, spec, remote), remaining):
        return None
    return taken.empty_reply(PopResponseCode.POLLING_FULL)


def _hold(polls: Polls, request: Request[Any], wait: PollRequest, remaining_ms: int) -> bool:
    return polls.hold(request.held(), wait, remaining_ms / 1000)


@family.route(
    RequestCode.ACK_MESSAGE,
    header=AckMessageRequestHeader,
    appends=True,
    summary="a message that was taken is consumed",
)
def _ack(services: PopServices, request: Request[AckMessageRequestHeader]) -> Reply | Append:
    return services.acks.ack(request.fields, request.peer.remote_text)


@family.route(RequestCode.BATCH_ACK_MESSAGE, appends=True, summary="messages that were taken are consumed")
def _ack_all(services: PopServices, request: Request[BatchAckMessageRequestBody | None]) -> Reply | Append:
    body = request.fields
    if body is None:
        if not request.body:
            raise NotInQueue
        body = decode_batch(request.body)
    by_call = request.serialize_type == NOT_A_FRAME
    return services.acks.ack_all(body.acks, body.broker_name, request.peer.remote_text, strict=by_call)


@family.route(
    RequestCode.CHANGE_MESSAGE_INVISIBLETIME,
    header=ChangeInvisibleTimeRequestHeader,
    response=ChangeInvisibleTimeResponseHeader,
    appends=True,
    summary="keep a message that was taken for another time",
)
def _change(services: PopServices, request: Request[ChangeInvisibleTimeRequestHeader]) -> Reply | Append:
    return services.acks.change(request.fields, request.peer.remote_text)


@family.route(
    RequestCode.PEEK_MESSAGE,
    header=PeekMessageRequestHeader,
    response=PopMessageResponseHeader,
    summary="read what a group would take",
)
def _peek(services: PopServices, request: Request[PeekMessageRequestHeader]) -> Reply:
    fields = request.fields
    config = services.checks.peek(fields.consumer_group, fields.topic, fields.queue_id, request.peer.remote_text)
    refusal = services.refusal(fields.consumer_group, fields.topic, request.account)
    return refusal or services.peeking.peek(fields, config)


@family.route(
    RequestCode.NOTIFICATION,
    header=NotificationRequestHeader,
    response=NotificationResponseHeader,
    summary="wait until there is a message to take",
)
def _notify(services: PopServices, request: Request[NotificationRequestHeader]) -> Reply | None:
    fields = request.fields
    wait = WaitingNotification(services, fields, request.peer.remote_text)
    found = wait.try_now()
    if isinstance(found, Reply):
        return found
    remaining = services.remaining_ms(fields.born_time, fields.poll_time)
    if remaining <= 0:
        return wait.timeout_reply()
    if _hold(services.notifications, request, wait, remaining):
        return None
    return Reply(fields=NotificationResponseHeader(has_msg=False, polling_full=True))


@family.route(
    RequestCode.POLLING_INFO,
    header=PollingInfoRequestHeader,
    response=PollingInfoResponseHeader,
    summary="how many requests wait for messages to take",
)
def _polling_info(services: PopServices, request: Request[PollingInfoRequestHeader]) -> Reply:
    fields = request.fields
    services.checks.wait(fields.consumer_group, fields.topic, fields.queue_id, request.peer.remote_text)
    waiting = services.polls.count(poll_queue(fields.topic, fields.consumer_group, fields.queue_id))
    return Reply(fields=PollingInfoResponseHeader(polling_num=waiting))
