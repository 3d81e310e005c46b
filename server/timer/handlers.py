"""Timer messages: cancelling one (370), and the timer's progress (60, 61)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from rocketwire.server.config.broker_keys import BrokerKeys
from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.append import Append
from rocketwire.server.core.errors import RecallFailed, ServerError, response_code
from rocketwire.server.core.request import Reply, Request
from rocketwire.server.core.route import RequestRoutes
from rocketwire.server.timer.recall import Recall
from rocketwire.server.timer.timer import Timer
from rocketwire.store.append.drafts import AppendResult
from rocketwire.store.layout.timer_check import CHECK_STRUCT
from rocketwire.store.timer.check import encode_checkpoint
from rocketwire.wire.errors import WireError
from rocketwire.wire.facts import properties as property_names
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.headers.send import RecallMessageRequestHeader, RecallMessageResponseHeader

#: 5.5.0 never sets the remark that its answers begin with.
_REMARK: Final = "not set any response code"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimerServices:
    """The dependencies of these requests; `timer` is None if timer messages are refused."""

    broker_keys: LiveGroup[BrokerKeys]
    recall: Recall
    timer: Timer | None


class _Recalled(msgspec.Struct, frozen=True, gc=False):
    """How a recall is answered: a flush that took too long is not reported."""

    done: Reply

    def reply(self, _appended: Sequence[AppendResult], _code: ResponseCode) -> Reply:
        """The answer when what cancels the message is stored."""
        return self.done

    def refused(self, _error: Exception) -> Reply:
        """The answer when it is not stored."""
        failed = RecallFailed()
        return Reply(code=response_code(failed), remark=str(failed), ext=self.done.ext)


family: Final = RequestRoutes[TimerServices]("timer")


@family.route(
    RequestCode.RECALL_MESSAGE,
    header=RecallMessageRequestHeader,
    response=RecallMessageResponseHeader,
    appends=True,
    summary="cancel a message that waits for its time",
)
def _recall(services: TimerServices, request: Request[RecallMessageRequestHeader]) -> Reply | Append:
    """Have the marker stored that cancels the message."""
    ext = {property_names.MSG_REGION: services.broker_keys.current.region_id}
    try:
        marker = services.recall.marker(request.fields, request.peer.born_host)
    except (ServerError, WireError) as error:
        return Reply(code=response_code(error), remark=str(error), ext=ext)
    done = Reply(remark=_REMARK, fields=RecallMessageResponseHeader(msg_id=marker.unique_key or ""), ext=ext)
    return Append([marker], _Recalled(done), wait=True)


@family.route(RequestCode.GET_TIMER_CHECK_POINT, summary="how far the timer is")
def _check_point(services: TimerServices, _request: Request[None]) -> Reply:
    """The present content of Apache's part of config/timercheck."""
    if services.timer is None:
        return Reply(code=ResponseCode.SYSTEM_ERROR, remark="The checkpoint is null")
    return Reply(body=(encode_checkpoint(services.timer.check())[: CHECK_STRUCT.size],))


@family.route(RequestCode.GET_TIMER_METRICS, summary="how many messages of each topic wait")
def _metrics(services: TimerServices, _request: Request[None]) -> Reply:
    """The present content of config/timermetrics."""
    if services.timer is None:
        return Reply(code=ResponseCode.SYSTEM_ERROR, remark="The timer message store is null")
    return Reply(body=(services.timer.metrics(),))
