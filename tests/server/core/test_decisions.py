from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from rocketwire.server.core.decisions import Decisions
from rocketwire.wire.codes import RequestCode
from tests.server.harness import Client, consumer, serving, subscription


def test_all_who_watch_are_told() -> None:
    decisions = Decisions()
    decisions.changed()
    told: list[str] = []
    decisions.watch(lambda: told.append("one"))
    decisions.watch(lambda: told.append("two"))
    decisions.changed()
    assert told == ["one", "two"]


def test_changes_of_subscriptions_are_told_to_those_who_depend_on_them() -> None:
    decisions = Decisions()
    told: list[str] = []
    decisions.watch(lambda: told.append("sends"))
    decisions.watch(lambda: told.append("pulls"), subscriptions=True)
    decisions.resubscribed()
    assert told == ["pulls"]
    decisions.changed()
    assert told == ["pulls", "sends", "pulls"]


async def change_topic(client: Client) -> None:
    await client.create_topic("T", 3)


async def change_group(client: Client) -> None:
    await client.ask(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=b'{"groupName":"G","consumeEnable":false}')


async def remove_group(client: Client) -> None:
    await client.ask(RequestCode.DELETE_SUBSCRIPTIONGROUP, {"groupName": "G", "cleanOffset": "false"})


async def change_config(client: Client) -> None:
    await client.set_config(brokerPermission=4)


async def subscribe(client: Client) -> None:
    await client.heartbeat("one", consumer("G", subscription("T", "A", version=2)))


async def leave(client: Client) -> None:
    client.close()


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (change_topic, "changed"),
        (change_group, "changed"),
        (remove_group, "changed"),
        (change_config, "changed"),
        (subscribe, "resubscribed"),
        (leave, "resubscribed"),
    ],
)
async def test_every_place_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Client], Awaitable[None]], what: str
) -> None:
    told: list[str] = []
    for each in ("changed", "resubscribed"):
        monkeypatch.setattr(Decisions, each, lambda _self, said=each: told.append(said))
    async with serving(tmp_path) as server:
        client = server.broker()
        await client.create_topic("T")
        await client.send("T")
        await client.ask(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=b'{"groupName":"G"}')
        await client.heartbeat("one", consumer("G", subscription("T", "A")))
        told.clear()
        await client.heartbeat("one", consumer("G", subscription("T", "A")))
        await client.send("T")
        await client.pull("T")
        await server.broker().arrived()
        assert not told
        await change(client)
        await server.broker().arrived()
        assert told
        assert set(told) == {what}


async def test_the_end_of_a_queue_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[None] = []
    monkeypatch.setattr(Decisions, "changed", lambda _self: told.append(None))
    async with serving(tmp_path) as server:
        await server.broker().send("T")
    for topics in (tmp_path / "config").glob("topics.json*"):
        topics.unlink()
    async with serving(tmp_path) as server:
        client = server.broker()
        told.clear()
        await client.ask(RequestCode.CLEAN_UNUSED_TOPIC)
        assert told
