"""The requests of calls that wait for replies."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from rocketwire.server.core.request import Reply
from rocketwire.server.grpc.calls import Call
from rocketwire.server.grpc.transport.pending_requests import PendingRequests


def a_call() -> Call:
    return cast("Call", SimpleNamespace(requests=(), stream=1))


def requests(pending: PendingRequests, size: int) -> list[Any]:
    return [SimpleNamespace(header=SimpleNamespace(opaque=pending.next_opaque())) for _ in range(size)]


def test_a_reply_is_its_calls_once() -> None:
    pending, call = PendingRequests(), a_call()
    first, second = requests(pending, 2)
    pending.add(call, [first, second])
    assert pending.take_call(second.header.opaque, Reply()) == (call, 1)
    assert pending.take_call(second.header.opaque, Reply()) is None
    assert pending.take_call(first.header.opaque, Reply()) == (call, 0)


def test_a_diverted_request_waits_for_its_next_reply() -> None:
    pending, call = PendingRequests(), a_call()
    (request,) = requests(pending, 1)
    pending.add(call, [request])
    taken: list[Reply] = []
    pending.intercept(request.header.opaque, taken.append)
    diverted, reply = Reply(), Reply()
    assert pending.take_call(request.header.opaque, diverted) is None
    assert taken == [diverted]
    assert pending.take_call(request.header.opaque, reply) == (call, 0)


def test_an_aborted_request_is_forgotten() -> None:
    pending, call = PendingRequests(), a_call()
    (request,) = requests(pending, 1)
    pending.add(call, [request])
    assert pending.forget(request.header.opaque) is call
    assert pending.forget(request.header.opaque) is None
    assert pending.take_call(request.header.opaque, Reply()) is None


def test_requests_of_cancelled_calls_are_kept_for_late_replies_up_to_256() -> None:
    pending = PendingRequests()
    opaques = []
    for _ in range(257):
        call = a_call()
        pending.add(call, made := requests(pending, 1))
        pending.forget_later(call)
        assert not call.requests, "the requests hold the call"
        opaques.append(made[0].header.opaque)
    assert pending.take_call(opaques[0], Reply()) is None
    assert pending.take_call(opaques[-1], Reply()) == (call, 0)
