from ipaddress import ip_network
from pathlib import Path

import pytest

from rocketwire.server.name_server.advertised import (
    Advertised,
    AdvertisedInvalid,
    Advertising,
    ForNetwork,
    parse_advertised,
)
from rocketwire.server.net.local_networks import LocalNetworks
from rocketwire.wire.addresses import Address
from rocketwire.wire.facts.codes import RequestCode
from tests.server.harness import serving
from tests.server.name_server.test_handlers import route

HERE = Address(host="127.0.0.1", port=10911)
NEIGHBOURS = ForNetwork(network=None, address=None)
OFFICE = ForNetwork(network=ip_network("10.0.0.0/8"), address=Address(host="office.example", port=443))
OFFICE_6 = ForNetwork(network=ip_network("fd00::/8"), address=Address(host="fd00::1", port=443))


@pytest.mark.parametrize(
    ("text", "networks", "others"),
    [
        ("127.0.0.1:10911", (), HERE),
        ("neighbours,127.0.0.1:10911", (NEIGHBOURS,), HERE),
        ("neighbours", (NEIGHBOURS,), None),
        ("10.0.0.0/8=office.example:443 , neighbours", (OFFICE, NEIGHBOURS), None),
        ("fd00::/8=[fd00::1]:443,127.0.0.1:10911", (OFFICE_6,), HERE),
    ],
)
def test_valid_advertised_addresses_are_parsed(
    text: str, networks: tuple[ForNetwork, ...], others: Address | None
) -> None:
    assert parse_advertised(text) == Advertised(networks=networks, others=others)


@pytest.mark.parametrize(
    "text",
    ["", "a", "a:1,b:2", "a:1,", "10.0.0.0/33=a:1", "10.0.0.1/8=a:1", "a=b:1", "=a:1", "neighbours=a:1", "neighbors"],
)
def test_malformed_advertised_addresses_are_refused(text: str) -> None:
    with pytest.raises(AdvertisedInvalid, match="expected"):
        parse_advertised(text)


@pytest.mark.parametrize(
    ("peer", "address"),
    [
        ("10.0.0.5:1", "172.20.0.3:10911"),  # in a local network: the first that fits counts
        ("10.1.0.5:1", "office.example:443"),
        ("[fd01::1]:1", "[fd00::1]:443"),
        ("192.0.2.1:1", "127.0.0.1:80"),
        ("[2001:db8::1]:1", "127.0.0.1:80"),
    ],
)
def test_the_clients_network_decides_the_address(monkeypatch: pytest.MonkeyPatch, peer: str, address: str) -> None:
    monkeypatch.setattr(LocalNetworks, "own_address", lambda _, who: "172.20.0.3" if who == "10.0.0.5" else None)
    registered = Address(host="127.0.0.1", port=80)
    advertising = Advertising((NEIGHBOURS, OFFICE, OFFICE_6), registered=registered, listen_port=10911)
    assert advertising.seen_from(peer, str(registered)) == address
    assert advertising.seen_from(peer, "other.example:10911") == "other.example:10911", "not this process's broker"


async def test_every_answer_with_addresses_has_the_one_for_the_client(tmp_path: Path) -> None:
    networks = parse_advertised("10.0.0.0/8=10.0.0.1:1,127.0.0.0/8=seen.example:443").networks
    async with serving(tmp_path, advertised_networks=networks) as server:
        await server.broker().create_topic("T")
        client = server.name_server()
        found_route = await route(client, "T")
        clusters = await client.request(RequestCode.GET_BROKER_CLUSTER_INFO)
        topics = await client.request(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS)
    assert found_route["brokerDatas"][0]["brokerAddrs"] == {"0": "seen.example:443"}
    assert b'"seen.example:443"' in bytes(clusters.body)
    assert b'"seen.example:443"' in bytes(topics.body)
