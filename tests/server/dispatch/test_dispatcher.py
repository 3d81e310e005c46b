from __future__ import annotations

import logging
from typing import Any

import pytest

from rocketwire.server.core.errors import NotPermitted
from rocketwire.server.core.metrics import UNSERVED, Metrics
from rocketwire.server.core.request import Reply, Request
from rocketwire.server.core.route import Family, Route
from rocketwire.server.dispatch.dispatcher import FrameDispatcher
from rocketwire.server.dispatch.execution import RequestExecution
from rocketwire.store.errors import StoreClosed
from rocketwire.store.store import MessageStore
from rocketwire.wire.connection import RawFrame
from rocketwire.wire.errors import HeaderInvalid
from rocketwire.wire.facts.codes import FLAG_ONEWAY, FLAG_RESPONSE, RequestCode, ResponseCode
from rocketwire.wire.header import Header, encode_header
from rocketwire.wire.headers.offset import GetMaxOffsetRequestHeader, GetMaxOffsetResponseHeader
from tests.server.harness import BINARY, JSON, Client, FakePeer, Server, code_and_remark


@pytest.mark.parametrize("code", [0, -1, 39, 326, 32767])
@pytest.mark.parametrize("serialize_type", [JSON, BINARY])
@pytest.mark.parametrize("which", ["broker", "name_server"])
async def test_an_unknown_code_is_answered_with_its_name(
    server: Server, code: int, serialize_type: int, which: str
) -> None:
    client = server.broker() if which == "broker" else server.name_server()
    answer = await client.request(code, serialize_type=serialize_type)
    expected = f" request type {code} not supported"
    assert code_and_remark(answer) == (ResponseCode.REQUEST_CODE_NOT_SUPPORTED, expected)
    assert answer.serialize_type == serialize_type
    assert (await client.request(RequestCode.POP_ROLLBACK)).header.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED


async def test_each_server_serves_its_own_codes_only(broker: Client, name_server: Client) -> None:
    answer = await broker.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"})
    assert answer.header.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED
    assert (await name_server.send("T")).header.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED


@pytest.mark.parametrize("code", [RequestCode.GET_MAX_OFFSET, 9999])
@pytest.mark.parametrize("serialize_type", [JSON, BINARY])
async def test_a_one_way_request_is_never_answered(broker: Client, code: int, serialize_type: int) -> None:
    await broker.send_oneway(code, {"topic": "T", "queueId": "0"}, serialize_type=serialize_type)
    await broker.send_oneway(code, {}, serialize_type=serialize_type)
    assert await broker.arrived() == []


async def test_a_response_without_a_pending_request_is_dropped(broker: Client) -> None:
    await broker.write(broker.frame(RequestCode.GET_MAX_OFFSET, flag=FLAG_RESPONSE))
    assert await broker.arrived() == []
    assert (await broker.send("T")).header.code == 0


async def test_a_handlers_bug_is_answered_and_affects_no_other_request(
    broker: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> int:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(MessageStore, "earliest_time", broken)
    answer = await broker.request(RequestCode.GET_EARLIEST_MSG_STORETIME, {"topic": "T", "queueId": "0"})
    assert code_and_remark(answer) == (ResponseCode.SYSTEM_ERROR, "ZeroDivisionError: by zero")
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    assert f"request 32 from {broker.local}" in caplog.text
    assert (await broker.send("T")).header.code == 0


async def test_an_error_of_the_store_is_answered(broker: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> int:
        raise StoreClosed("here")

    monkeypatch.setattr(MessageStore, "earliest_time", broken)
    answer = await broker.request(RequestCode.GET_EARLIEST_MSG_STORETIME, {"topic": "T", "queueId": "0"})
    assert code_and_remark(answer) == (ResponseCode.SYSTEM_ERROR, "store here is closed")


async def test_an_error_has_empty_fields_where_success_has_fields(broker: Client) -> None:
    assert (await broker.request(RequestCode.GET_MAX_OFFSET)).header.ext == {}
    assert (await broker.request(RequestCode.HEART_BEAT)).header.ext is None
    assert (await broker.request(9999)).header.ext is None


# --- without sockets ---


class FakeSession(FakePeer):
    pauses = False

    def who(self, code: int) -> dict[str, object]:
        return {"code": code}

    def answer(self, request: Header, serialize_type: int, reply: Reply) -> None:
        self.reply(
            Request(peer=self, header=request, serialize_type=serialize_type, body=memoryview(b""), fields=None), reply
        )


def raw(code: int, *, opaque: int = 1, flag: int = 0, ext: dict[str, str] | None = None) -> RawFrame:
    header = Header(code=code, opaque=opaque, flag=flag, ext=ext)
    return RawFrame(JSON, memoryview(encode_header(header, JSON)), memoryview(b""))


def route(handler: Any, **options: Any) -> Route:
    return Route(code=RequestCode.GET_MAX_OFFSET, handler=handler, summary="", **options)


def dispatching(handler: Any = lambda *_: Reply(), *, header: Any = None, **options: Any) -> FrameDispatcher:
    """A dispatcher that serves GET_MAX_OFFSET."""
    routes = (route(handler, **({} if header is None else {"header": header})),)
    return FrameDispatcher([Family(routes=routes, services=None)], **{"metrics": Metrics(), **options})


class Gate:
    """Refuses queue 2, and records the requests."""

    def __init__(self, *, active: bool = True) -> None:
        self.active = active
        self.requests: list[tuple[Any, int, str, int]] = []

    def admit(self, peer: Any, header: Header, body: memoryview, _proof: Any = None) -> None:
        ext = header.ext or {}
        self.requests.append((peer, header.code, ext["topic"], len(body)))
        if ext["queueId"] == "2":
            raise NotPermitted("not you")


async def test_a_guard_decides_before_the_handler() -> None:
    served: list[int] = []

    def handler(_: object, request: Any) -> Reply:
        served.append(request.fields.queue_id)
        return Reply()

    gate = Gate()
    dispatcher = dispatching(handler, header=GetMaxOffsetRequestHeader, guards=[gate])
    session: Any = FakeSession()
    frames = [raw(30, ext={"topic": "T", "queueId": str(each)}) for each in (1, 2)]
    assert dispatcher.serve(session, frames) == 2
    assert served == [1]
    assert gate.requests == [(session, 30, "T", 0)] * 2
    assert [reply.code for _, reply in session.replies] == [0, ResponseCode.NO_PERMISSION]
    assert (session.replies[1][1].remark, session.replies[1][1].ext) == ("not you", None)


async def test_a_guard_checks_unknown_codes_too() -> None:
    metrics = Metrics()
    dispatcher = FrameDispatcher([], metrics=metrics, guards=[Gate()])
    session: Any = FakeSession()
    dispatcher.serve(session, [raw(9999, ext={"topic": "T", "queueId": each}) for each in ("1", "2")])
    refused = [ResponseCode.REQUEST_CODE_NOT_SUPPORTED, ResponseCode.NO_PERMISSION]
    assert [reply.code for _, reply in session.replies] == refused
    assert metrics.requests == {UNSERVED: 2}


async def test_a_request_that_a_guard_cannot_decide_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    dispatcher = dispatching(guards=[Gate()])
    session: Any = FakeSession()
    dispatcher.serve(session, [raw(30)])
    assert [(reply.code, reply.remark) for _, reply in session.replies] == [(ResponseCode.SYSTEM_ERROR, "KeyError")]
    assert "request 30" in caplog.text


async def test_a_guard_that_cannot_read_the_store_refuses(caplog: pytest.LogCaptureFixture) -> None:
    class Looking(Gate):
        def admit(self, peer: Any, header: Header, body: memoryview, _proof: Any = None) -> None:
            raise StoreClosed("here")

    dispatcher = dispatching(guards=[Looking()])
    session: Any = FakeSession()
    dispatcher.serve(session, [raw(30)])
    assert [reply.remark for _, reply in session.replies] == [str(StoreClosed("here"))]
    assert caplog.text == ""


async def test_answers_of_clients_pass_the_guards() -> None:
    gate = Gate()
    dispatcher = FrameDispatcher([], metrics=Metrics(), guards=[gate])
    session: Any = FakeSession()
    answers: list[int] = []
    session.match_answer = lambda header, _body: answers.append(header.opaque)
    dispatcher.serve(session, [raw(0, opaque=7, flag=FLAG_RESPONSE)])
    assert (answers, gate.requests, session.replies) == ([7], [], [])


async def test_a_guard_is_called_while_it_is_active() -> None:
    gate = Gate(active=False)
    dispatcher = dispatching(header=GetMaxOffsetRequestHeader, guards=[Gate(active=False), gate])
    session: Any = FakeSession()
    frames = [raw(30, ext={"topic": "T", "queueId": "2"})]
    dispatcher.serve(session, frames)
    assert (dispatcher.guarded, gate.requests) == (False, [])
    gate.active = True
    dispatcher.serve(session, frames)
    assert (dispatcher.guarded, len(gate.requests)) == (True, 1)
    gate.active = False
    dispatcher.serve(session, frames)
    assert (dispatcher.guarded, len(gate.requests)) == (False, 1)
    assert [reply.code for _, reply in session.replies] == [0, ResponseCode.NO_PERMISSION, 0]


async def test_the_other_frames_of_a_session_that_pauses_wait() -> None:
    dispatcher = dispatching()
    session: Any = FakeSession()
    session.pauses = True
    assert dispatcher.serve(session, [raw(30), raw(30, opaque=2)]) == 1


async def test_a_request_that_is_answered_later_has_no_answer_yet() -> None:
    dispatcher = dispatching(lambda *_: None)
    session: Any = FakeSession()
    dispatcher.serve(session, [raw(30), raw(30, flag=FLAG_ONEWAY)])
    assert session.replies == []


async def test_an_unreadable_header_ends_serving() -> None:
    dispatcher = FrameDispatcher([], metrics=Metrics())
    session: Any = FakeSession()
    bad = RawFrame(JSON, memoryview(b"GET /"), memoryview(b""))
    with pytest.raises(HeaderInvalid, match="header is not JSON"):
        dispatcher.serve(session, [raw(30), bad, raw(30, opaque=3)])
    assert [request.header.opaque for request, _ in session.replies] == [1]


@pytest.mark.parametrize("serialize_type", [JSON, BINARY])
@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (Reply(fields=GetMaxOffsetResponseHeader(offset=1), body=(bytes(16 << 20),)), "is longer than the limit of"),
        (Reply(remark="\ud800"), "header cannot be written"),
    ],
    ids=["too long", "no text"],
)
async def test_an_answer_that_no_frame_can_hold_becomes_an_error_without_a_body(
    broker: Client, monkeypatch: pytest.MonkeyPatch, serialize_type: int, reply: Reply, problem: str
) -> None:
    monkeypatch.setattr(RequestExecution, "_reply", lambda *_: reply)
    answer = await broker.request(
        RequestCode.GET_MAX_OFFSET, {"topic": "T", "queueId": "0"}, serialize_type=serialize_type
    )
    assert answer.header.code == ResponseCode.SYSTEM_ERROR
    assert problem in (answer.header.remark or "")
    assert not answer.body
    monkeypatch.undo()
    assert (await broker.send("T")).header.code == 0


async def test_other_connections_are_served_when_serving_takes_long() -> None:
    class Turns(FakeSession):
        def request_yield(self) -> None:
            self.pauses = True

    seconds = iter([0.0, 0.001, 0.003])
    dispatcher = dispatching(now=lambda: next(seconds))
    session: Any = Turns()
    assert dispatcher.serve(session, [raw(30)] * 20) == 2
    assert len(session.replies) == 2
