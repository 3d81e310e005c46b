from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.net.admission import admission as admission_module
from rocketwire.server.net.admission.admission import Admission, ConnectionRate
from rocketwire.server.net.admission.descriptors import DescriptorBudget
from rocketwire.wire.facts.codes import RequestCode
from tests.server.harness import Client, account, code_and_remark, run, serving, settle

TEXT = "[REJECTREQUEST]system busy, start flow control for a while, "


def admission(**changes: int) -> Admission:
    return Admission(account(**changes))


async def test_the_connections_of_an_address_are_bounded() -> None:
    door = admission(max_connections_per_address=2, max_connections=3)
    assert door.enter("192.0.2.1") is None
    assert door.enter("192.0.2.1") is None
    refusal = door.enter("192.0.2.1")
    assert isinstance(refusal, LimitExceeded)
    assert str(refusal) == TEXT + "maxConnectionsPerAddress=2"
    assert door.enter("192.0.2.2") is None
    assert str(door.enter("192.0.2.3")) == TEXT + "maxConnections=3"
    door.leave("192.0.2.1")
    assert door.enter("192.0.2.3") is None
    assert door.limits.metrics.limited == {"maxConnectionsPerAddress": 1, "maxConnections": 1}


async def test_a_network_of_ipv6_counts_as_one_address() -> None:
    door = admission(max_connections_per_address=2)
    assert door.enter("2001:db8::1") is None
    assert door.enter("2001:db8::ffff:1") is None
    assert door.enter("2001:db8::3") is not None
    assert door.enter("2001:db8:0:1::3") is None


async def test_a_client_without_a_descriptor_is_refused_as_by_the_limit() -> None:
    door = Admission(account(), DescriptorBudget(3))
    for number in range(3):
        assert door.enter(f"192.0.2.{number}") is None
    assert str(door.enter("192.0.2.9")) == TEXT + "maxConnections=3"
    door.leave("192.0.2.1")
    assert not door.begin_tls("192.0.2.0")  # that uses two more
    door.leave("192.0.2.2")
    assert door.begin_tls("192.0.2.0")
    assert door.descriptors.full
    assert door.enter("192.0.2.9") is not None
    door.end_tls()
    door.leave("192.0.2.0")
    assert door.descriptors.taken == 0
    assert door.limits.metrics.limited == {"maxConnections": 3}


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans())))
def test_closed_connections_are_not_counted(steps: list[tuple[str, bool]]) -> None:
    async def main() -> None:
        door = admission(max_connections_per_address=2, max_connections=4)
        connected: list[str] = []
        for host, comes in steps:
            if comes:
                fits = connected.count(host) < 2 and len(connected) < 4
                assert (door.enter(host) is None) is fits
                connected += [host] * fits
            elif host in connected:
                connected.remove(host)
                door.leave(host)
            assert door.connections == len(connected)
        for host in connected:
            door.leave(host)
        assert door.connections == 0
        assert door._of_address == {}

    run(main)


@pytest.mark.usefixtures("driver")
async def test_the_first_request_of_a_refused_connection_is_answered(tmp_path: Path) -> None:
    async with serving(tmp_path, max_connections_per_address=2) as server:
        broker, name_server = server.broker(), server.name_server()
        await settle()
        for late in (server.broker(), server.name_server()):
            answer = await late.request(RequestCode.GET_BROKER_CLUSTER_INFO)
            assert code_and_remark(answer) == (2, TEXT + "maxConnectionsPerAddress=2")
            late.sock.shutdown(1)
            assert await late.ended()
        name_server.close()
        await settle()
        welcome = server.broker()
        assert (await welcome.set_config(maxConnectionsPerAddress=3)).header.code == 0
        assert (await server.name_server().request(RequestCode.GET_BROKER_CLUSTER_INFO)).header.code == 0
        assert (await server.name_server().request(RequestCode.GET_BROKER_CLUSTER_INFO)).header.code == 2
        assert (await broker.request(RequestCode.GET_BROKER_CONFIG)).header.code == 0


@pytest.mark.usefixtures("driver")
async def test_the_permitted_silence_is_configured(tmp_path: Path) -> None:
    async with serving(tmp_path, server_channel_max_idle_time_seconds=4) as server:
        silent, lively = server.broker(), server.broker()
        for _ in range(7):
            await server.pass_time(1, step=1)
            await lively.heartbeat("lively")
        assert await silent.ended()
        assert await lively.is_open()
        assert (await lively.set_config(serverChannelMaxIdleTimeSeconds=60)).header.code == 0
        await server.pass_time(50)
        assert await lively.is_open()
        await server.pass_time(20)
        assert await lively.ended()
        again: Client = server.broker()
        assert (await again.request(RequestCode.GET_BROKER_CONFIG)).header.code == 0


def test_the_connections_of_a_second_begin_at_once_and_further_ones_at_the_rate() -> None:
    rate = ConnectionRate(lambda: 4)
    for _ in range(4):
        assert rate.allowed_at("a") <= 100.0
        rate.count("a", 100.0)
    assert rate.allowed_at("a") == 100.0
    rate.count("a", 100.0)
    assert rate.allowed_at("a") == 100.25
    assert rate.allowed_at("b") <= 100.0  # another address has its own rate


def test_quiet_addresses_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission_module, "_CLEANED_AT", 3)
    rate = ConnectionRate(lambda: 1)
    for number in range(3):
        rate.count(f"{number}", 10.0)
    assert len(rate._paid_until) == 3
    rate.count("later", 20.0)
    assert list(rate._paid_until) == ["later"]
