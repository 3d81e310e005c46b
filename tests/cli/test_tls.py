"""Commands over TLS, against a server with another certificate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import trustme

from tests.cli.endpoint import Command, real_endpoint
from tests.cli.store.support import Ran


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory, authority: trustme.CA) -> Iterator[str]:
    """An endpoint that serves TLS clients only, and requires a certificate of them."""
    folder = tmp_path_factory.mktemp("tls")
    issued = authority.issue_cert("127.0.0.1")
    issued.private_key_pem.write_to_path(folder / "server.key")
    for number, blob in enumerate(issued.cert_chain_pems):
        blob.write_to_path(folder / "server.pem", append=number > 0)
    authority.cert_pem.write_to_path(folder / "ca.pem")
    settings = {
        "tls.test.mode.enable": "false",
        "tls.server.certPath": folder / "server.pem",
        "tls.server.keyPath": folder / "server.key",
        "tls.server.need.client.auth": "require",
        "tls.server.authClient": "true",
        "tls.server.trustCertPath": folder / "ca.pem",
    }
    file = folder / "tls.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    with real_endpoint(folder / "store", tls_config_file=str(file), tls_server_mode="enforcing") as endpoint:
        yield str(endpoint.name_server)


@pytest.fixture
def run(address: str, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    return Command(capsys, address)


@pytest.fixture
def own(tmp_path: Path, authority: trustme.CA) -> Path:
    """A client's certificate with its key."""
    authority.issue_cert("client").private_key_and_cert_chain_pem.write_to_path(tmp_path / "own.pem")
    return tmp_path / "own.pem"


@pytest.fixture
def ca(tmp_path: Path, authority: trustme.CA) -> Path:
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    return tmp_path / "ca.pem"


def test_verified_on_both_sides(run: Callable[..., Ran], ca: Path, own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answered = Ran(0, "no consumer group is on line\n", "")
    assert run("group", "check", "--tls", "--tls-ca", ca, "--tls-cert", own) == answered
    assert run("group", "check", "--tls-any", "--tls-cert", own) == answered
    monkeypatch.setenv("ROCKETWIRE_TLS", "1")
    monkeypatch.setenv("ROCKETWIRE_TLS_CA", str(ca))
    monkeypatch.setenv("ROCKETWIRE_TLS_CERT", str(own))
    assert run("group", "check") == answered
    monkeypatch.setenv("ROCKETWIRE_TLS", "any")
    assert run("group", "check") == answered


def test_a_server_with_an_unknown_issuer_is_not_reached(run: Callable[..., Ran], own: Path) -> None:
    ran = run("group", "check", "--tls", "--tls-cert", own)
    assert (ran.code, ran.out, ran.err.count("\n")) == (3, "", 1)
    assert "certificate verify failed" in ran.err


def test_plain_clients_and_unknown_ones_are_not_served(run: Callable[..., Ran], ca: Path) -> None:
    assert run("group", "check").code == 3
    assert run("group", "check", "--tls", "--tls-ca", ca).code == 3


def test_files_that_cannot_be_used_are_mistakes(run: Callable[..., Ran], tmp_path: Path) -> None:
    missing = tmp_path / "none.pem"
    ran = run("group", "check", "--tls", "--tls-ca", missing)
    assert ran == Ran(2, "", f"rocketwire: --tls-ca {missing}: No such file or directory\n")
    ran = run("group", "check", "--tls", "--tls-cert", missing)
    assert ran == Ran(2, "", f"rocketwire: --tls-cert {missing}: No such file or directory\n")
    ran = run("group", "check", "--tls-ca", missing)
    assert ran == Ran(2, "", f"rocketwire: --tls-ca {missing}: only with --tls\n")


def test_a_variable_that_is_wrong_is_a_mistake(run: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCKETWIRE_TLS", "yes")
    assert run("group", "check") == Ran(2, "", "rocketwire: ROCKETWIRE_TLS=yes: expected 0, 1 or any\n")
