from __future__ import annotations

from pathlib import Path

import pytest

from rocketwire.server.net.tls.settings import ClientAuth, TlsInvalid, TlsMode, TlsSettings, read_tls_settings
from tests.server.harness import warnings

FULL = r"""# Apache's names
tls.test.mode.enable = FALSE
tls.server.mode=Enforcing
tls.server.certPath=/tls/server.pem
tls.server.keyPath=/tls/server.key
tls.server.keyPassword=se\u0063ret
tls.server.need.client.auth=REQUIRE
tls.server.authClient=true
tls.server.trustCertPath=/tls/ca.pem
tls.client.certPath=/tls/client.pem
tls.enable=true
"""
UNCHECKED = "a certificate that nobody checks proves nothing"


def written(folder: Path, text: str) -> str:
    path = folder / "tls.properties"
    path.write_bytes(text.encode())
    return str(path)


def test_without_a_file_every_client_is_served_and_test_mode_is_on() -> None:
    assert read_tls_settings("", "") == TlsSettings()
    assert TlsSettings().mode is TlsMode.PERMISSIVE
    assert TlsSettings().test_mode


@pytest.mark.parametrize("mode", TlsMode)
def test_the_key_sets_the_mode(mode: TlsMode, tmp_path: Path) -> None:
    assert read_tls_settings("", mode).mode is mode
    assert read_tls_settings(written(tmp_path, "tls.server.mode=disabled\n"), mode).mode is mode


def test_apaches_names_are_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = written(tmp_path, FULL)
    assert read_tls_settings(path, "") == TlsSettings(
        source=path,
        mode=TlsMode.ENFORCING,
        test_mode=False,
        cert_path="/tls/server.pem",
        key_path="/tls/server.key",
        key_password="secret",
        client_auth=ClientAuth.REQUIRE,
        auth_client=True,
        trust_cert_path="/tls/ca.pem",
    )
    assert warnings(caplog) == []


def test_a_file_may_contain_other_bytes_than_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "tls.properties"
    path.write_bytes("tls.test.mode.enable=true\n# für\n".encode("iso-8859-1"))
    assert read_tls_settings(str(path), "").test_mode


def test_the_password_is_not_shown(tmp_path: Path) -> None:
    assert "secret" not in repr(read_tls_settings(written(tmp_path, FULL), ""))


def test_settings_without_effect_are_warned_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = written(tmp_path, "tls.server.keyPath=k\ntls.server.authClient=true\ntls.protocols=TLSv1.3\n")
    read_tls_settings(path, "")
    assert warnings(caplog) == [
        f"{path}: tls.protocols has no effect here",
        f"{path}: tls.test.mode.enable is true, so tls.server.keyPath, tls.server.authClient is not used",
    ]


@pytest.mark.parametrize("changed", ["", "tls.server.need.client.auth=none"])
def test_a_check_of_certificates_that_are_not_requested_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, changed: str
) -> None:
    """Apache's servers log nothing, and admit every client."""
    path = written(tmp_path, FULL.replace("tls.server.need.client.auth=REQUIRE", changed))
    read_tls_settings(path, "")
    assert warnings(caplog) == [
        f"{path}: tls.server.need.client.auth is none, so tls.server.authClient=true checks nobody"
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tls.server.mode=strict\n", "tls.server.mode=strict: expected disabled or permissive or enforcing"),
        ("tls.test.mode.enable=no\n", "tls.test.mode.enable=no: expected true or false"),
        ("tls.server.authClient=\n", "tls.server.authClient=: expected true or false"),
        (
            "tls.server.need.client.auth=want\n",
            "tls.server.need.client.auth=want: expected none or optional or require",
        ),
        (
            "tls.test.mode.enable=false\ntls.server.keyPath=k\n",
            "tls.server.certPath is missing, and tls.test.mode.enable is false",
        ),
        (
            "tls.test.mode.enable=false\ntls.server.certPath=c\n",
            "tls.server.keyPath is missing, and tls.test.mode.enable is false",
        ),
        (
            FULL.replace("authClient=true", "authClient=false"),
            f"tls.server.need.client.auth=require needs tls.server.authClient=true: {UNCHECKED}",
        ),
    ],
)
def test_contradictory_settings_are_refused(tmp_path: Path, text: str, expected: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(TlsInvalid) as refused:
        read_tls_settings(path, "")
    assert str(refused.value) == f"{path}: {expected}"


def test_disabled_needs_no_certificate(tmp_path: Path) -> None:
    path = written(tmp_path, "tls.test.mode.enable=false\n")
    assert read_tls_settings(path, "disabled").mode is TlsMode.DISABLED


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(TlsInvalid) as refused:
        read_tls_settings(str(tmp_path / "none"), "")
    assert str(refused.value) == f"{tmp_path}/none (tlsConfigFile): No such file or directory"


def test_a_file_that_java_would_refuse_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "tls.server.keyPassword=\\u12\n")
    with pytest.raises(TlsInvalid, match=r"\(tlsConfigFile\): \\u without four hexadecimal digits"):
        read_tls_settings(path, "")
