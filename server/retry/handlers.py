"""Messages that consumers send back for another try (36)."""

from __future__ import annotations

from functools import partial
from typing import Final

from rocketwire.server.core.append import Append, SuccessAnswer
from rocketwire.server.core.request import Reply, Request
from rocketwire.server.core.route import RequestRoutes
from rocketwire.server.retry.send_back import SendBack, refusal
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.headers.send import ConsumerSendMsgBackRequestHeader

_DONE: Final = SuccessAnswer(refusal)


family: Final = RequestRoutes[SendBack]("send back")


@family.route(
    RequestCode.CONSUMER_SEND_MSG_BACK,
    header=ConsumerSendMsgBackRequestHeader,
    appends=True,
    summary="try a message again later",
)
def _send_back(send_back: SendBack, request: Request[ConsumerSendMsgBackRequestHeader]) -> Reply | Append:
    """Have the message stored for its next try, or as a dead letter; a group without retries needs neither."""
    fields = request.fields
    target = send_back.destination(fields.group, unit_mode=fields.unit_mode)
    if target is None:
        return Reply()
    draft = send_back.draft(target, fields, request.header.version)
    counted = partial(send_back.count, fields.group, draft.properties)
    return Append([draft], _DONE, size=len(draft.body), on_stored=counted)
