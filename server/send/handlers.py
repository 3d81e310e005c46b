"""Sends: one message (10, 310) or a batch (320), in either serialisation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

import msgspec

from rocketwire.server.core.append import Append
from rocketwire.server.core.errors import ServerError, response_code
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.core.request import Reply, Request
from rocketwire.server.core.route import RequestRoutes
from rocketwire.server.send.drafts import SendPreparer
from rocketwire.store.append.drafts import AppendResult
from rocketwire.wire.errors import WireError
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.headers.send import SendMessageRequestHeader, SendMessageResponseHeader
from rocketwire.wire.message_id import offset_message_id
from rocketwire.wire.send_reply_frames import SendReplyFrames


@dataclass(frozen=True, slots=True, kw_only=True)
class SendServices:
    """What sends use; `store_host` is the advertised address as records hold it."""

    sending: SendPreparer
    answers: SendReplyFrames
    store_host: bytes
    id_template: bytes = field(init=False)
    """Formats a physical offset as an offset message id."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "id_template", self.store_host.hex().upper().encode() + b"%016X")


class _Sent(msgspec.Struct, frozen=True, gc=False):
    """How a send is answered: with the ids of its messages, their queue and the first one's offset in it."""

    services: SendServices
    queue_id: int
    recall_handle: bytes | None
    transaction_id: str | None

    def reply(self, appended: Sequence[AppendResult], code: ResponseCode) -> Reply:
        """The answer to a send whose messages are stored."""
        services, handle = self.services, self.recall_handle
        fields = SendMessageResponseHeader(
            msg_id=",".join([offset_message_id(services.store_host, each.physical_offset) for each in appended]),
            queue_id=self.queue_id,
            queue_offset=appended[0].queue_offset,
            transaction_id=self.transaction_id,
            recall_handle=None if handle is None else handle.decode(),
        )
        return Reply(code=code, fields=fields, ext=services.answers.ext)

    def refused(self, error: Exception) -> Reply:
        """The answer to a send whose messages were not all stored."""
        return _refusal(self.services, error)


family: Final = RequestRoutes[SendServices]("send")


@family.route(
    RequestCode.SEND_BATCH_MESSAGE,
    header=SendMessageRequestHeader,
    response=SendMessageResponseHeader,
    short=True,
    appends=True,
    summary="store several messages of one queue",
)
@family.route(
    RequestCode.SEND_MESSAGE_V2,
    header=SendMessageRequestHeader,
    response=SendMessageResponseHeader,
    short=True,
    appends=True,
    summary="store a message",
)
@family.route(
    RequestCode.SEND_MESSAGE,
    header=SendMessageRequestHeader,
    response=SendMessageResponseHeader,
    appends=True,
    summary="store a message (long header names)",
)
def _send(services: SendServices, request: Request[SendMessageRequestHeader]) -> Reply | Append:
    """Check a send and have its messages stored. The header, not the code, decides whether the body is a batch."""
    peer = request.peer
    try:
        prepared = services.sending.prepare(
            request.fields, request.body, peer.born_host, peer.remote_text, request.account
        )
    except (ServerError, WireError) as error:
        if isinstance(error, LimitExceeded):  # the dispatcher counts only those that it is to answer itself
            peer.limited(error)
        return _refusal(services, error)
    if prepared is None:
        return _over_quota(services.answers, services.sending.throttle.send_remark)
    answer = _Sent(services, prepared.queue_id, prepared.recall_handle, prepared.transaction_id)
    return Append(prepared.drafts, answer, prepared.wait)


def _refusal(services: SendServices, error: Exception) -> Reply:
    return Reply(code=response_code(error), remark=str(error), ext=services.answers.ext)


@lru_cache(maxsize=16)  # where one send is over a quota, there are many
def _over_quota(answers: SendReplyFrames, remark: str) -> Reply:
    return Reply(code=ResponseCode.FLOW_CONTROL, remark=remark, ext=answers.ext)
