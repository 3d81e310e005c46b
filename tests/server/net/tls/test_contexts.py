"""Certificates: created, loaded, refused, loaded again. Also of self_signed."""

from __future__ import annotations

import logging
import os
import ssl
from pathlib import Path
from typing import Any

import pytest
import trio
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from rocketwire.server.net.tls.contexts import TlsContexts, load_context, self_signed
from rocketwire.server.net.tls.settings import ClientAuth, TlsInvalid, TlsSettings, read_tls_settings
from tests.server.harness import NOW, Clock, run_inline
from tests.server.net.tls.support import HOST, Files


def settings(files: Files, **changes: str) -> TlsSettings:
    return read_tls_settings(str(files.properties(**changes)), "")


def contexts(found: TlsSettings) -> TlsContexts:
    made = TlsContexts(found, clock=Clock(), run_sync=run_inline)
    made.load()
    return made


def shown(context: ssl.SSLContext) -> x509.Certificate:
    """The certificate that a client gets."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.verify_mode = ssl.CERT_NONE
    ends = (client.wrap_bio(to_client, to_server), context.wrap_bio(to_server, to_client, server_side=True))
    for _ in range(3):
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
    der = ends[0].getpeercert(binary_form=True)
    assert der is not None
    return x509.load_der_x509_certificate(der)


# --- test mode ---


def test_the_test_certificate_is_valid_now_and_signs_itself() -> None:
    made = x509.load_pem_x509_certificate(self_signed(NOW).certificate)
    assert made.not_valid_before_utc.timestamp() < NOW / 1000 < made.not_valid_after_utc.timestamp()
    made.verify_directly_issued_by(made)


async def test_test_mode_creates_one_certificate_at_the_first_client() -> None:
    calls = []

    async def counting(sync_fn: Any, *args: Any) -> Any:
        calls.append(sync_fn)
        return await run_inline(sync_fn, *args)

    made = TlsContexts(TlsSettings(), clock=Clock(), run_sync=counting)
    made.load()
    assert calls == []
    found = []

    async def connect() -> None:
        found.append(await made.current())

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(connect)
    assert len(calls) == 1
    assert len(set(map(id, [*found, await made.current()]))) == 1


# --- files ---


def test_a_configured_certificate_is_used(files: Files) -> None:
    context = load_context(settings(files))
    name = x509.DNSName(HOST)
    assert name in shown(context).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert context.verify_mode is ssl.CERT_NONE
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (ClientAuth.NONE, ssl.CERT_NONE),
        (ClientAuth.OPTIONAL, ssl.CERT_OPTIONAL),
        (ClientAuth.REQUIRE, ssl.CERT_REQUIRED),
    ],
)
@pytest.mark.parametrize("trust", [True, False])
def test_clients_must_show_certificates_if_configured(
    files: Files, mode: ClientAuth, expected: int, trust: bool
) -> None:
    found = settings(
        files,
        tls_server_need_client_auth=mode,
        tls_server_authClient="true",
        tls_server_trustCertPath=str(files.trust) if trust else "",
    )
    context = load_context(found)
    assert context.verify_mode == expected
    if trust:
        assert len(context.get_ca_certs()) == 1


def test_a_certificate_that_is_not_checked_is_not_requested(files: Files) -> None:
    assert load_context(settings(files, tls_server_need_client_auth="optional")).verify_mode == ssl.CERT_NONE


def encrypted(files: Files, password: bytes) -> None:
    key = serialization.load_pem_private_key(files.key.read_bytes(), None)
    files.key.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(password),
        )
    )


def test_an_encrypted_key_is_loaded(files: Files) -> None:
    encrypted(files, b"secret")
    shown(load_context(settings(files, tls_server_keyPassword="secret")))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("wrong", "is not its password"),
        ("", "is missing, and the key is encrypted"),
        ("x" * 2000, "is not its password"),
    ],
)
def test_a_wrong_password_is_reported(files: Files, given: str, expected: str) -> None:
    encrypted(files, b"secret")
    found = settings(files, tls_server_keyPassword=given)
    with pytest.raises(TlsInvalid) as refused:
        load_context(found)
    assert str(refused.value) == (f"{found.source}: tls.server.keyPassword: {expected}: tls.server.keyPath={files.key}")


def test_a_key_of_another_certificate_is_reported(files: Files, authority: trustme.CA) -> None:
    files.key.write_bytes(authority.issue_cert(HOST, key_type=trustme.KeyType.ECDSA).private_key_pem.bytes())
    assert refusal(files) == (
        f"tls.server.keyPath={files.key}: is not the key of tls.server.certPath={files.certificate}"
    )


def refusal(files: Files, **changes: str) -> str:
    found = settings(files, **changes)
    with pytest.raises(TlsInvalid) as refused:
        load_context(found)
    source, colon, text = str(refused.value).partition(": ")
    assert (source, colon) == (found.source, ": ")
    return text


NO_CERTIFICATE = "holds no certificate in PEM format"
NO_KEY = "holds no private key in PEM format"


@pytest.mark.parametrize(
    "content", [b"", b"hello\n", b"-----BEGIN CERTIFICATE-----\nhello\n-----END CERTIFICATE-----\n"]
)
def test_files_that_are_no_pem_are_reported(files: Files, content: bytes) -> None:
    checked = {
        "tls_server_need_client_auth": "require",
        "tls_server_authClient": "true",
        "tls_server_trustCertPath": str(files.trust),
    }
    key, certificate = files.key.read_bytes(), files.certificate.read_bytes()
    files.trust.write_bytes(content)
    assert refusal(files, **checked) == f"tls.server.trustCertPath={files.trust}: {NO_CERTIFICATE}"
    files.key.write_bytes(content)
    assert refusal(files, **checked) == f"tls.server.keyPath={files.key}: {NO_KEY}"
    files.certificate.write_bytes(content)
    assert refusal(files, **checked) == f"tls.server.certPath={files.certificate}: {NO_CERTIFICATE}"
    files.key.write_bytes(certificate)
    files.certificate.write_bytes(certificate)
    assert refusal(files) == f"tls.server.keyPath={files.key}: {NO_KEY}"
    files.key.write_bytes(key)
    load_context(settings(files))


@pytest.mark.parametrize("name", ["certPath", "keyPath", "trustCertPath"])
@pytest.mark.parametrize("kind", ["none", "folder"])
def test_missing_files_are_reported(files: Files, tmp_path: Path, name: str, kind: str) -> None:
    path = tmp_path / kind
    if kind == "folder":
        path.mkdir()
    changes = {"tls_server_authClient": "true", f"tls_server_{name}": str(path)}
    why = "Is a directory" if kind == "folder" else "No such file or directory"
    assert refusal(files, **changes) == f"tls.server.{name}={path}: {why}"


# --- reload ---


async def test_new_files_are_for_new_clients(
    files: Files, authority: trustme.CA, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    made = contexts(settings(files))
    first = await made.current()
    assert await made.current() is first
    files.write(authority.issue_cert("other.test", key_type=trustme.KeyType.ECDSA))
    second = await made.current()
    assert second is not first
    assert "other.test" in str(shown(second).extensions.get_extension_for_class(x509.SubjectAlternativeName).value)
    assert await made.current() is second
    assert [record.getMessage() for record in caplog.records] == [
        f"TLS: the certificate in {files.certificate} is loaded again"
    ]


async def test_while_certificate_and_key_do_not_fit_the_former_ones_are_used(
    files: Files, authority: trustme.CA, caplog: pytest.LogCaptureFixture
) -> None:
    made = contexts(settings(files))
    first = await made.current()
    other = authority.issue_cert(HOST, key_type=trustme.KeyType.ECDSA)
    files.certificate.write_bytes(other.cert_chain_pems[0].bytes())
    assert await made.current() is first
    assert await made.current() is first  # no further attempt
    files.key.unlink()
    assert await made.current() is first
    files.key.write_bytes(other.private_key_pem.bytes())
    assert await made.current() is not first
    assert [
        record.getMessage().partition(": ")[0] for record in caplog.records if record.levelno >= logging.WARNING
    ] == [
        "TLS keeps the former certificate",
        "TLS keeps the former certificate",
    ]


async def test_files_with_a_new_time_are_loaded_once(files: Files) -> None:
    calls = []

    async def counting(sync_fn: Any, *args: Any) -> Any:
        calls.append(sync_fn)
        return await run_inline(sync_fn, *args)

    made = TlsContexts(settings(files), clock=Clock(), run_sync=counting)
    made.load()
    os.utime(files.key, ns=(1, 1))
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(made.current)
    assert len(calls) == 1
