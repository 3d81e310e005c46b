from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rocketwire.remoting import Credentials
from rocketwire.remoting.core.session import ClientRequest, ClientSession, RequestReceived, ResponseReceived
from rocketwire.remoting.credentials import Signer
from rocketwire.wire.errors import WireError
from rocketwire.wire.facts.codes import RequestCode, SerializeType
from rocketwire.wire.frame import decode_frame
from rocketwire.wire.header import Header
from rocketwire.wire.headers.query import ViewMessageRequestHeader
from rocketwire.wire.java import INT32_MAX
from rocketwire.wire.signature import ACCESS_KEY, SIGNATURE, UNIQUE_KEY_QUERY, SecretKey, signed_content

CODE = RequestCode.VIEW_MESSAGE_BY_ID


def request(offset: int, body: bytes = b"") -> ClientRequest:
    return ClientRequest(CODE, ViewMessageRequestHeader(offset=offset), body)


@given(st.lists(st.binary(max_size=40), max_size=6), st.sampled_from(SerializeType), st.data())
def test_two_sessions_understand_each_other_however_the_bytes_are_cut(
    bodies: list[bytes], serialize: SerializeType, data: st.DataObject
) -> None:
    client, server = ClientSession(serialize=serialize, language="PYTHON"), ClientSession()
    sent = [client.request(request(number, body)) for number, body in enumerate(bodies)]
    stream = b"".join(each for _, each in sent)
    requested: list[RequestReceived] = []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        found, broken = server.receive(stream[:size])
        assert broken is None
        requested += [each for each in found if isinstance(each, RequestReceived)]
        stream = stream[size:]
    assert [(each.opaque, each.code, each.ext, bytes(each.body)) for each in requested] == [
        (opaque, CODE, {"offset": str(number)}, bodies[number]) for number, (opaque, _) in enumerate(sent)
    ]
    assert all(each.serialize_type == serialize for each in requested)
    replies = b"".join(server.reply(each, code=7, remark="r", body=bytes(each.body)) for each in reversed(requested))
    answers, broken = client.receive(replies)
    assert broken is None
    assert [
        (each.opaque, each.answer.code, each.answer.remark, bytes(each.answer.body))
        for each in answers
        if isinstance(each, ResponseReceived)
    ] == [(opaque, 7, "r", body) for (opaque, _), body in reversed(list(zip(sent, bodies, strict=True)))]


def test_opaques_are_all_different_and_begin_again_at_the_end() -> None:
    session = ClientSession()
    session._opaque = INT32_MAX - 1
    assert [session.request(request(0))[0] for _ in range(3)] == [INT32_MAX, 1, 2]


def test_one_way_requests_and_signatures() -> None:
    session = ClientSession(sign=Signer(Credentials(access_key="rocketwire", secret_key="12345678")).signed)
    frame = decode_frame(session.request(request(1, b"body"), oneway=True)[1])
    assert frame.header.is_oneway
    assert SecretKey("12345678").verify(frame.header.ext or {}, b"body")


def test_a_request_for_a_key_is_signed_so_that_all_brokers_agree() -> None:
    """Those of 4.9.7 leave a field out when they check, those of 5.x for clients up to 4.9.3."""
    header = Header(code=12, opaque=1, version=407, ext={"key": "K", "topic": "T", UNIQUE_KEY_QUERY: "true"})
    signed = Signer(Credentials(access_key="a", secret_key="b")).signed(header, b"")
    assert signed.version == 399
    assert signed.ext is not None
    without = {name: value for name, value in signed.ext.items() if name not in {UNIQUE_KEY_QUERY, SIGNATURE}}
    assert without == {"key": "K", "topic": "T", ACCESS_KEY: "a"}
    assert signed.ext[SIGNATURE].encode() == SecretKey("b").sign(signed_content(without))
    assert signed.ext[UNIQUE_KEY_QUERY] == "true"


def test_what_comes_before_an_error_is_given_with_it() -> None:
    client = ClientSession()
    _, good = ClientSession().request(request(1))
    found, broken = client.receive(good + b"\xff\xff\xff\xff\xff\xff\xff\xff")
    assert len(found) == 1
    assert isinstance(broken, WireError)
    found, broken = ClientSession().receive(good + b"\0\0\0\x06\0\0\0\x02no")
    assert len(found) == 1
    assert isinstance(broken, WireError)
