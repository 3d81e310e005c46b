"""The requests of calls that wait for replies."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from rocketwire.server.core.request import Reply
from rocketwire.server.grpc.calls import Call
from rocketwire.server.grpc.transport.asked import Asked


def a_call() -> Call:
    return cast("Call", SimpleNamespace(asked=(), stream=1))


def requests(asked: Asked, size: int) -> list[Any]:
    return [SimpleNamespace(header=SimpleNamespace(opaque=asked.next_opaque())) for _ in range(size)]


def test_a_reply_is_its_calls_once() -> None:
    asked, call = Asked(), a_call()
    first, second = requests(asked, 2)
    asked.add(call, [first, second])
    assert asked.replied(second.header.opaque, Reply()) == (call, 1)
    assert asked.replied(second.header.opaque, Reply()) is None
    assert asked.replied(first.header.opaque, Reply()) == (call, 0)


def test_a_diverted_request_waits_for_its_next_reply() -> None:
    asked, call = Asked(), a_call()
    (request,) = requests(asked, 1)
    asked.add(call, [request])
    taken: list[Reply] = []
    asked.divert(request.header.opaque, taken.append)
    diverted, reply = Reply(), Reply()
    assert asked.replied(request.header.opaque, diverted) is None
    assert taken == [diverted]
    assert asked.replied(request.header.opaque, reply) == (call, 0)


def test_an_aborted_request_is_forgotten() -> None:
    asked, call = Asked(), a_call()
    (request,) = requests(asked, 1)
    asked.add(call, [request])
    assert asked.abort(request.header.opaque) is call
    assert asked.abort(request.header.opaque) is None
    assert asked.replied(request.header.opaque, Reply()) is None


def test_requests_of_cancelled_calls_are_kept_for_late_replies_up_to_256() -> None:
    asked = Asked()
    opaques = []
    for _ in range(257):
        call = a_call()
        asked.add(call, made := requests(asked, 1))
        asked.cancel(call)
        assert not call.asked, "the requests hold the call"
        opaques.append(made[0].header.opaque)
    assert asked.replied(opaques[0], Reply()) is None
    assert asked.replied(opaques[-1], Reply()) == (call, 0)
