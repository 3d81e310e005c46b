"""Both front ends over TLS, against a server with another certificate."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme

from rocketwire.remoting import Begin, Message
from rocketwire.remoting.errors import NotReached
from tests.cli.endpoint import Addresses, fake_server, real_endpoint
from tests.server.processes import eventually


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory, authority: trustme.CA) -> Iterator[Addresses]:
    folder: Path = tmp_path_factory.mktemp("tls")
    both = folder / "server.pem"
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(both)
    file = folder / "tls.properties"
    file.write_text(f"tls.test.mode.enable=false\ntls.server.certPath={both}\ntls.server.keyPath={both}\n")
    with real_endpoint(folder / "store", tls_config_file=str(file), tls_server_mode="enforcing") as addresses:
        yield addresses


@pytest.fixture
def context(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


def test_large_and_small_messages_go_both_ways(front_end: Any, endpoint: Addresses, context: ssl.SSLContext) -> None:
    topic, name_server = f"Tls_{front_end.name}", str(endpoint.name_server)
    got: list[bytes] = []
    with (
        front_end.producer("P", name_server, tls=context) as producer,
        front_end.push_consumer(f"tls_{front_end.name}", name_server, tls=context, begin=Begin.FIRST) as consumer,
    ):
        sent = [bytes([number]) + b"x" * number * 50_000 for number in range(8)]
        for body in sent:
            producer.send_batch([Message(topic, body)])  # a batch is not compressed
        consumer.subscribe(topic)
        consumer.start(lambda message: got.append(message.body))
        assert eventually(lambda: len(got) == 8)
    assert sorted(got) == sent


def test_a_server_with_an_unknown_issuer_is_not_reached(front_end: Any, endpoint: Addresses) -> None:
    context = ssl.create_default_context()
    with (
        pytest.raises(NotReached, match=r"cannot be reached: .*certificate verify failed"),
        front_end.producer("P", str(endpoint.name_server), tls=context),
    ):
        pass


def test_a_server_without_tls_is_not_reached(front_end: Any, context: ssl.SSLContext) -> None:
    with (
        fake_server() as server,
        pytest.raises(NotReached, match="cannot be reached"),
        front_end.producer("P", server.address, tls=context, timeout=1),
    ):
        pass
