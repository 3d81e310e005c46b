"""Official clients with -Dtls.enable=true: together with plain ones, and alone, with certificates on both sides."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import trustme
from cryptography.hazmat.primitives import serialization

from compat_tests.endpoints import Rocketwire
from compat_tests.programs import Programs, find_programs
from rocketwire.compat.brokers.endpoint import Endpoint, running
from rocketwire.compat.clients.client import Client, Clients
from rocketwire.compat.messages import Outgoing, assert_each_once


def secure(programs: Programs, config: Path | None = None) -> Clients:
    """Clients that speak TLS; without a configuration they take any certificate and have none."""
    options = "-Dtls.enable=true" + (f" -Dtls.config.file={config}" if config else "")
    return Clients(programs, {"JAVA_TOOL_OPTIONS": options})


def test_beside_plain_clients(
    programs: Programs, clients: Clients, endpoint: Endpoint, unique: Callable[[str], str]
) -> None:
    """What one kind sends, the others consume. As the server comes: permissive, with a certificate made for a test."""
    with secure(programs) as tls:
        kinds = ((clients, "4.9.7"), (tls, "4.9.7"), (tls, "5.5.0"))
        all_clients = [Client(clients=each, id=f"java-{version}", namesrv=endpoint.namesrv) for each, version in kinds]
        topic = unique("Tls")
        all_clients[0].run("CreateTopic", topic=topic, queues=2)
        sent = []
        for number, client in enumerate(all_clients):
            messages = [Outgoing(body=f"of {number}: {i}") for i in range(8)]
            messages.append(Outgoing(body=f"of {number}, large", size=1 << 20))
            client.run("SendSync", topic=topic, message=messages)
            sent += messages
        for client in all_clients:
            got = client.only("received", "PushConcurrent", topic=topic, group=unique("tls"), count=len(sent))
            assert_each_once(got, sent)


class Certificates:
    """An authority, `tls.properties` for a server and for a client, and files with what they name."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._authority = trustme.CA()
        self._authority.cert_pem.write_to_path(folder / "ca.pem")

    def properties(self, who: str, **others: str) -> Path:
        """A file for the server or the client ("server", "client"), whose certificate the other half checks.

        The server's key is encrypted. The client's is not: as OpenSSL does it today, the client cannot read it.
        """
        issued = self._authority.issue_cert("127.0.0.1")
        certificate, key = self._folder / f"{who}.pem", self._folder / f"{who}.key"
        certificate.write_bytes(issued.cert_chain_pems[0].bytes())
        loaded = serialization.load_pem_private_key(issued.private_key_pem.bytes(), None)
        secret = "secret" if who == "server" else ""
        encryption = serialization.BestAvailableEncryption(b"secret") if secret else serialization.NoEncryption()
        key.write_bytes(loaded.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption))
        lines = {
            "tls.test.mode.enable": "false",
            f"tls.{who}.certPath": str(certificate),
            f"tls.{who}.keyPath": str(key),
            f"tls.{who}.keyPassword": secret,
            f"tls.{who}.trustCertPath": str(self._folder / "ca.pem"),
            **others,
        }
        path = self._folder / f"{who}.properties"
        path.write_text("".join(f"{name}={value}\n" for name, value in lines.items()), "utf-8")
        return path


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def enforcing(certificates: Certificates, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    others = {
        "tls.server.mode": "enforcing",
        "tls.server.need.client.auth": "require",
        "tls.server.authClient": "true",
    }
    path = certificates.properties("server", **others)
    with running(Rocketwire(tmp_path_factory.mktemp("broker"), settings={"tls.config.file": str(path)})) as started:
        yield started


@pytest.mark.usefixtures("only_rocketwire")  # Apache's servers are configured by properties of their JVM
def test_with_certificates_only(certificates: Certificates, enforcing: Endpoint, unique: Callable[[str], str]) -> None:
    config = certificates.properties("client", **{"tls.client.authServer": "true"})
    with secure(find_programs("host"), config) as known:  # on the host, where the files are
        client = Client(clients=known, id="java-4.9.7", namesrv=enforcing.namesrv)
        topic = unique("Certified")
        client.run("CreateTopic", topic=topic, queues=2)
        sent = [Outgoing(body=f"certified {i}") for i in range(12)]
        client.run("SendSync", topic=topic, message=sent)
        got = client.only("received", "PushConcurrent", topic=topic, group=unique("certified"), count=len(sent))
        assert_each_once(got, sent)
