"""Messages for a set time: cancelling one (370), and how far the timer is (60, 61)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rocketwire.server.config.live import LiveConfig
from rocketwire.server.core.errors import RecallFailed, ServerError, response_code
from rocketwire.server.core.request import Reply, Request
from rocketwire.server.core.route import Route
from rocketwire.server.messages.appending import Refusals
from rocketwire.server.messages.storing import Storing
from rocketwire.server.timer.recall import Recall
from rocketwire.server.timer.timer import Timer
from rocketwire.store.append.drafts import Appended
from rocketwire.store.layout.timer_check import CHECK_STRUCT
from rocketwire.store.timer.check import encode_check
from rocketwire.wire.codes import RequestCode, ResponseCode
from rocketwire.wire.errors import WireError
from rocketwire.wire.headers.send import RecallMessageRequestHeader, RecallMessageResponseHeader

#: 5.5.0 never sets the remark that its answers begin with.
_REMARK: Final = "not set any response code"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimerServices:
    """What timer messages are given; `timer` is None where they are refused."""

    config: LiveConfig
    recall: Recall
    storing: Storing
    timer: Timer | None


def _recall(services: TimerServices, request: Request[RecallMessageRequestHeader]) -> Reply | None:
    """Store what cancels the message, and answer; under SYNC_FLUSH when the disk has it, or does not in time."""
    ext = {"MSG_REGION": services.config.current.region_id}
    peer = request.peer
    try:
        marker = services.recall.marker(request.fields, peer.born_host)
    except (ServerError, WireError) as error:
        return Reply(code=response_code(error), remark=str(error), ext=ext)
    done = Reply(remark=_REMARK, fields=RecallMessageResponseHeader(msg_id=marker.unique_key or ""), ext=ext)
    replies: list[Reply] = []
    later = False

    def outcome(_appended: Sequence[Appended], _code: ResponseCode, refusals: Refusals) -> None:
        failed = RecallFailed()
        reply = Reply(code=response_code(failed), remark=str(failed), ext=ext) if refusals else done
        if later:
            peer.reply(request, reply)
        else:
            replies.append(reply)

    services.storing.commit([marker], outcome, wait=True, peer=peer)
    later = True
    return replies[0] if replies else None


def _check_point(services: TimerServices, _request: Request[None]) -> Reply:
    """Apache's part of config/timercheck as it is now."""
    if services.timer is None:
        return Reply(code=ResponseCode.SYSTEM_ERROR, remark="The checkpoint is null")
    return Reply(body=(encode_check(services.timer.check())[: CHECK_STRUCT.size],))


def _metrics(services: TimerServices, _request: Request[None]) -> Reply:
    """config/timermetrics as it is now."""
    if services.timer is None:
        return Reply(code=ResponseCode.SYSTEM_ERROR, remark="The timer message store is null")
    return Reply(body=(services.timer.metrics(),))


ROUTES: Final = (
    Route(code=RequestCode.GET_TIMER_CHECK_POINT, handler=_check_point, heading="how far the timer is"),
    Route(code=RequestCode.GET_TIMER_METRICS, handler=_metrics, heading="how many messages of each topic wait"),
    Route(
        code=RequestCode.RECALL_MESSAGE,
        header=RecallMessageRequestHeader,
        response=RecallMessageResponseHeader,
        handler=_recall,
        heading="cancel a message that waits for its time",
    ),
)
