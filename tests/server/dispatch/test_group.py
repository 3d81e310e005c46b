"""Requests that append: which form one group, the order of all answers, and the state after a failed group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest

from rocketwire.server.core.append import Append, SuccessAnswer
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.core.request import Reply, Request
from rocketwire.server.core.route import Family, HandlerResult, Route
from rocketwire.server.dispatch.dispatcher import FrameDispatcher
from rocketwire.server.dispatch.group import LONG_GROUP_BYTES
from rocketwire.server.messages.message_writer import NOT_STORED
from rocketwire.store.append.drafts import AppendResult, Draft
from rocketwire.store.errors import RecordTooLarge
from rocketwire.wire.connection import RawFrame
from rocketwire.wire.errors import HeaderInvalid
from rocketwire.wire.facts.codes import FLAG_ONEWAY, RequestCode, ResponseCode
from rocketwire.wire.header import Header, encode_header
from tests.server.harness import BINARY, JSON, FakePeer

APPENDS, QUERIES = RequestCode.SEND_MESSAGE, RequestCode.GET_MAX_OFFSET


class Memory:
    """Storing that keeps the bodies of each group, and reports when the test says so.

    Attributes:
        groups: The bodies of each group.
        refuses: The body that is refused.
        disk: Called to report what waits for the disk; None: nothing waits.
    """

    def __init__(self) -> None:
        self.groups: list[list[bytes]] = []
        self.refuses = b""
        self.syncs = False
        self.disk: list[Callable[[ResponseCode], None]] = []

    def append(self, drafts: Sequence[Draft]) -> tuple[list[AppendResult], dict[int, Exception]]:
        self.groups.append([bytes(draft.body) for draft in drafts])
        if any(draft.body == b"bang" for draft in drafts):
            raise ZeroDivisionError("a bug")
        refused = {at: RecordTooLarge(2, 1) for at, draft in enumerate(drafts) if draft.body == self.refuses}
        return [NOT_STORED if at in refused else AppendResult(at, 1, at) for at in range(len(drafts))], dict(refused)

    def report(self, appended: Any, refusals: Any, outcome: Any, *, wait: bool, peer: Any) -> None:
        report = partial(outcome, appended)
        if wait and self.syncs:
            self.disk.append(lambda code: report(code, refusals))
        else:
            report(ResponseCode.SUCCESS, refusals)


class RecordingSession(FakePeer):
    """A session that keeps opaque and code of each answer, in order.

    Attributes:
        answers: Opaque and code of each answer.
    """

    def __init__(self) -> None:
        super().__init__()
        self.answers: list[tuple[int, int]] = []
        self.pauses = False

    def who(self, code: int = 0) -> dict[str, object]:
        return {"code": code}

    def answer(self, request: Header, _serialize_type: int, reply: Reply) -> None:
        if not request.flag & FLAG_ONEWAY:
            self.answers.append((request.opaque, reply.code))

    def request_yield(self) -> None:
        self.pauses = True


DONE = SuccessAnswer()
OVER_QUOTA = Reply(code=ResponseCode.FLOW_CONTROL)


def draft(body: bytes) -> Draft:
    return Draft("T", 0, body, b"", 0, 0, 0, bytes(8))


class Service:
    """A handler that appends the bodies that a request's body lists, parted by commas.

    Attributes:
        decided: What is decided: the numbers in the bodies.
    """

    def __init__(self) -> None:
        self.decided: set[int] = set()

    def append(self, request: Request[None]) -> HandlerResult:
        body = bytes(request.body)
        if body == b"quota":
            return OVER_QUOTA
        if body == b"nothing":
            return Reply()
        if body == b"broken":
            raise ZeroDivisionError
        numbers = (int(body),) if body.isdigit() else ()
        if self.decided.issuperset(numbers) and numbers:
            return Reply(code=ResponseCode.SYSTEM_ERROR)
        size = LONG_GROUP_BYTES if body == b"long" else 0
        drafts = [draft(part) for part in body.split(b",")]
        return Append(drafts, DONE, body != b"hurried", size, numbers, partial(self.decided.update, numbers))


@pytest.fixture
def memory() -> Memory:
    return Memory()


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def dispatcher(memory: Memory, service: Service) -> FrameDispatcher:
    storing: Any = memory
    routes = (
        Route(code=APPENDS, handler=Service.append, appends=True, summary=""),
        Route(code=QUERIES, handler=lambda *_: Reply(code=len(memory.groups)), summary=""),
    )
    return FrameDispatcher([Family(routes=routes, services=service)], metrics=Metrics(), storing=storing)


def frames(*bodies: bytes, flag: int = 0, serialize_type: int = JSON) -> list[RawFrame]:
    """A frame for each body, with its index as opaque; an empty body makes a query."""
    found = []
    for at, body in enumerate(bodies):
        header = Header(code=APPENDS if body else QUERIES, opaque=at, flag=flag)
        found.append(RawFrame(serialize_type, memoryview(encode_header(header, serialize_type)), memoryview(body)))
    return found


def serve(
    dispatcher: FrameDispatcher, requests: list[RawFrame], peer: RecordingSession | None = None
) -> RecordingSession:
    session: Any = peer or RecordingSession()
    dispatcher.serve(session, requests)
    found: RecordingSession = session
    return found


def test_consecutive_requests_are_one_group_answered_with_one_write(
    dispatcher: FrameDispatcher, memory: Memory
) -> None:
    peer = serve(dispatcher, frames(b"a", b"b,c", b"d"))
    assert memory.groups == [[b"a", b"b", b"c", b"d"]]
    assert peer.answers == [(0, 0), (1, 0), (2, 0)]


def test_a_request_that_may_depend_on_the_group_ends_it(dispatcher: FrameDispatcher, memory: Memory) -> None:
    peer = serve(dispatcher, frames(b"a", b"", b"b", b"c", b""))
    assert memory.groups == [[b"a"], [b"b", b"c"]]
    assert peer.answers == [(0, 0), (1, 1), (2, 0), (3, 0), (4, 2)]


def test_requests_that_append_nothing_do_not_end_the_group(dispatcher: FrameDispatcher, memory: Memory) -> None:
    peer = serve(dispatcher, frames(b"a", b"quota", b"nothing", b"broken", b"b"))
    assert memory.groups == [[b"a", b"b"]]
    codes = {0: 0, 1: ResponseCode.FLOW_CONTROL, 2: 0, 3: ResponseCode.SYSTEM_ERROR, 4: 0}
    assert dict(peer.answers) == codes
    assert len(peer.answers) == len(codes)


@pytest.mark.parametrize("serialize_type", [JSON, BINARY])
def test_one_way_requests_are_not_answered(dispatcher: FrameDispatcher, memory: Memory, serialize_type: int) -> None:
    mixed = frames(b"a", flag=FLAG_ONEWAY, serialize_type=serialize_type) + frames(b"b", serialize_type=serialize_type)
    assert serve(dispatcher, mixed).answers == [(0, 0)]
    assert memory.groups == [[b"a", b"b"]]


def test_answers_keep_their_order_whatever_their_form(dispatcher: FrameDispatcher, memory: Memory) -> None:
    memory.refuses = b"refused"
    requests = frames(b"a", b"refused", b"c", b"x,refused", b"e")
    requests[2] = frames(b"", b"", b"c", serialize_type=BINARY)[2]._replace(
        header=memoryview(encode_header(Header(code=APPENDS, opaque=2), BINARY))
    )
    peer = serve(dispatcher, requests)
    illegal = ResponseCode.MESSAGE_ILLEGAL
    assert peer.answers == [(0, 0), (1, illegal), (2, 0), (3, illegal), (4, 0)]


@pytest.mark.parametrize("code", [ResponseCode.SUCCESS, ResponseCode.FLUSH_DISK_TIMEOUT])
def test_messages_that_wait_for_the_disk_wait_once_and_others_do_not(
    dispatcher: FrameDispatcher, memory: Memory, code: ResponseCode
) -> None:
    memory.syncs = True
    peer = serve(dispatcher, frames(b"a", b"hurried", b"b"))
    assert (memory.groups, peer.answers) == ([[b"a", b"hurried", b"b"]], [(1, 0)])
    (report,) = memory.disk
    report(code)
    assert peer.answers == [(1, 0), (0, code), (2, code)]


def test_a_second_decision_is_made_after_the_first_is_stored(
    dispatcher: FrameDispatcher, memory: Memory, service: Service
) -> None:
    peer = serve(dispatcher, frames(b"1", b"2", b"1", b"3"))
    assert memory.groups == [[b"1", b"2"], [b"3"]]
    assert peer.answers == [(0, 0), (1, 0), (2, ResponseCode.SYSTEM_ERROR), (3, 0)]
    assert service.decided == {1, 2, 3}


def test_a_decision_that_is_refused_may_be_made_again(
    dispatcher: FrameDispatcher, memory: Memory, service: Service
) -> None:
    memory.refuses = b"1"
    peer = serve(dispatcher, frames(b"1", b"1", b"2"))
    assert memory.groups == [[b"1"], [b"1", b"2"]]
    assert peer.answers == [(0, ResponseCode.MESSAGE_ILLEGAL), (1, ResponseCode.MESSAGE_ILLEGAL), (2, 0)]
    assert service.decided == {2}


def test_other_connections_are_served_after_a_long_group(dispatcher: FrameDispatcher, memory: Memory) -> None:
    session: Any = RecordingSession()
    assert dispatcher.serve(session, frames(b"long", b"a", b"long", b"b")) == 3
    assert memory.groups == [[b"long", b"a", b"long"]]


def test_requests_before_a_bad_header_are_stored(dispatcher: FrameDispatcher, memory: Memory) -> None:
    peer = RecordingSession()
    bad = RawFrame(JSON, memoryview(b"GET /"), memoryview(b""))
    with pytest.raises(HeaderInvalid):
        serve(dispatcher, [*frames(b"a"), bad, *frames(b"b")], peer)
    assert (memory.groups, peer.answers) == ([[b"a"]], [(0, 0)])


def test_a_bug_of_the_store_is_answered(
    dispatcher: FrameDispatcher, memory: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    peer = serve(dispatcher, frames(b"a", b"bang"))
    assert peer.answers == [(0, ResponseCode.SYSTEM_ERROR), (1, ResponseCode.SYSTEM_ERROR)]
    assert "ZeroDivisionError" in caplog.text
    assert serve(dispatcher, frames(b"b")).answers == [(0, 0)]


def test_a_bug_after_storing_removes_no_answer(
    dispatcher: FrameDispatcher, service: Service, memory: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    class Unhashable(set[int]):
        def update(self, *_: object) -> None:
            raise ZeroDivisionError

    service.decided = Unhashable()
    peer = serve(dispatcher, frames(b"1", b"a", b"2"))
    assert peer.answers == [(0, 0), (1, 0), (2, 0)]
    assert memory.groups == [[b"1", b"a", b"2"]]
    assert caplog.text.count("after storing for") == 3


@pytest.mark.parametrize(
    ("error", "stored"), [(ZeroDivisionError, [[b"a"], [b"kept"]]), (KeyboardInterrupt, [[b"kept"]])]
)
def test_an_error_in_serving_leaves_nothing_for_the_next_read(
    dispatcher: FrameDispatcher, memory: Memory, error: type[BaseException], stored: list[list[bytes]]
) -> None:
    """A bug of dispatch ends the connection, but the requests before it are stored."""
    times = iter([0.0])

    def breaking() -> float:
        for seconds in times:
            return seconds
        raise error

    now, dispatcher.now = dispatcher.now, breaking
    with pytest.raises(error):
        serve(dispatcher, frames(b"a"))
    dispatcher.now = now
    serve(dispatcher, frames(b"kept"))
    assert memory.groups == stored
