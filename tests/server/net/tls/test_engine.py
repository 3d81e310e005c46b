"""The engine without sockets: two ends that pass each other their bytes."""

from __future__ import annotations

import ssl

import pytest

from rocketwire.server.net.tls.contexts import make_test_context
from rocketwire.server.net.tls.engine import TlsEngine
from tests.server.harness import NOW


def pass_bytes(client: TlsEngine, server: TlsEngine) -> None:
    """Exchange what both have to send."""
    server.receive(client.to_send())
    client.receive(server.to_send())


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_both_ends_may_announce_their_end_at_the_same_time(version: ssl.TLSVersion) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.maximum_version = context.minimum_version = version
    client, server = TlsEngine(context, server_side=False), TlsEngine(make_test_context(NOW))
    buffer = memoryview(bytearray(100))
    agreed = set[TlsEngine]()
    while len(agreed) < 2:
        agreed |= {each for each in (client, server) if each.shake_hands()}
        pass_bytes(client, server)
    assert (client.read_into(buffer), server.read_into(buffer)) == (0, 0)
    for each in (client, server):
        each.end()
    pass_bytes(client, server)
    for each in (client, server):
        assert each.read_into(buffer) == 0
        assert each.ended
