"""Replaying against real servers: the same answers from a fresh one, and each kind of difference found."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from rocketwire.capture.contents.frames import RecordedFrame, decoded
from rocketwire.capture.errors import CannotReplay
from rocketwire.capture.file.events import (
    ConnectionOpened,
    CutParts,
    Event,
    FrameSent,
    RecordingStarted,
    Role,
    StreamSource,
)
from rocketwire.capture.record.relay import RecordingOptions
from rocketwire.capture.replay.compare import AnswerDifference
from rocketwire.capture.replay.player import RecordingPlayer, ReplayOutcome, ReplayTarget
from rocketwire.capture.replay.requests import OffsetTranslation, prepared, target_of
from rocketwire.remoting.cluster import BlockingCluster
from rocketwire.remoting.credentials import Credentials, Signer
from rocketwire.remoting.errors import NotReached
from rocketwire.wire.addresses import Address, parse_address
from rocketwire.wire.facts.codes import FLAG_ONEWAY, FLAG_RESPONSE, RequestCode
from rocketwire.wire.frame import decode_frame, encode_frame
from rocketwire.wire.header import Header
from rocketwire.wire.message_id import offset_message_id
from rocketwire.wire.signature import SecretKey
from tests.capture.support import Peer, recording, request
from tests.capture.test_proxy import accepting
from tests.cli.endpoint import Addresses, real_endpoint

SEND = {
    "a": "P",
    "b": "T",
    "c": "TBW102",
    "d": "4",
    "e": "0",
    "f": "0",
    "g": "1700000000000",
    "h": "0",
    "i": "k\x01v\x02",
}
PULL = {
    "consumerGroup": "G",
    "topic": "T",
    "queueId": "0",
    "queueOffset": "0",
    "maxMsgNums": "32",
    "sysFlag": "4",
    "commitOffset": "0",
    "suspendTimeoutMillis": "0",
    "subVersion": "0",
    "subscription": "*",
}


WHOLE = CutParts(0)


def replayed(events: list[Event], endpoint: Addresses) -> tuple[list[AnswerDifference], ReplayOutcome]:
    target = ReplayTarget(name_server=endpoint.name_server, brokers=lambda: {"other": endpoint.broker}, timeout=5)
    player = RecordingPlayer(list(decoded(events)), target, speed=None)
    return list(player.differences()), player.outcome


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> list[Event]:
    """A client that queries a route, sends two messages and gets them, of a real server."""
    folder = tmp_path_factory.mktemp("recorded")
    with real_endpoint(folder / "store") as endpoint, recording(folder / "s", str(endpoint.name_server)) as running:
        name_server = Peer.to(running.address)
        name_server.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "TBW102"})
        cluster = BlockingCluster(str(running.address))
        (connection,) = cluster.all_brokers().values()
        broker = Peer.to(Address(host=connection.address[0], port=connection.address[1]))
        for number in range(2):
            answer = broker.ask(RequestCode.SEND_MESSAGE_V2, SEND, b"body %d" % number, opaque=number, form=number)
            assert answer.header.code == 0
        pulled = broker.ask(RequestCode.PULL_MESSAGE, PULL, opaque=9)
        assert b"body 1" in pulled.body
        message_id = (answer.header.ext or {})["msgId"]
        place = str(int(message_id[-16:], 16))
        assert b"body 1" in broker.ask(RequestCode.VIEW_MESSAGE_BY_ID, {"offset": place}, opaque=10).body
        cluster.close()
        name_server.close()
        broker.close()
    return running.events()


def test_a_fresh_server_gives_the_same_answers(events: list[Event], tmp_path: Path) -> None:
    with real_endpoint(tmp_path) as endpoint:
        found, outcome = replayed(events, endpoint)
    assert found == []
    assert outcome == ReplayOutcome(sent=6, compared=6)
    assert not outcome.failed


def test_a_server_with_other_messages_differs(events: list[Event], tmp_path: Path) -> None:
    with real_endpoint(tmp_path) as endpoint:
        broker = Peer.to(endpoint.broker)
        broker.ask(RequestCode.SEND_MESSAGE_V2, SEND, b"another before")
        broker.close()
        found, outcome = replayed(events, endpoint)
    fields = {(each.request, each.field): (each.recorded, each.replayed) for each in found}
    assert fields["SEND_MESSAGE_V2", "fields.queueOffset"] == ("1", "2")
    assert fields["PULL_MESSAGE", "body[0].body"] == ("body 0", "another before")
    assert fields["PULL_MESSAGE", "fields.maxOffset"] == ("2", "3")
    # Its place in the log is another, and was learnt from the answer to its send.
    assert {field for request, field in fields if request == "VIEW_MESSAGE_BY_ID"} == {"body[0].queueOffset"}
    assert outcome.different == 4
    assert outcome.failed


def test_other_settings_are_found(events: list[Event], tmp_path: Path) -> None:
    with real_endpoint(tmp_path, auto_create_topic_enable=False) as endpoint:
        found, _ = replayed(events, endpoint)
    codes = [(each.request, each.recorded, each.replayed) for each in found if each.field == "code"]
    assert codes[0] == ("GET_ROUTEINFO_BY_TOPIC", "SUCCESS", "TOPIC_NOT_EXIST")
    assert ("SEND_MESSAGE_V2", "SUCCESS", "TOPIC_NOT_EXIST") in codes


def test_a_missing_endpoint_is_reported(events: list[Event]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        nowhere = Address(host="127.0.0.1", port=closed.getsockname()[1])
    with pytest.raises(NotReached, match="refused"):
        replayed(events, Addresses(nowhere, nowhere))


def made(*frames: tuple[StreamSource, bytes], left: CutParts = WHOLE) -> list[Event]:
    """A recording of one connection."""
    started = RecordingStarted(time=0, wall=0, upstream="", program="", bodies=True, secrets=False)
    opened = ConnectionOpened(time=0, connection=1, role=Role.NAME_SERVER, client="", server="")
    sent = [
        FrameSent(time=n, connection=1, source=side, left=left, size=len(data), data=data)
        for n, (side, data) in enumerate(frames)
    ]
    return [started, opened, *sent]


def answer(code: int = 0, *, opaque: int = 1, body: bytes = b"", **fields: object) -> bytes:
    return encode_frame(Header(code=code, opaque=opaque, flag=FLAG_RESPONSE, **fields), body)  # type: ignore[arg-type]


def alone(address: str) -> Addresses:
    return Addresses(parse_address(address), parse_address(address))


def test_requests_of_the_endpoint_are_answered_as_recorded() -> None:
    requested = request(RequestCode.CHECK_TRANSACTION_STATE, {"msgId": "x"}, opaque=70)
    reply = answer(opaque=70, ext={"state": "8"})

    def serve(sock: socket.socket) -> None:
        peer = Peer(sock)
        peer.frame()
        sock.sendall(request(RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, opaque=4, flag=FLAG_ONEWAY))
        sock.sendall(request(RequestCode.CHECK_TRANSACTION_STATE, {"msgId": "y"}, opaque=99))
        got = peer.frame().header
        assert (got.opaque, got.ext) == (99, {"state": "8"})
        sock.sendall(answer(0))

    address, thread = accepting(serve)
    events = made(
        (StreamSource.CLIENT, request(34)),
        (StreamSource.SERVER, requested),
        (StreamSource.CLIENT, reply),
        (StreamSource.SERVER, answer(0)),
    )
    found, outcome = replayed(events, alone(address))
    thread.join(60)
    assert found == []
    assert (outcome.sent, outcome.compared) == (1, 1)


def test_an_answer_that_does_not_come_is_a_difference() -> None:
    def serve(sock: socket.socket) -> None:
        Peer(sock).frame()

    address, _ = accepting(serve)
    found, outcome = replayed(
        made((StreamSource.CLIENT, request(34)), (StreamSource.SERVER, answer(0))), alone(address)
    )
    (difference,) = found
    assert (difference.field, difference.recorded) == ("answer", "SUCCESS")
    assert difference.replayed == "closed the connection"
    assert outcome.failed


def test_requests_without_their_body_are_not_sent() -> None:
    def serve(sock: socket.socket) -> None:
        assert sock.recv(1) == b""

    address, thread = accepting(serve)
    events = made((StreamSource.CLIENT, request(34)), (StreamSource.SERVER, answer(0)), left=CutParts.BODY)
    found, outcome = replayed(events, alone(address))
    thread.join(60)
    assert found == []
    assert (outcome.sent, outcome.compared, len(outcome.unsent)) == (0, 0, 1)
    assert outcome.failed


def test_masked_answers_are_compared_with_masks() -> None:
    body = b'{"plainAccessConfigs":[{"accessKey":"one","secretKey":"two","admin":true}]}'
    shown = body.replace(b'"one"', b'"***"').replace(b'"two"', b'"***"')

    def serve(sock: socket.socket) -> None:
        Peer(sock).frame()
        sock.sendall(answer(0, body=body))
        sock.recv(1)

    address, _ = accepting(serve)
    events = made((StreamSource.CLIENT, request(54)), (StreamSource.SERVER, answer(0, body=shown)))
    masked = events[-1]
    assert isinstance(masked, FrameSent)
    events[-1] = FrameSent(
        time=5, connection=1, source=StreamSource.SERVER, left=CutParts.SECRETS, size=masked.size, data=masked.data
    )
    assert replayed(events, alone(address))[0] == []


def test_a_recording_without_requests_cannot_be_replayed() -> None:
    with pytest.raises(CannotReplay, match="no request"):
        replayed(made(), alone("127.0.0.1:1"))


def frame_of(data: bytes, left: CutParts = WHOLE, requested: RecordedFrame | None = None) -> RecordedFrame:
    header, body, form = decode_frame(data)
    sent = FrameSent(time=0, connection=1, source=StreamSource.CLIENT, left=left, size=len(data), data=data)
    return RecordedFrame(1, sent, header, bytes(body), form, requested)


@pytest.mark.parametrize("form", [0, 1])
def test_requests_are_signed_again(form: int) -> None:
    data = request(34, {"AccessKey": "***", "Signature": "***", "x": "1"}, b"body", form=form)
    frame = frame_of(data, CutParts.ACCOUNT)
    unsigned = decode_frame(prepared(frame, None, OffsetTranslation()))
    assert unsigned.header.ext == {"x": "1"}
    signed = decode_frame(prepared(frame, Signer(Credentials(access_key="me", secret_key="s")), OffsetTranslation()))
    assert signed.header.ext is not None
    assert signed.header.ext["AccessKey"] == "me"
    assert SecretKey("s").verify(signed.header.ext, b"body")
    assert (bytes(signed.body), signed.serialize_type) == (b"body", form)


def test_requests_that_need_no_change_are_sent_byte_for_byte() -> None:
    data = b"\0\0\0\x27\0\0\0\x20" + b'{"code":34, "opaque":1,"flag":0}' + b"abc"
    assert prepared(frame_of(data), None, OffsetTranslation()) == data


def test_places_of_messages_are_learnt_from_answers_to_sends() -> None:
    host = bytes(8)
    requested = frame_of(request(RequestCode.SEND_BATCH_MESSAGE))
    ids = [",".join(offset_message_id(host, place) for place in places) for places in ((10, 20), (100, 200))]
    places = OffsetTranslation()
    places.learn(frame_of(answer(ext={"msgId": ids[0]}), requested=requested), {"msgId": ids[1]}, b"")
    assert [places.now(each) for each in ("10", "20", "30")] == ["100", "200", "30"]
    ended = frame_of(request(RequestCode.END_TRANSACTION, {"commitLogOffset": "20", "tranStateTableOffset": "1"}))
    assert decode_frame(prepared(ended, None, places)).header.ext == {
        "commitLogOffset": "200",
        "tranStateTableOffset": "1",
    }


def test_brokers_are_found_by_name_by_the_vip_port_too() -> None:
    names = {"10.0.0.1:10911": "a", "10.0.0.2:10911": "b"}
    brokers = {"a": parse_address("127.0.0.1:1"), "b": parse_address("127.0.0.1:2")}
    assert target_of("10.0.0.2:10911", names, brokers).port == 2
    assert target_of("10.0.0.1:10909", names, brokers).port == 1
    assert target_of("10.0.0.9:1", {}, {"x": brokers["a"]}).port == 1
    with pytest.raises(CannotReplay, match="has no counterpart"):
        target_of("10.0.0.9:1", names, brokers)


def test_without_bodies_the_headers_are_compared(tmp_path: Path) -> None:
    with (
        real_endpoint(tmp_path / "store") as endpoint,
        recording(tmp_path / "s", str(endpoint.name_server), options=RecordingOptions(bodies=False)) as running,
    ):
        peer = Peer.to(running.address)
        peer.ask(RequestCode.GET_BROKER_CLUSTER_INFO)
        peer.close()
    with real_endpoint(tmp_path / "other") as endpoint:
        found, outcome = replayed(running.events(), endpoint)
    assert (found, outcome) == ([], ReplayOutcome(sent=1, compared=1))
