"""Pulls (11, and 361 of 5.x clients): read a queue from an offset, or wait for a message.

Only "no new message at the offset" is ever held; every other outcome is answered at once, as Apache answers it.
"""

from __future__ import annotations

from typing import Final

from rocketwire.server.core.request import Reply, Request
from rocketwire.server.core.route import RequestRoutes
from rocketwire.server.offsets.consumed import commit_offset
from rocketwire.server.pull.answers import PullSpec
from rocketwire.server.pull.long_poll import HeldPull
from rocketwire.server.pull.services import PullServices, filter_of_pull
from rocketwire.wire.facts.codes import PullSysFlag, RequestCode, ResponseCode
from rocketwire.wire.headers.pull import PullMessageRequestHeader, PullMessageResponseHeader

PullRequest = Request[PullMessageRequestHeader]


family: Final = RequestRoutes[PullServices]("pull")


@family.route(
    RequestCode.LITE_PULL_MESSAGE,
    header=PullMessageRequestHeader,
    response=PullMessageResponseHeader,
    summary="the same, from a 5.x lite pull consumer",
)
@family.route(
    RequestCode.PULL_MESSAGE,
    header=PullMessageRequestHeader,
    response=PullMessageResponseHeader,
    summary="read messages of a queue, or wait for one",
)
def _pull(services: PullServices, request: PullRequest) -> Reply | None:
    fields = request.fields
    wanted = filter_of_pull(services, fields, request.peer.remote_text)
    offset = fields.queue_offset
    spec = PullSpec(
        fields.topic, fields.queue_id, offset, offset == 0, fields.max_msg_nums, fields.max_msg_bytes, wanted
    )
    answers = services.pull_answers
    group, account = fields.consumer_group, request.account
    refusal = answers.refusal(group, fields.topic, account) or answers.cold_refusal(group, spec)
    if refusal is not None:
        return refusal
    fetched = answers.fetch(spec)
    if fields.sys_flag & PullSysFlag.COMMIT_OFFSET:
        commit_offset(services.offsets, group, fields.topic, fields.queue_id, fields.commit_offset)
    reply = answers.reply(spec, fetched)
    answers.count_delivered(group, offset, spec, fetched, reply, account)
    if reply.code != ResponseCode.PULL_NOT_FOUND or not fields.sys_flag & PullSysFlag.SUSPEND:
        return reply
    _hold(services, request, spec)
    return None


def _hold(services: PullServices, request: PullRequest, spec: PullSpec) -> None:
    """Hold the request until a message for it arrives or its time is up."""
    fields = request.fields
    seconds = services.pull_answers.held_seconds(fields.suspend_timeout_millis)
    pull = HeldPull(request.held(), group=fields.consumer_group, offset=fields.queue_offset, account=request.account)
    services.long_poll.hold(pull, spec, seconds)
