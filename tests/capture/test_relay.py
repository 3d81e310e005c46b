"""One relayed connection without sockets: what passes, what is recorded, what is masked."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.capture.file.events import CutParts, Event, FrameSent, Role, StreamSource, UnreadableBytes
from rocketwire.capture.record.relay import RecordedConnection, RecordingOptions
from rocketwire.wire.bodies import decode_body, encode_body
from rocketwire.wire.bodies.route import BrokerData, ClusterInfo, TopicRouteData
from rocketwire.wire.facts.codes import FLAG_RESPONSE, RequestCode
from rocketwire.wire.frame import decode_frame, encode_frame
from rocketwire.wire.header import Header
from tests.capture.support import request

ROUTE = RequestCode.GET_ROUTEINFO_BY_TOPIC
ADDRESS = "10.0.0.1:10911"
LOCAL = "127.0.0.1:4000"
FORMS = pytest.mark.parametrize("form", [0, 1])


class Connection:
    """A relay with what it recorded."""

    def __init__(self, role: Role = Role.NAME_SERVER, **options: bool) -> None:
        self.events: list[Event] = []
        self.relay = RecordedConnection(
            7,
            role,
            add=self.events.append,
            now=lambda: len(self.events),
            local=lambda address: LOCAL if address == ADDRESS else address,
            options=RecordingOptions(**options),
        )

    def client(self, data: bytes) -> bytes:
        return self.relay.passed(StreamSource.CLIENT, data)

    def server(self, data: bytes) -> bytes:
        return self.relay.passed(StreamSource.SERVER, data)

    @property
    def sent(self) -> list[FrameSent]:
        return [each for each in self.events if isinstance(each, FrameSent)]


def answer(body: bytes = b"", *, code: int = 0, opaque: int = 1, form: int = 0, **fields: Any) -> bytes:
    return encode_frame(Header(code=code, opaque=opaque, flag=FLAG_RESPONSE, **fields), body, form)


def route(address: str = ADDRESS) -> TopicRouteData:
    broker = BrokerData(cluster="c", broker_name="b", broker_addrs={0: address, 1: "10.0.0.2:10911"})
    return TopicRouteData(broker_datas=(broker,), filter_server_table={address: ()})


@FORMS
def test_a_route_names_the_proxy_and_the_recording_the_broker(form: int) -> None:
    connection = Connection()
    requested = request(ROUTE, {"topic": "T"}, form=form)
    assert connection.client(requested) == requested
    answered = answer(encode_body(route()), form=form)
    header, body, _ = decode_frame(connection.server(answered))
    assert decode_body(TopicRouteData, body) == route(LOCAL)
    assert header == decode_frame(answered).header
    assert [each.data for each in connection.sent] == [requested, answered]


def test_the_clusters_brokers_become_the_proxys() -> None:
    connection = Connection()
    connection.client(request(RequestCode.GET_BROKER_CLUSTER_INFO))
    info = ClusterInfo(broker_addr_table={"b": route().broker_datas[0]}, cluster_addr_table={"c": ("b",)})
    found = decode_body(ClusterInfo, decode_frame(connection.server(answer(encode_body(info)))).body)
    assert found.broker_addr_table["b"].broker_addrs[0] == LOCAL
    assert found.cluster_addr_table == info.cluster_addr_table


def test_the_addresses_of_other_answers_stay() -> None:
    connection = Connection()
    connection.client(request(RequestCode.GET_KV_CONFIG))
    answered = answer(encode_body(route()))
    assert connection.server(answered) == answered
    connection.client(request(ROUTE))
    no_json = answer(b'{"brokerAddrs":{0:"10.0.0.1:10911"')
    assert connection.server(no_json) == no_json


@given(cuts=st.lists(st.integers(1, 400), max_size=8), role=st.sampled_from(Role), form=st.sampled_from([0, 1]))
def test_however_bytes_are_cut_the_same_passes(cuts: list[int], role: Role, form: int) -> None:
    connection = Connection(role)
    requested = b"".join(request(code, {"topic": "T"}, b"body", opaque=code, form=form) for code in (10, 11, 12))
    answered = b"".join(answer(b"body" * code, opaque=code, form=form) for code in (12, 11, 10))
    for data, pass_on in ((requested, connection.client), (answered, connection.server)):
        passed, at = b"", 0
        for size in (*cuts, len(data)):
            passed += pass_on(data[at : at + size])
            at += size
        assert passed == data
    assert b"".join(each.data for each in connection.sent) == requested + answered


@pytest.mark.parametrize("role", Role)
def test_bytes_that_are_no_frames_pass_but_are_not_recorded(role: Role) -> None:
    connection = Connection(role)
    requested = request(10)
    data = requested + b"\xff" * 100_000
    assert connection.client(data) == data
    assert connection.client(b"more") == b"more"
    assert connection.server(b"\0\0\0") + connection.relay.ended(StreamSource.SERVER) == b"\0\0\0"
    unreadable = [each for each in connection.events if isinstance(each, UnreadableBytes)]
    assert [(each.size, each.data) for each in unreadable] == [(100_000, b""), (4, b""), (3, b"")]
    reported = Connection(role, secrets=True)
    reported.client(data)
    assert isinstance(reported.events[-1], UnreadableBytes)
    assert reported.events[-1].data == b"\xff" * 100_000


def test_a_header_that_cannot_be_read_passes() -> None:
    connection = Connection()
    data = b"\0\0\0\x08\0\0\0\x04nope"
    assert connection.server(data) == data
    assert isinstance(connection.events[0], UnreadableBytes)


@FORMS
def test_signatures_pass_but_are_masked_in_the_recording(form: int) -> None:
    connection = Connection(Role.BROKER)
    ext = {"AccessKey": "the-user", "Signature": "abc=", "topic": "T"}
    requested = request(10, ext, b"password=1", form=form)
    assert connection.client(requested) == requested
    refused = answer(code=1, remark="Check signature failed for accessKey=the-user", form=form)
    assert connection.server(refused) == refused
    first, second = connection.sent
    assert first.left == CutParts.ACCOUNT
    assert first.size == len(requested)
    header, body, found = decode_frame(first.data)
    assert header.ext == {"AccessKey": "***", "Signature": "***", "topic": "T"}
    assert (body, found) == (b"password=1", form)  # what applications send is theirs
    assert decode_frame(second.data).header.remark == "Check signature failed for accessKey=***"
    assert second.left == CutParts.SECRETS
    reported = Connection(Role.BROKER, secrets=True)
    reported.client(requested)
    assert reported.sent[0].data == requested


@pytest.mark.parametrize(
    ("code", "body", "shown"),
    [
        (
            RequestCode.GET_BROKER_CLUSTER_ACL_CONFIG,
            b'{"plainAccessConfigs":[{"accessKey":"one","secretKey":"two","admin":true}]}',
            {"plainAccessConfigs": [{"accessKey": "***", "secretKey": "***", "admin": True}]},
        ),
        (RequestCode.AUTH_GET_USER, b'{"username":"u","password":null}', {"username": "***"}),
        (RequestCode.GET_BROKER_CONFIG, b'{"a":"{\\"secretKey\\":\\"x\\"}"}', {"a": '{"secretKey":"***"}'}),
    ],
)
def test_secrets_of_administration_are_masked(code: int, body: bytes, shown: object) -> None:
    connection = Connection(Role.BROKER)
    connection.client(request(code))
    assert connection.server(answer(body)) == answer(body)
    assert json.loads(bytes(decode_frame(connection.sent[1].data).body)) == shown
    assert connection.sent[1].left == CutParts.SECRETS


def test_secrets_of_settings_and_headers_are_masked() -> None:
    connection = Connection(Role.BROKER)
    connection.client(request(RequestCode.UPDATE_BROKER_CONFIG, body=b"a=1\ntls.server.keyPassword=geheim\nb=2\n"))
    connection.client(request(RequestCode.UPDATE_AND_CREATE_ACL_CONFIG, {"accessKey": "one", "secretKey": "two"}))
    first, second = connection.sent
    assert decode_frame(first.data).body == b"a=1\ntls.server.keyPassword=***\nb=2\n"
    assert decode_frame(second.data).header.ext == {"accessKey": "***", "secretKey": "***"}
    assert first.left == second.left == CutParts.SECRETS


def test_an_unreadable_body_with_secrets_is_not_recorded() -> None:
    connection = Connection(Role.BROKER)
    connection.client(request(RequestCode.GET_BROKER_CLUSTER_ACL_CONFIG))
    connection.server(answer(b'{"secretKey":"two'))
    assert decode_frame(connection.sent[1].data).body == b""


def test_names_of_topics_are_no_secrets() -> None:
    connection = Connection(Role.BROKER)
    connection.client(request(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER))
    answered = answer(b'{"topicList":["password-reset"]}')
    connection.server(answered)
    assert connection.sent[1].data == answered


def test_recordings_without_bodies() -> None:
    connection = Connection(Role.BROKER, bodies=False)
    requested = request(10, {"topic": "T"}, b"private")
    connection.client(requested)
    (sent,) = connection.sent
    assert (sent.left, sent.size) == (CutParts.BODY, len(requested))
    assert decode_frame(sent.data) == (decode_frame(requested).header, b"", 0)
