from __future__ import annotations

import socket

import pytest

from rocketwire.remoting.connection import BlockingConnection
from rocketwire.remoting.core.session import ClientRequest
from rocketwire.remoting.credentials import Credentials
from rocketwire.remoting.errors import NotReached, Refused
from rocketwire.wire.addresses import Address
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.frame import encode_frame
from rocketwire.wire.header import Header
from rocketwire.wire.headers.query import ViewMessageRequestHeader
from rocketwire.wire.signature import SecretKey
from tests.cli.endpoint import Answers, FakeAnswer, fake_server
from tests.server.harness import free_port

CODE = RequestCode.VIEW_MESSAGE_BY_ID


def connected(port: int, timeout: float = 120) -> BlockingConnection:
    return BlockingConnection("broker", Address(host="127.0.0.1", port=port), timeout=timeout)


def test_an_answer_belongs_to_its_request() -> None:
    with (
        fake_server({CODE: lambda ext: FakeAnswer(0, ext, ext["offset"].encode())}) as server,
        connected(server.port) as to,
    ):
        first, second = (to.send(ClientRequest(CODE, ViewMessageRequestHeader(offset=offset))) for offset in (1, 2))
        assert bytes(to.answer(first).body) == b"1"
        answer = to.answer(second)
        assert (answer.code, answer.ext, bytes(answer.body)) == (0, {"offset": "2"}, b"2")


def test_answers_are_taken_in_any_order_and_each_once() -> None:
    with (
        fake_server({CODE: lambda ext: FakeAnswer(body=ext["offset"].encode())}) as server,
        connected(server.port) as to,
    ):
        waiting = [to.send(ClientRequest(CODE, ViewMessageRequestHeader(offset=offset))) for offset in range(5)]
        assert [bytes(to.answer(each).body) for each in reversed(waiting)] == [b"4", b"3", b"2", b"1", b"0"]
        with pytest.raises(KeyError):
            to.answer(waiting[0])
        assert to.own_host == "127.0.0.1"


def test_many_requests_are_answered_in_their_order() -> None:
    requested = [ViewMessageRequestHeader(offset=offset) for offset in range(200)]
    answers: Answers = {CODE: lambda ext: FakeAnswer(body=ext["offset"].encode())}
    with fake_server(answers) as server, connected(server.port) as to:
        assert [int(bytes(answer.body)) for answer in to.ask_all(CODE, requested)] == list(range(200))
        server.answers[CODE] = lambda ext: FakeAnswer(1 if ext["offset"] == "7" else 0, remark="not this one")
        with pytest.raises(Refused, match="answered code 1: not this one"):
            list(to.ask_all(CODE, requested))


def test_a_request_with_a_body_is_signed() -> None:
    account = Credentials(access_key="rocketwire", secret_key="12345678")
    with fake_server({CODE: lambda ext: FakeAnswer(0, ext)}) as server:
        address = Address(host="127.0.0.1", port=server.port)
        with BlockingConnection("broker", address, credentials=account) as to:
            ext = to.answer(to.send(ClientRequest(CODE, ViewMessageRequestHeader(offset=7), b"body"))).ext
            assert to.ask(CODE).ext["AccessKey"] == "rocketwire"
    assert ext.keys() == {"AccessKey", "Signature", "offset"}
    assert SecretKey("12345678").verify(ext, b"body")
    assert not SecretKey("12345678").verify(ext, b"other")
    assert "12345678" not in repr(account)


def test_late_answers_and_requests_of_the_broker_are_ignored() -> None:
    notice = encode_frame(Header(code=40, opaque=2, flag=2, ext={"consumerGroup": "G"}))
    answers: Answers = {
        CODE: lambda ext: FakeAnswer(body=ext["offset"].encode()),
        RequestCode.HEART_BEAT: lambda _: notice,
    }
    with fake_server(answers) as server, connected(server.port) as to:
        to.send(ClientRequest(CODE, ViewMessageRequestHeader(offset=1)))
        to.send(ClientRequest(RequestCode.HEART_BEAT))
        assert bytes(to.ask(CODE, ViewMessageRequestHeader(offset=7)).body) == b"7"


def test_an_error_has_its_code_and_the_first_line_of_its_remark() -> None:
    answers: Answers = {
        CODE: lambda _: FakeAnswer(17, remark="no such thing\nSee also"),
        RequestCode.HEART_BEAT: lambda _: FakeAnswer(1),
    }
    with fake_server(answers) as server, connected(server.port) as to:
        with pytest.raises(Refused, match=rf"^broker {server.address} answered code 17: no such thing$") as refused:
            to.ask(CODE)
        assert refused.value.code == 17
        assert to.ask(CODE, fine=(0, 17)).code == 17
        with pytest.raises(Refused, match="answered code 1: no remark"):
            to.ask(RequestCode.HEART_BEAT)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (None, "no answer within 0.2 s"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "does not speak RocketMQ's protocol: frame of 1213486164 bytes"),
        (b"\0\0\0\x06\0\0\0\x02no", "does not speak RocketMQ's protocol: header is not JSON"),
    ],
)
def test_a_peer_that_does_not_answer_as_a_broker(answer: bytes | None, text: str) -> None:
    timeout = 0.2 if answer is None else 120
    with fake_server({CODE: lambda _: answer}) as server, connected(server.port, timeout=timeout) as to:
        with pytest.raises(NotReached) as failed:
            to.ask(CODE)
        assert str(failed.value).startswith(f"broker {server.address}: {text}")


def test_a_connection_that_ends() -> None:
    with fake_server() as server, connected(server.port) as to:
        server.close()
        with pytest.raises(NotReached, match=r"closed the connection|the connection failed"):
            to.ask(CODE)


def test_a_connection_that_fails() -> None:
    with fake_server({CODE: lambda _: None}) as server, connected(server.port) as to:
        waiting = to.send(ClientRequest(CODE))
        to.close()
        with pytest.raises(NotReached, match="the connection failed: Bad file descriptor"):
            to.send(ClientRequest(CODE))
        with pytest.raises(NotReached, match="the connection failed: Bad file descriptor"):
            to.answer(waiting)


@pytest.mark.parametrize(
    ("host", "text"),
    [("127.0.0.1", "Connection refused"), ("a" * 64 + ".example", "not a host name")],
)
def test_who_cannot_be_reached(host: str, text: str) -> None:
    port = free_port()
    with pytest.raises(NotReached, match=f"name server {host}:{port}: cannot be reached: {text}"):
        BlockingConnection("name server", Address(host=host, port=port), timeout=120)


def test_a_peer_that_does_not_answer_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*_: object) -> None:
        raise TimeoutError

    monkeypatch.setattr(socket, "create_connection", late)
    with pytest.raises(NotReached, match=r"broker 127.0.0.1:1: cannot be reached: no answer in time"):
        connected(1)
