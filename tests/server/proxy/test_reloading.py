"""The configuration file of a proxy that changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rocketwire.server.configuration import LiveConfig, ServerConfig
from rocketwire.server.proxy.reloading import LOOK_SECONDS, ConfigurationReloader
from rocketwire.server.throttle.keys import ThrottleKeys
from rocketwire.store.disk.files import FileSystem
from rocketwire.wire.facts.codes import ResponseCode
from rocketwire.wire.grpc.codes import Code
from tests.server.grpc.sdk import Sdk, code_of, message, send_request
from tests.server.harness import Clock, run_inline, serving
from tests.server.proxy.proxied import pair, proxying
from tests.server.proxy.test_signing import accounts, sent


async def test_quotas_written_into_the_file_are_soon_in_force(tmp_path: Path) -> None:
    file = tmp_path / "proxy.conf"
    file.write_text("# nothing yet\n")
    async with pair(tmp_path, file=str(file)) as (server, proxy):
        client = proxy.broker()
        assert [(await client.send("T")).header.code for _ in range(3)] == [0, 0, 0]
        await server.pass_time(LOOK_SECONDS)
        file.write_text("topicQuotas=T=1/-\n")
        for _ in range(100):  # the kernel's thread needs some time to hand the connection over
            await server.pass_time(LOOK_SECONDS)
            if any([(await client.send("T")).header.code for _ in range(3)]):
                break  # perhaps in the middle of the three
        await server.pass_time(2)
        codes = [(await client.send("T")).header.code for _ in range(3)]
        assert codes == [0, ResponseCode.FLOW_CONTROL, ResponseCode.FLOW_CONTROL]
        file.write_text("")
        await server.pass_time(2 * LOOK_SECONDS)
        assert [(await client.send("T")).header.code for _ in range(3)] == [0, 0, 0]


async def test_an_account_is_changed_without_closing_a_connection(tmp_path: Path) -> None:
    file = tmp_path / "proxy.conf"
    account_text = "upstreamAccessKey=proxy-account\nupstreamSecretKey={}\n"
    file.write_text(account_text.format("wrong"))
    at_broker = accounts(tmp_path, "broker", "proxy-account:proxy-secret:T=PUB|SUB", "own-account:own-secret:T=PUB")
    async with serving(tmp_path / "store", auto_create_topic_enable=True, **at_broker) as server:
        start: dict[str, Any] = {"upstream_access_key": "proxy-account", "upstream_secret_key": "wrong"}
        async with proxying(tmp_path / "p", server.name_server_address, file=str(file), **start) as proxy:
            client = proxy.broker()

            async def check_answer(code: int, text: str, account: tuple[str, str] | None = None) -> None:
                file.write_text(text)
                for _ in range(100):  # the kernel's thread needs some time to hand the connection over
                    await server.pass_time(LOOK_SECONDS)
                    if (await sent(client, "T", account))[0] == code:
                        break
                assert (await sent(client, "T", account))[0] == code
                with Sdk(proxy.standing.listened) as sdk:
                    called = code_of(await sdk.call("SendMessage", send_request(message())))
                    assert (called is Code.OK) == (code == 0 and account is None)

            refused = ResponseCode.SYSTEM_ERROR
            await check_answer(refused, account_text.format("wrong"))
            await check_answer(refused, "")  # unsigned
            await check_answer(0, account_text.format("proxy-secret"))
            await check_answer(0, "upstreamAccessKey=other-account\n")  # incomplete: the former account stays
            await check_answer(refused, account_text.format("wrong-again"))
            await check_answer(0, "", ("own-account", "own-secret"))


async def test_an_invalid_file_changes_nothing_and_keys_given_otherwise_stay(tmp_path: Path) -> None:
    file = tmp_path / "proxy.conf"
    live = LiveConfig(ServerConfig(), Clock())
    reloading = ConfigurationReloader(
        str(file), FileSystem(), live, fixed=frozenset({"groupQuotas"}), run_sync=run_inline
    )
    texts = ("", "topicQuotas=T=5/-\ngroupQuotas=G=1/-\nbrokerName=other\n", "topicQuotas=nonsense\n")
    await reloading.look()  # the file does not exist yet
    for text in texts:
        file.write_text(text)
        await reloading.look()
    assert live[ThrottleKeys].current.topic_quotas == "T=5/-"
    assert live[ThrottleKeys].current.group_quotas == ""
    assert live.current.broker.broker_name == ServerConfig().broker.broker_name
    file.unlink()
    await reloading.look()
    assert live[ThrottleKeys].current.topic_quotas == "T=5/-"
