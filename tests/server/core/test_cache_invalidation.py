from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from rocketwire.server.core.cache_invalidation import CacheInvalidation
from rocketwire.wire.facts.codes import RequestCode
from tests.server.harness import Client, consumer, serving, serving_topic, subscription


def test_changes_of_subscriptions_invalidate_what_depends_on_them() -> None:
    invalidation = CacheInvalidation()
    invalidated: list[str] = []
    invalidation.register(lambda: invalidated.append("sends"))
    invalidation.register(lambda: invalidated.append("pulls"), subscriptions=True)
    invalidation.invalidate_subscriptions()
    assert invalidated == ["pulls"]
    invalidation.invalidate()
    assert invalidated == ["pulls", "sends", "pulls"]


async def change_topic(client: Client) -> None:
    await client.create_topic("T", 3)


async def change_group(client: Client) -> None:
    await client.request(
        RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=b'{"groupName":"G","consumeEnable":false}'
    )


async def remove_group(client: Client) -> None:
    await client.request(RequestCode.DELETE_SUBSCRIPTIONGROUP, {"groupName": "G", "cleanOffset": "false"})


async def change_config(client: Client) -> None:
    await client.set_config(brokerPermission=4)


async def subscribe(client: Client) -> None:
    await client.heartbeat("one", consumer("G", subscription("T", "A", version=2)))


async def leave(client: Client) -> None:
    client.close()


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (change_topic, "invalidate"),
        (change_group, "invalidate"),
        (remove_group, "invalidate"),
        (change_config, "invalidate"),
        (subscribe, "invalidate_subscriptions"),
        (leave, "invalidate_subscriptions"),
    ],
)
async def test_every_change_invalidates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Client], Awaitable[None]], what: str
) -> None:
    invalidated: list[str] = []
    for each in ("invalidate", "invalidate_subscriptions"):
        monkeypatch.setattr(CacheInvalidation, each, lambda _self, method=each: invalidated.append(method))
    async with serving_topic(tmp_path) as (server, client):
        await client.send("T")
        await client.request(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=b'{"groupName":"G"}')
        await client.heartbeat("one", consumer("G", subscription("T", "A")))
        invalidated.clear()
        await client.heartbeat("one", consumer("G", subscription("T", "A")))
        await client.send("T")
        await client.pull("T")
        await server.broker().arrived()
        assert not invalidated
        await change(client)
        await server.broker().arrived()
        assert invalidated
        assert set(invalidated) == {what}


async def test_a_removed_queue_invalidates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    invalidated: list[None] = []
    monkeypatch.setattr(CacheInvalidation, "invalidate", lambda _self: invalidated.append(None))
    async with serving(tmp_path) as server:
        await server.broker().send("T")
    for topics in (tmp_path / "config").glob("topics.json*"):
        topics.unlink()
    async with serving(tmp_path) as server:
        client = server.broker()
        invalidated.clear()
        await client.request(RequestCode.CLEAN_UNUSED_TOPIC)
        assert invalidated
