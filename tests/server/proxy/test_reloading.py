"""The configuration file of a proxy that changes."""

from __future__ import annotations

from pathlib import Path

from rocketwire.server.configuration import LiveConfig, ServerConfig
from rocketwire.server.guards.throttle.keys import ThrottleKeys
from rocketwire.server.proxy.reloading import LOOK_SECONDS, Reloading
from rocketwire.store.disk.files import RealFileSystem
from rocketwire.wire.codes import ResponseCode
from tests.server.harness import Clock, run_inline, serving
from tests.server.proxy.proxied import proxying


async def test_quotas_that_are_written_into_the_file_are_in_force_soon(tmp_path: Path) -> None:
    file = tmp_path / "proxy.conf"
    file.write_text("# nothing yet\n")
    async with serving(tmp_path / "store") as server:
        await server.broker().create_topic("T")
        async with proxying(tmp_path / "p", server.name_server_address, file=str(file)) as proxy:
            client = proxy.broker()
            assert [(await client.send("T")).header.code for _ in range(3)] == [0, 0, 0]
            await server.pass_time(LOOK_SECONDS)
            file.write_text("topicQuotas=T=1/-\n")
            for _ in range(100):  # the kernel's thread takes its time to hand the connection over
                await server.pass_time(LOOK_SECONDS)
                codes = [(await client.send("T")).header.code for _ in range(3)]
                if codes != [0, 0, 0]:
                    break
            assert codes == [0, ResponseCode.FLOW_CONTROL, ResponseCode.FLOW_CONTROL]
            file.write_text("")
            await server.pass_time(2 * LOOK_SECONDS)
            assert [(await client.send("T")).header.code for _ in range(3)] == [0, 0, 0]


async def test_what_cannot_be_used_changes_nothing_and_what_was_given_otherwise_stays(tmp_path: Path) -> None:
    file = tmp_path / "proxy.conf"
    live = LiveConfig(ServerConfig(), Clock())
    reloading = Reloading(str(file), RealFileSystem(), live, fixed=frozenset({"groupQuotas"}), run_sync=run_inline)
    texts = ("", "topicQuotas=T=5/-\ngroupQuotas=G=1/-\nbrokerName=other\n", "topicQuotas=nonsense\n")
    await reloading.look()  # there is no file yet
    for text in texts:
        file.write_text(text)
        await reloading.look()
    assert live[ThrottleKeys].current.topic_quotas == "T=5/-"
    assert live[ThrottleKeys].current.group_quotas == ""
    assert live.current.broker.broker_name == ServerConfig().broker.broker_name
    file.unlink()
    await reloading.look()
    assert live[ThrottleKeys].current.topic_quotas == "T=5/-"
