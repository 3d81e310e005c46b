"""Brokers that are registered by host names, and a proxy that clients know by one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rocketwire.wire.addresses import Address
from rocketwire.wire.bodies import decode_body
from rocketwire.wire.bodies.route import TopicRouteData
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.hosts import decode_host
from tests.server.harness import serving
from tests.server.proxy.proxied import proxying
from tests.server.proxy.test_bad_servers import brokers, name_server

WITH_PYTHON: dict[str, Any] = {"topic_quotas": "T=100000/-"}
"""Because of the quota Python relays frames, not the kernel."""


@pytest.mark.parametrize("keys", [{}, WITH_PYTHON], ids=["kernel", "python"])
@pytest.mark.parametrize("advertised", ["127.0.0.1", "localhost"])
async def test_clients_get_the_proxys_address_in_routes_and_ids(
    tmp_path: Path, keys: dict[str, Any], advertised: str
) -> None:
    async with (
        serving(tmp_path / "store", broker_ip1="localhost") as server,
        proxying(tmp_path / "p", server.name_server_address, advertised_host=advertised, **keys) as proxy,
    ):
        await server.broker().create_topic("T")
        answer = await proxy.names().request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"})
        address = proxy.address()
        assert address.host == advertised
        assert decode_body(TopicRouteData, answer.body).broker_datas[0].broker_addrs == {0: str(address)}
        sent = await proxy.to(Address(host="127.0.0.1", port=address.port)).send("T")
        assert sent.header.code == 0
        assert decode_host(bytes.fromhex((sent.header.ext or {})["msgId"][:16])) == ("127.0.0.1", address.port)


async def test_an_unknown_host_name_is_answered(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    reply = (0, brokers("no-such-host.invalid:10911"))
    async with name_server(lambda _: reply) as address, proxying(tmp_path / "p", address) as proxy:
        for _ in range(2):
            answer = await proxy.broker("liar").send("T")
            assert answer.header.code == ResponseCode.SERVICE_NOT_AVAILABLE
            assert "its name is not found" in (answer.header.remark or "")
        lines = [each.getMessage() for each in caplog.records if "no-such-host" in each.getMessage()]
        assert len(lines) == 1
