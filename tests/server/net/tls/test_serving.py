"""TLS and plain clients at real servers: gate, connection, engine, and how listener, session and hub use them."""

from __future__ import annotations

import contextlib
import errno
import logging
import random
import ssl
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import trio
import trustme

from rocketwire.server.dispatch.dispatcher import FrameDispatcher
from rocketwire.server.net.output import HIGH_WATER
from rocketwire.server.net.session import Session
from rocketwire.server.net.tls import gate as gate_module
from rocketwire.server.net.tls.engine import TlsEngine
from rocketwire.wire.facts.codes import RequestCode
from tests.server.harness import Client, Server, bodies, pull_ext, records, send_ext, serving, settle, warnings
from tests.server.net.tls.support import (
    Files,
    TlsClient,
    refused,
    secured,
    trusting_any_certificate,
    trusting_authority,
)

MIB = 1 << 20

pytestmark = pytest.mark.usefixtures("driver")


def sockets() -> int:
    """How many this process has open."""
    count = 0
    for each in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            count += str(each.readlink()).startswith("socket:")
    return count


# --- modes ---


async def test_both_kinds_of_clients_are_served_on_the_same_port(
    server: Server, broker: Client, caplog: pytest.LogCaptureFixture
) -> None:
    client = secured(server)
    assert (await client.send("T", b"hidden")).header.code == 0
    assert (await broker.send("T", b"plain")).header.code == 0
    for each in (client, broker):
        assert bodies(await each.pull("T")) == [b"hidden", b"plain"]
    assert client.tls.version() == "TLSv1.3"
    assert warnings(caplog) == []


async def test_the_name_server_serves_tls_too(server: Server) -> None:
    client = TlsClient(server.name_server_address)
    server.adopt(client)
    answer = await client.request(RequestCode.GET_BROKER_CLUSTER_INFO)
    assert b"broker-a" in answer.body


async def test_tls_1_2_is_accepted_and_1_1_is_not(server: Server) -> None:
    context = trusting_any_certificate()
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    client = secured(server, context)
    await client.create_topic("T")
    assert client.tls.version() == "TLSv1.2"
    old = trusting_any_certificate()
    old.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        old.minimum_version = ssl.TLSVersion.TLSv1_1
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        old.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises(ssl.SSLError, match="alert protocol version"):
        await secured(server, old).shake_hands()


async def test_disabled_closes_tls_clients(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with serving(tmp_path / "store", tls_server_mode="disabled") as server:
        client = secured(server)
        local = client.local
        assert await refused(client)
        await server.broker().create_topic("T")
    assert warnings(caplog) == [f"closing {local}: it begins TLS, and tls.server.mode is disabled"]


@pytest.mark.parametrize("which", ["broker", "name_server"])
async def test_enforcing_closes_plain_clients(tmp_path: Path, which: str, caplog: pytest.LogCaptureFixture) -> None:
    async with serving(tmp_path / "store", tls_server_mode="enforcing") as server:
        plain = server.broker() if which == "broker" else server.name_server()
        local = plain.local
        await plain.write(plain.frame(RequestCode.GET_BROKER_CLUSTER_INFO))
        assert await plain.ended()
        client = secured(server)
        await client.create_topic("T")
        assert (await client.send("T")).header.code == 0
    assert warnings(caplog) == [f"closing {local}: TLS: the client does not begin it, and tls.server.mode is enforcing"]


async def test_enforcing_waits_for_a_first_byte_for_the_permitted_silence(tmp_path: Path) -> None:
    async with serving(tmp_path / "store", tls_server_mode="enforcing") as server:
        silent = server.broker()
        await server.pass_time(100)
        assert await silent.is_open()
        await server.pass_time(40)
        assert await silent.ended()


async def test_only_a_connections_first_bytes_begin_tls(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    client = server.broker()
    assert (await client.request(9999)).header.code == 3
    await client.write(b"\x16\x03\x01\x02\0\x01\0\x01")
    assert await client.ended()
    (line,) = warnings(caplog)
    assert line.startswith(f"closing {client.local}: frame of ")


async def test_tls_does_not_begin_within_tls(server: Server, broker: Client, caplog: pytest.LogCaptureFixture) -> None:
    client, inner = secured(server), secured(server)
    await client.shake_hands()
    await settle()
    before = sockets()
    with pytest.raises(ssl.SSLWantReadError):
        inner.tls.do_handshake()
    await client.write(inner.outgoing.read())
    assert await client.ended()
    assert sockets() < before
    assert warnings(caplog) == [f"closing {client.local}: it begins TLS where none may begin"]
    assert (await secured(server).send("T")).header.code == 0


# --- what sessions see ---


async def test_the_clients_own_address_is_stored(server: Server, broker: Client) -> None:
    client = secured(server)
    await client.send("T")
    (message,) = records((await broker.pull("T")).body)
    assert message.born_host == client.sock.getsockname()


async def test_the_kernel_serves_tls_clients(
    server: Server, broker: Client, driver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = secured(server)
    await client.send("T", b"first")
    real = FrameDispatcher.serve
    by_python = []

    def noting(self: FrameDispatcher, session: Session, frames: list[Any]) -> int:
        by_python.append(len(frames))
        return real(self, session, frames)

    monkeypatch.setattr(FrameDispatcher, "serve", noting)
    await client.send("T", b"second")
    assert bodies(await client.pull("T", 1)) == [b"second"]
    assert bool(by_python) == (driver == "task")


async def test_a_held_pull_is_answered(server: Server, broker: Client) -> None:
    client = secured(server)
    await client.hold("T")
    await broker.send("T", b"news")
    assert bodies(await client.receive()) == [b"news"]


async def test_long_frames_pass_in_both_directions(tmp_path: Path) -> None:
    body = random.Random(8).randbytes(15 * MIB)
    settings: dict[str, Any] = {"mapped_file_size_commit_log": 64 * MIB, "max_message_size": 16 * MIB - 65536}
    async with serving(tmp_path / "store", **settings) as server:
        client = secured(server)
        await client.create_topic("T")
        assert (await client.send("T", body)).header.code == 0
        assert bodies(await client.pull("T")) == [body]


async def test_many_requests_of_one_read_are_answered_in_their_order(server: Server, broker: Client) -> None:
    client = secured(server)
    frames = [client.frame(RequestCode.SEND_MESSAGE_V2, send_ext("T"), bytes(each), opaque=each) for each in range(400)]
    await client.write(b"".join(frames))
    assert [(await client.receive()).header.opaque for _ in frames] == list(range(400))


# --- ends ---


async def test_a_broken_frame_ends_the_connection_after_the_answers(
    server: Server, broker: Client, caplog: pytest.LogCaptureFixture
) -> None:
    client = secured(server)
    good = client.frame(RequestCode.SEND_MESSAGE_V2, send_ext("T"), b"good", opaque=5)
    await client.write(good + b"GET / HTTP/1.1\r\n")
    assert (await client.receive()).header.opaque == 5
    assert await client.ended()
    assert client.tls.read(1) == b""  # it got an alert
    (line,) = warnings(caplog)
    assert line.startswith(f"closing {client.local}: frame of ")


@pytest.mark.parametrize("how", ["notified", "not notified", "reset"])
async def test_clients_may_leave(
    server: Server, broker: Client, how: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[str] = []
    real = Session.close

    def noting(self: Session) -> None:
        closed.append(self.remote_text)
        real(self)

    monkeypatch.setattr(Session, "close", noting)
    await broker.send("T")
    before = sockets()
    client = secured(server)
    local = client.local
    await client.send("T")
    if how == "notified":
        with pytest.raises(ssl.SSLWantReadError):
            client.tls.unwrap()
        await client.send_encrypted()
        assert await client.ended()
    if how == "reset":
        await client.write(client.frame(RequestCode.PULL_MESSAGE, pull_ext("T")))
    client.close()
    await settle()
    assert local in closed
    assert sockets() == before
    assert warnings(caplog) == []


async def test_a_client_that_sends_no_more_gets_the_answers_to_its_requests(server: Server, broker: Client) -> None:
    client = secured(server)
    await client.shake_hands()
    frame = client.frame(RequestCode.SEND_MESSAGE_V2, send_ext("T"), b"last", opaque=5)
    client.tls.write(frame)
    with pytest.raises(ssl.SSLWantReadError):
        client.tls.unwrap()
    await client.send_encrypted()
    assert [answer.header.opaque for answer in await client.arrived()] == [5]
    assert await client.ended()


async def test_a_silent_client_is_closed_as_a_plain_one(
    server: Server, broker: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    client, plain = secured(server), server.broker()
    for each in (client, plain):
        await each.send("T")
    await server.pass_time(110)
    assert await client.is_open()
    await server.pass_time(20)
    assert await client.ended()
    assert await plain.ended()
    for each in (client, plain):
        assert f"closing idle connection {each.local}" in caplog.text
    assert warnings(caplog) == []


# --- slow readers ---


async def test_the_memory_for_a_client_that_does_not_read_is_bounded(
    sessions: list[Session], server: Server, broker: Client
) -> None:
    body = random.Random(8).randbytes(MIB)
    await broker.send("T", body)
    slow = secured(server, receive_buffer=4096)
    frames = b"".join(slow.frame(RequestCode.PULL_MESSAGE, pull_ext("T"), opaque=each) for each in range(64))
    await slow.write(frames)
    await settle()
    assert HIGH_WATER < sessions[-1].unsent < HIGH_WATER + 2 * MIB
    assert (await broker.send("T", b"others")).header.code == 0
    for each in range(64):
        answer = await slow.receive()
        assert answer.header.opaque == each
        assert records(answer.body)[0].body == body
    assert sessions[-1].unsent == 0


async def test_a_client_that_never_reads_is_closed(
    server: Server, broker: Client, caplog: pytest.LogCaptureFixture
) -> None:
    await broker.send("T", bytes(MIB))
    broker.close()
    await settle()
    before = sockets()
    slow = secured(server, receive_buffer=4096)
    await slow.write(b"".join(slow.frame(RequestCode.PULL_MESSAGE, pull_ext("T")) for _ in range(16)))
    await server.pass_time(260)
    assert sockets() == before + 1  # that of the slow client
    assert f"closing {slow.local}: TLS: the client does not read" in warnings(caplog)


# --- handshakes ---


async def test_a_handshake_may_come_byte_by_byte(server: Server, broker: Client) -> None:
    client = secured(server)
    with pytest.raises(ssl.SSLWantReadError):
        client.tls.do_handshake()
    for byte in client.outgoing.read():
        await Client.write(client, bytes([byte]))
        await settle()
    assert (await client.send("T")).header.code == 0


GARBAGE = {
    "SSL 3": b"\x16\x03\x00\0\x04\x01\0\0\0",
    "version 9": b"\x16\x09\x09\0\x04\x01\0\0\0",
    "no hello": b"\x16\x03\x01\0\x08\x02\0\0\x04abcd",
    "empty records": b"\x16\x03\x01\0\0" * 100,
    "a long record": b"\x16\x03\x01\xff\xff" + bytes(70_000),
    "zeros": b"\x16" + bytes(1000),
    "noise": b"\x16" + random.Random(1).randbytes(1000),
}


@pytest.mark.parametrize("data", GARBAGE.values(), ids=GARBAGE.keys())
@pytest.mark.parametrize("mode", ["permissive", "enforcing"])
async def test_a_malformed_handshake_closes_one_connection_with_one_line(
    tmp_path: Path, data: bytes, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(tmp_path / "store", tls_server_mode=mode) as server:
        good = secured(server)
        await good.create_topic("T")
        bad = server.broker()
        await bad.write(data)
        assert await bad.ended()
        (line,) = warnings(caplog)
        assert line.startswith(f"closing {bad.local}: TLS: ")
        assert len(line) < 200
        assert (await good.send("T")).header.code == 0


@pytest.mark.parametrize("sent", [1, 7, 8, 100])
async def test_a_handshake_has_a_time_limit(
    server: Server, driver: str, caplog: pytest.LogCaptureFixture, sent: int
) -> None:
    client = secured(server)
    with pytest.raises(ssl.SSLWantReadError):
        client.tls.do_handshake()
    await Client.write(client, client.outgoing.read()[:sent])
    await settle()
    began = (
        sent >= 8 or driver == "task"
    )  # to the kernel, fewer bytes than a frame begins with may come from a slow plain client
    await server.pass_time(9.9)
    assert await Client.is_open(client)
    await server.pass_time(0.2 if began else 130)
    assert await Client.ended(client)
    assert warnings(caplog) == ([f"closing {client.local}: TLS: the handshake was not over after 10 s"] * began)


async def test_a_client_may_leave_during_the_handshake(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    before = sockets()
    client = secured(server)
    with pytest.raises(ssl.SSLWantReadError):
        client.tls.do_handshake()
    await client.send_encrypted()
    local = client.local
    await settle()
    client.close()
    await settle()
    assert sockets() == before
    assert warnings(caplog) in ([], [f"closing {local}: TLS: the client left before the handshake was over"])


async def _answered_once_it_may_begin(server: Server, ends: Callable[[], Awaitable[None]]) -> None:
    """A client's handshake waits until one of the others `ends`, and is not refused."""
    answers = []

    async def send() -> None:
        answers.append(await secured(server).send("T"))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(send)
        await settle()
        assert not answers
        await ends()
        await server.pass_time(0.02)
    assert answers[0].header.code == 0


@pytest.mark.parametrize(("limit", "ends_by"), [("HANDSHAKES_MOST", "leaving"), ("HANDSHAKES_OF_ADDRESS_MOST", "time")])
async def test_handshakes_at_once_are_bounded_in_all_and_for_each_address_and_others_wait(
    server: Server,
    broker: Client,
    limit: str,
    ends_by: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(gate_module, limit, 2)
    monkeypatch.setattr(gate_module, "_BEGINNING_MOST", 0)
    waiting = [server.broker() for _ in range(2)]
    for each in waiting:
        await each.write(b"\x16\x03\x01\x02\0\x01\0\x01")
    await settle()

    async def ends() -> None:
        if ends_by == "leaving":
            waiting[0].close()
            await settle()
        else:
            await server.pass_time(10.1)

    await _answered_once_it_may_begin(server, ends)
    assert not [line for line in warnings(caplog) if "tlsHandshakes" in line]
    assert len(warnings(caplog)) == 1  # of handshakes that took too long


async def test_too_many_simultaneous_handshakes_are_refused(
    server: Server, broker: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(gate_module, "HANDSHAKES_MOST", 0)
    monkeypatch.setattr(gate_module, "_BEGINNING_MOST", -1)
    late = secured(server)
    assert await refused(late)
    assert warnings(caplog) == [f"limit tlsHandshakes: {late.local} refused, 1 so far"]


async def test_others_are_served_between_the_steps_of_many_handshakes(
    server: Server, broker: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes = 0
    steps: Counter[int] = Counter()
    real = TlsEngine.shake_hands

    async def count() -> None:
        nonlocal passes
        while True:
            await trio.lowlevel.checkpoint()
            passes += 1

    def noting(self: TlsEngine) -> bool:
        steps[passes] += 1
        return real(self)

    async def send_one(client: TlsClient) -> None:
        assert (await client.send("T")).header.code == 0

    monkeypatch.setattr(TlsEngine, "shake_hands", noting)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(count)
        async with trio.open_nursery() as senders:
            for _ in range(20):
                senders.start_soon(send_one, secured(server))
        nursery.cancel_scope.cancel()
    assert steps.total() >= 40
    assert max(steps.values()) <= 2


async def test_bytes_that_were_not_encrypted_end_a_connection(
    server: Server, broker: Client, caplog: pytest.LogCaptureFixture
) -> None:
    client = secured(server)
    await client.send("T")
    await Client.write(client, b"\x17\x03\x03\0\x20" + bytes(32))
    with pytest.raises(ssl.SSLError, match="alert bad record mac"):
        await client.ended()
    await settle()
    (warning,) = warnings(caplog)
    reasons = ("decryption failed or bad record mac", "record layer failure")  # of OpenSSL 3.0, and later ones
    assert warning in [f"closing {client.local}: TLS: {reason}" for reason in reasons]
    assert (await broker.send("T")).header.code == 0


async def test_without_descriptors_a_tls_client_is_closed(
    server: Server, broker: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def none() -> Any:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr("rocketwire.server.net.tls.gate.socket.socketpair", none)
    client = secured(server)
    assert await refused(client)
    assert warnings(caplog) == [f"closing {client.local}: no sockets for TLS: Too many open files"]
    assert (await broker.send("T")).header.code == 0


async def test_a_bug_in_serving_one_connection_ends_only_that(
    server: Server, broker: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("rocketwire.server.net.tls.connection.TlsConnection.pump", broken)
    client = secured(server)
    assert await refused(client)
    assert warnings(caplog) == [f"closing {client.local}"]
    assert "RuntimeError: a bug" in caplog.text
    assert (await broker.send("T")).header.code == 0


# --- certificates ---


CHECKING = {
    "tls_server_need_client_auth": "require",
    "tls_server_authClient": "true",
}


def configured(files: Files, **changes: str) -> dict[str, Any]:
    path = files.properties(**{**CHECKING, "tls_server_trustCertPath": str(files.trust), **changes})
    return {"tls_config_file": str(path)}


async def test_a_client_with_a_certificate_of_the_right_authority_is_served(
    tmp_path: Path, files: Files, authority: trustme.CA
) -> None:
    own = authority.issue_cert("client.test", key_type=trustme.KeyType.ECDSA)
    async with serving(tmp_path / "store", **configured(files, tls_server_mode="enforcing")) as server:
        client = secured(server, trusting_authority(authority, own))
        await client.create_topic("T")
        assert (await client.send("T")).header.code == 0


def wrong_certificate(kind: str, authority: trustme.CA) -> trustme.LeafCert | None:
    options: dict[str, Any] = {"key_type": trustme.KeyType.ECDSA}
    if kind == "none":
        return None
    if kind == "expired":
        long_ago = datetime(2001, 1, 1, tzinfo=UTC)
        return authority.issue_cert(
            "client.test", not_before=datetime(2000, 1, 1, tzinfo=UTC), not_after=long_ago, **options
        )
    return trustme.CA(key_type=trustme.KeyType.ECDSA).issue_cert("client.test", **options)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("none", "peer did not return a certificate"),
        ("expired", "certificate verify failed: certificate has expired"),
        ("foreign", "certificate verify failed"),
    ],
)
async def test_clients_without_such_a_certificate_are_closed_with_an_alert(
    tmp_path: Path,
    files: Files,
    authority: trustme.CA,
    kind: str,
    reason: str,
    version: ssl.TLSVersion,
    caplog: pytest.LogCaptureFixture,
) -> None:
    context = trusting_authority(authority, wrong_certificate(kind, authority))
    context.maximum_version = version
    async with serving(tmp_path / "store", **configured(files)) as server:
        client = secured(server, context)
        with pytest.raises(ssl.SSLError, match="alert"):
            await client.request(RequestCode.GET_BROKER_CONFIG)
        await settle()
        (line,) = warnings(caplog)
        assert line.startswith(f"closing {client.local}: TLS: {reason}")


@pytest.mark.parametrize(("kind", "served"), [("none", True), ("right", True), ("foreign", False)])
async def test_an_optional_certificate_is_checked_if_there_is_one(
    tmp_path: Path, files: Files, authority: trustme.CA, kind: str, served: bool
) -> None:
    own = authority.issue_cert("c") if kind == "right" else wrong_certificate(kind, authority)
    async with serving(tmp_path / "store", **configured(files, tls_server_need_client_auth="optional")) as server:
        assert await refused(secured(server, trusting_authority(authority, own))) is not served


async def test_connections_continue_while_certificates_change(
    tmp_path: Path, files: Files, authority: trustme.CA, certificate: trustme.LeafCert
) -> None:
    async with serving(tmp_path / "store", tls_config_file=str(files.properties())) as server:
        first = secured(server, trusting_authority(authority))
        await first.create_topic("T")
        files.write(authority.issue_cert("other.test", key_type=trustme.KeyType.ECDSA))
        with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
            await secured(server, trusting_authority(authority)).shake_hands()
        assert (await first.send("T")).header.code == 0
        files.write(certificate)
        assert (await secured(server, trusting_authority(authority)).send("T")).header.code == 0
