"""The addresses at which clients of 5.x are served, and the cost for servers without such clients."""

from __future__ import annotations

import logging
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from rocketwire.server.announcing import ServerAddresses
from rocketwire.server.config.keys import ConfigError
from rocketwire.server.configuration import ServerConfig, read_settings
from rocketwire.server.grpc.keys import DEFAULT_ADDRESS, GrpcKeys
from rocketwire.server.net.listener import AddressInUse, bind
from rocketwire.wire.addresses import Address
from rocketwire.wire.grpc.codes import Code
from tests.server.grpc.sdk import Sdk, code_of, send_request
from tests.server.harness import free_port, serving
from tests.slowness import within


def test_the_address_is_a_key() -> None:
    assert GrpcKeys().automatic
    assert GrpcKeys().address is None
    assert GrpcKeys(grpc_listen="none").address is None
    assert not GrpcKeys(grpc_listen="none").automatic
    config, _ = read_settings({"grpcListen": "[::1]:5"})
    assert config.grpc.address == Address(host="::1", port=5)
    with pytest.raises(ConfigError, match="grpcListen=nowhere: "):
        read_settings({"grpcListen": "nowhere"})


def test_the_start_shows_how_to_connect() -> None:
    address = Address(host="127.0.0.1", port=8081)
    assert address == DEFAULT_ADDRESS
    ready = ServerAddresses(config=ServerConfig(), name_server=address, broker=address, grpc=address)
    lines = ready.lines()
    assert '  5.x:   ClientConfiguration.newBuilder().setEndpoints("127.0.0.1:8081")' in lines
    assert not any("5.x" in line for line in replace(ready, grpc=None).lines())


async def test_the_default_port_is_used_if_it_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    address = Address(host="127.0.0.1", port=free_port())
    monkeypatch.setattr("rocketwire.server.sockets.DEFAULT_ADDRESS", address)
    async with serving(tmp_path / "first", grpc_listen="auto") as first:
        assert first.grpc == address
        await first.broker().create_topic("T", 1)
        with Sdk(address) as sdk:
            assert code_of(await sdk.call("SendMessage", send_request())) is Code.OK
        async with serving(tmp_path / "second", grpc_listen="auto") as second:
            assert second.grpc is None
            assert (await second.broker().send("T")).header.code == 0
    (warning,) = [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]
    assert warning.startswith("5.x clients are served on the broker's port only: cannot listen on ")


async def test_a_configured_port_must_be_free(tmp_path: Path) -> None:
    with bind("127.0.0.1", 0, option="a test") as sock:
        address = f"127.0.0.1:{sock.getsockname()[1]}"
        # Its task is in nurseries of the server and of the test.
        with pytest.RaisesGroup(AddressInUse, flatten_subgroups=True) as raised:
            async with serving(tmp_path / "store", grpc_listen=address):
                pass
    assert "--grpc" in str(raised.value.exceptions)


@pytest.mark.slow
def test_others_wait_shortly_while_the_first_connection_is_prepared(tmp_path: Path) -> None:
    """In a process that has imported nothing of gRPC: the longest step of its event loop."""
    found = subprocess.run(
        [sys.executable, "-c", FIRST, str(tmp_path / "store")], capture_output=True, text=True, check=True, timeout=60
    )
    assert within(float(found.stdout), 0.05), found.stderr


FIRST: Final = """
import sys, time
from pathlib import Path
import trio
from tests.server.harness import serving

class Longest(trio.abc.Instrument):
    seconds, began = 0.0, float("inf")
    def before_task_step(self, task):
        self.began = time.thread_time()
    def after_task_step(self, task):
        self.seconds = max(self.seconds, time.thread_time() - self.began)

async def main():
    async with serving(Path(sys.argv[1]), run_sync=trio.to_thread.run_sync) as server:
        longest = Longest()
        stream = await trio.open_tcp_stream("127.0.0.1", server.broker_address.port)
        assert "google.protobuf" not in sys.modules
        trio.lowlevel.add_instrument(longest)
        await stream.send_all(b"PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))
        assert await stream.receive_some()
        trio.lowlevel.remove_instrument(longest)
        await stream.aclose()
        print(longest.seconds)

trio.run(main)
"""
"""A program that prints how long others wait for the first connection, in seconds of processor time."""
