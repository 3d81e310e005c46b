"""The whole server: addresses, starting, stopping, starting again."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rocketwire.server import announcing, run
from rocketwire.server.announcing import ServerAddresses
from rocketwire.server.broker.broker import Broker
from rocketwire.server.configuration import ServerConfig
from rocketwire.server.net.listener import AddressInUse, bind
from rocketwire.store.errors import ConfigInvalid, StoreForeign, StoreLocked
from rocketwire.wire.addresses import Address
from rocketwire.wire.facts.codes import RequestCode
from tests.server.harness import free_port, free_port_with_vip, records, serving, small_config
from tests.server.processes import Caller, eventually


def leaves(group: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    return run._leaves(group)


async def refused(store: Path, **changes: Any) -> BaseException:
    """The error with which a server does not start."""
    try:
        async with serving(store, **changes):
            raise AssertionError("it started")
    except BaseExceptionGroup as group:
        (error,) = leaves(group)
        return error


async def test_messages_survive_a_restart(tmp_path: Path) -> None:
    for each in range(3):
        async with serving(tmp_path) as server:
            client = server.broker()
            if not each:
                await client.create_topic("T")
            sent = await client.send("T", b"%d" % each, keys="k")
            assert sent.header.ext is not None
            assert sent.header.ext["queueOffset"] == str(each)
            bodies = [message.body for message in records((await client.pull("T")).body)]
            assert bodies == [b"%d" % number for number in range(each + 1)]


async def test_a_second_server_on_the_store_is_refused(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        error = await refused(tmp_path)
        assert isinstance(error, StoreLocked)
        assert str(tmp_path) in str(error)
        await server.broker().create_topic("T")


async def test_a_foreign_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "holiday.txt").touch()
    assert isinstance(await refused(tmp_path), StoreForeign)


@pytest.mark.parametrize("which", ["--namesrv", "--broker", "--http"])
async def test_a_port_in_use_is_refused_before_the_store_is_opened(tmp_path: Path, which: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        address = Address(host="127.0.0.1", port=port)
        changes: dict[str, dict[str, Any]] = {
            "--broker": {"listen_port": port},
            "--namesrv": {"name_server": address},
            "--http": {"http": address},
        }
        error = await refused(tmp_path / "store", **changes[which])
    assert isinstance(error, AddressInUse)
    assert str(error) == f"cannot listen on 127.0.0.1:{port} ({which}): Address already in use"
    assert not (tmp_path / "store").exists()


async def test_ports_are_free_again_after_a_refusal(tmp_path: Path) -> None:
    (tmp_path / "holiday.txt").touch()
    port = free_port()
    await refused(tmp_path, listen_port=port)
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server's are
        probe.bind(("127.0.0.1", port))


@pytest.mark.parametrize("name", ["topics.json", "subscriptionGroup.json", "consumerOffset.json", "kvConfig.json"])
async def test_an_unreadable_configuration_file_is_reported_by_name(tmp_path: Path, name: str) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / name).write_text("no JSON")
    error = await refused(tmp_path)
    assert isinstance(error, ConfigInvalid)
    assert str(tmp_path / "config" / name) in str(error)


# --- addresses ---


async def test_old_clients_find_the_broker_two_ports_below(tmp_path: Path) -> None:
    async with serving(tmp_path, fast_remoting=True, listen_port=free_port_with_vip()) as server:
        vip = server.to(replace(server.broker_address, port=server.broker_address.port - 2))
        await vip.create_topic("T")
        assert (await vip.send("T", b"x")).header.code == 0
        assert len(records((await server.broker().pull("T")).body)) == 1


async def test_a_vip_port_in_use_is_reported_by_name(tmp_path: Path) -> None:
    port = free_port_with_vip() - 2
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", port))
        taken.listen()
        error = await refused(tmp_path, listen_port=port + 2, fast_remoting=True)
    assert str(error) == (
        f"cannot listen on 127.0.0.1:{port} (--broker port - 2, fastRemoting): Address already in use"
    )


@pytest.mark.parametrize("taken_pairs", [0, 3])
async def test_a_free_port_is_one_whose_vip_port_is_free_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken_pairs: int
) -> None:
    refusals = iter(range(taken_pairs))

    def bind_or_refuse(host: str, port: int, *, option: str) -> socket.socket:
        if option.endswith("fastRemoting") and next(refusals, None) is not None:
            raise AddressInUse("taken")
        return bind(host, port, option=option)

    monkeypatch.setattr("rocketwire.server.serving.bind", bind_or_refuse)
    async with serving(tmp_path, fast_remoting=True, listen_port=0) as server:
        vip = server.to(replace(server.broker_address, port=server.broker_address.port - 2))
        await vip.create_topic("T")
        assert (await vip.send("T")).header.code == 0


async def test_it_serves_ipv6(tmp_path: Path) -> None:
    async with serving(tmp_path, name_server=Address(host="::1", port=0), bind_address="::1", broker_ip1="") as server:
        client = server.broker()
        await client.create_topic("T")
        sent = await client.send("T", b"six")
        assert sent.header.ext is not None
        message_id = sent.header.ext["msgId"]
        assert len(message_id) == 56
        assert message_id.startswith("0" * 31 + f"1{server.advertised.port:08X}")
        view = await client.request(RequestCode.VIEW_MESSAGE_BY_ID, {"offset": str(int(message_id[40:], 16))})
        (message,) = records(view.body)
        assert message.body == b"six"
        assert message.born_host == ("::1", client.sock.getsockname()[1])
        assert message.store_host == ("::1", server.advertised.port)
        assert message.sys_flag == 0x30
        route = await server.name_server().request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"})
        assert f'"[::1]:{server.advertised.port}"'.encode() in bytes(route.body)
        refused_send = await client.send("T", queue_id=9)
        assert refused_send.header.remark is not None
        assert refused_send.header.remark.endswith(f"Producer: {client.local}")


async def test_the_address_of_an_ipv4_client_of_an_ipv6_listener_is_stored_as_ipv4(tmp_path: Path) -> None:
    async with serving(tmp_path, bind_address="::", broker_ip1="127.0.0.1") as server:
        client = server.to(Address(host="127.0.0.1", port=server.broker_address.port))
        await client.create_topic("T")
        await client.send("T")
        (message,) = records((await client.pull("T")).body)
        assert message.born_host[0] == "127.0.0.1"
        assert message.sys_flag == 0


@pytest.mark.parametrize(
    ("host", "shown", "start"),
    [("192.0.2.7", "192.0.2.7", "C0000207"), ("2001:db8::7", "[2001:db8::7]", "20010DB8" + "0" * 23 + "7")],
)
async def test_clients_get_the_advertised_address(tmp_path: Path, host: str, shown: str, start: str) -> None:
    async with serving(tmp_path, listen_port=free_port(), broker_ip1=host, advertised_port=443) as server:
        client = server.broker()
        await client.create_topic("T")
        assert str(server.advertised) == f"{shown}:443"
        route = await server.name_server().request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"})
        assert f'"{shown}:443"'.encode() in bytes(route.body)
        sent = await client.send("T")
        assert sent.header.ext is not None
        assert sent.header.ext["msgId"].startswith(start + f"{443:08X}")


# --- the process's own: run() ---


def run_and(config: ServerConfig, number: signal.Signals) -> int:
    """Run until it serves, then send this process a signal; no signal if the server ends before."""
    ended = threading.Event()

    def stop() -> None:
        def answers() -> bool:  # even if it admits no client
            try:
                with Caller(str(config.broker.address)) as client:
                    client.request(RequestCode.GET_ALL_TOPIC_CONFIG)
            except OSError:
                return False
            return True

        eventually(lambda: ended.is_set() or answers())
        if not ended.is_set():
            os.kill(os.getpid(), number)

    stopper = threading.Thread(target=stop)
    stopper.start()
    try:
        return run.run(config)
    finally:
        ended.set()
        stopper.join()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_code_0(
    tmp_path: Path, number: signal.Signals, capsys: pytest.CaptureFixture[str]
) -> None:
    config = small_config(tmp_path / "store", listen_port=free_port())
    config = replace(config, name_server=Address(host="127.0.0.1", port=free_port()))
    assert run_and(config, number) == 0
    lines = capsys.readouterr().out.splitlines()
    expected = f"rocketwire ready: name server {config.name_server}, broker {config.broker.address}, store "
    assert lines[0] == f"{expected}{config.store.folder}"
    assert "setNamesrvAddr" in lines[1]
    assert not (tmp_path / "store" / "abort").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_while_it_stops_changes_nothing(
    tmp_path: Path, number: signal.Signals, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "rocketwire")
    real = Broker.close

    def impatiently(self: Broker) -> None:
        os.kill(os.getpid(), number)
        real(self)

    monkeypatch.setattr(Broker, "close", impatiently)
    raised: list[int] = []
    former = signal.signal(number, lambda signum, _: raised.append(signum))
    try:
        config = small_config(tmp_path / "store", listen_port=free_port())
        assert run_and(config, number) == 0
    finally:
        signal.signal(number, former)
    assert raised == []
    assert caplog.messages.count(f"stopping: {number.name}") == 1
    assert not (tmp_path / "store" / "abort").exists()


def test_a_server_on_every_address_shows_a_usable_one(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "rocketwire")
    monkeypatch.setattr(announcing, "machine_address", lambda *, ipv6: "::7" if ipv6 else "192.0.2.7")
    config = small_config(tmp_path / "store", listen_port=free_port())
    names = Address(host="0.0.0.0", port=free_port("0.0.0.0"))
    config = replace(config, name_server=names)
    assert run_and(config, signal.SIGTERM) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"name server {config.name_server}, " in lines[0]
    assert f'setNamesrvAddr("192.0.2.7:{names.port}");' in lines[1]
    assert f"name server listens on {config.name_server}" in caplog.messages
    assert f"broker listens on {config.broker.address}" in caplog.messages


@pytest.mark.parametrize("every", [False, True])
def test_the_address_of_metrics_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], every: bool
) -> None:
    monkeypatch.setattr(announcing, "machine_address", lambda *, ipv6: "::7" if ipv6 else "192.0.2.7")
    host = "0.0.0.0" if every else "127.0.0.1"
    http = Address(host=host, port=free_port(host))
    config = small_config(tmp_path / "store", listen_port=free_port(), http=http)
    config = replace(config, name_server=Address(host="127.0.0.1", port=free_port()))
    assert run_and(config, signal.SIGTERM) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2] == f"  HTTP:  http://{'192.0.2.7' if every else '127.0.0.1'}:{http.port}/metrics"


@pytest.mark.parametrize(
    ("host", "acl", "line"),
    [
        ("127.0.0.1", False, "  stop:  Ctrl-C"),
        (
            "0.0.0.0",
            False,
            "  open:  no access control; whoever reaches these addresses may do everything (--acl FILE)",
        ),
        ("0.0.0.0", True, "  ACL:   accounts of "),
    ],
)
def test_the_start_shows_whether_accounts_are_needed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], host: str, acl: bool, line: str
) -> None:
    config = small_config(tmp_path / "store", listen_port=free_port(), acl_enable=acl)
    config = replace(config, name_server=Address(host=host, port=free_port(host)))
    assert run_and(config, signal.SIGTERM) == 0
    assert capsys.readouterr().out.splitlines()[2].startswith(line)
    assert (tmp_path / "store" / "config" / "plain_acl.yml").exists() is acl


def test_a_bad_file_of_accounts_is_one_line_and_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "accounts.yml"
    file.write_text("accounts: 5\n")
    assert run.run(small_config(tmp_path / "store", acl_enable=True, acl_file=str(file))) == 2
    assert capsys.readouterr().err == f"rocketwire: aclFile={file}: accounts: expected a list\n"
    assert not (tmp_path / "store").exists()


def test_an_unknown_host_is_one_line_and_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run.run(small_config(tmp_path / "store", broker_ip1="nosuchhost.invalid")) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("rocketwire: host nosuchhost.invalid (--advertise, brokerIP1): ")
    assert not (tmp_path / "store").exists()


def test_a_failing_start_is_one_line_and_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "holiday.txt").touch()
    assert run.run(small_config(tmp_path)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert line.startswith(f"rocketwire: {tmp_path} cannot be used as a RocketMQ store: ")


def test_a_bug_is_not_reported_as_a_mistake_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("rocketwire.server.serving.Broker", broken)
    with pytest.raises(BaseExceptionGroup) as caught:
        run.run(small_config(tmp_path))
    assert [type(error) for error in leaves(caught.value)] == [ZeroDivisionError]


@pytest.mark.parametrize("limits", [(100, 200), (200, 200)])
def test_the_limit_of_descriptors_is_raised_to_the_allowed_one(
    monkeypatch: pytest.MonkeyPatch, limits: tuple[int, int]
) -> None:
    raised: list[object] = []
    monkeypatch.setattr("resource.getrlimit", lambda _: limits)
    monkeypatch.setattr("resource.setrlimit", lambda _, pair: raised.append(pair))
    run._raise_descriptor_limit()
    assert raised == ([(200, 200)] if limits[0] < limits[1] else [])


def test_a_certificate_that_cannot_be_used_is_one_line_and_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    properties = tmp_path / "tls.properties"
    properties.write_text("tls.test.mode.enable=false\ntls.server.certPath=none.pem\ntls.server.keyPath=none.key\n")
    assert run.run(small_config(tmp_path / "store", tls_config_file=str(properties))) == run.EXIT_USAGE
    _, err = capsys.readouterr()
    assert err.splitlines()[-1] == (
        f"rocketwire: {properties}: tls.server.certPath=none.pem: No such file or directory"
    )
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("http", [False, True])
def test_the_start_shows_that_the_clock_may_be_moved(tmp_path: Path, http: bool) -> None:
    config = small_config(tmp_path / "store", movable_clock=True)
    address = Address(host="127.0.0.1", port=1)
    config = replace(config, http=address if http else None)
    ready = ServerAddresses(config=config, name_server=address, broker=address)
    how = "over HTTP" if http else "over HTTP, which needs --http"
    assert f"  CLOCK: may be moved {how} (movableClock, docs/testing-applications.md)" in ready.lines()
    assert not any("CLOCK" in line for line in replace(ready, config=ServerConfig()).lines())
