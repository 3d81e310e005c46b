from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest

from rocketwire.server.net import local_networks
from rocketwire.server.net.local_networks import LocalNetworks

# As the kernel writes them in a container of two networks; the first has the default route.
ROUTE = """\
Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t0100590A\t0003\t0\t0\t0\t00000000\t0\t0\t0
eth0\t0000590A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
eth1\t000014AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0
lo\t0000FEA9\t00000000\t0201\t0\t0\t0\t0000FFFF\t0\t0\t0
"""
# Destination, source, next hop, metric, counts, flags, interface.
_NO, _LOOPBACK = "0" * 32, "0" * 31 + "1"
ROUTE_6 = f"""\
fd00{"0" * 28} 40 {_NO} 00 {_NO} 00000100 00000002 00000000 00000001     eth0
{_NO} 00 {_NO} 00 fd00{"0" * 27}1 00000400 00000001 00000000 00000003     eth0
{_LOOPBACK} 80 {_NO} 00 {_NO} 00000000 00000003 00000000 80200001       lo
ff{"0" * 30} 08 {_NO} 00 {_NO} 00000100 00000003 00000000 00000001     eth0
{_NO} 00 {_NO} 00 {_NO} ffffffff 00000001 00000000 00200200       lo
"""


@pytest.fixture
def networks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalNetworks:
    """A machine that is .3 in each of its networks."""
    (tmp_path / "route").write_text(ROUTE)
    (tmp_path / "ipv6_route").write_text(ROUTE_6)
    own = {"10.89": "10.89.0.3", "172.2": "172.20.0.3", "fd00:": "fd00::3"}
    monkeypatch.setattr(local_networks, "_source", lambda address, *, ipv6: own[address[:5]])
    return LocalNetworks.read(tmp_path)


def test_the_networks_and_their_gateways_are_read(networks: LocalNetworks) -> None:
    assert networks.networks == (ip_network("10.89.0.0/24"), ip_network("172.20.0.0/16"), ip_network("fd00::/64"))
    assert networks.gateways == {ip_address("10.89.0.1"), ip_address("fd00::1")}


@pytest.mark.parametrize(
    ("client", "own"),
    [
        ("10.89.0.4", "10.89.0.3"),
        ("172.20.7.1", "172.20.0.3"),
        ("fd00::9", "fd00::3"),
        ("10.89.0.1", None),  # the gateway: the host, or a forwarder of a published port
        ("fd00::1", None),
        ("10.89.0.3", None),  # a forwarder in the container's own network
        ("10.89.1.4", None),
        ("127.0.0.1", None),
        ("::1", None),
        ("2001:db8::1", None),
    ],
)
def test_clients_of_a_local_network_get_the_address_in_it(
    networks: LocalNetworks, client: str, own: str | None
) -> None:
    assert networks.own_address(client) == own


def test_without_tables_there_are_no_local_networks(tmp_path: Path) -> None:
    assert LocalNetworks.read(tmp_path) == LocalNetworks(networks=(), gateways=frozenset())


def test_this_machines_tables_can_be_read() -> None:
    networks = LocalNetworks.read()
    assert networks.own_address("127.0.0.1") is None
    assert not any(network.is_loopback for network in networks.networks)


def test_the_address_that_this_machine_sends_from_is_found() -> None:
    assert local_networks._source("127.0.0.9", ipv6=False) == "127.0.0.1"
    assert local_networks._source("255.255.255.255", ipv6=False) is None  # no permission to broadcast
