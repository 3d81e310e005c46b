from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rocketwire.wire.bodies import decode_body, encode_body
from rocketwire.wire.bodies.group import SubscriptionGroupConfig, SubscriptionGroupList
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from tests.server.harness import Client, code_and_remark, consumer, serving, subscription

PUT = RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP
REMOVE = RequestCode.DELETE_SUBSCRIPTIONGROUP


async def put(client: Client, **values: Any) -> None:
    body = encode_body(SubscriptionGroupConfig(**{"group_name": "G", **values}))
    assert code_and_remark(await client.request(PUT, body=body)) == (0, None)


async def groups(client: Client) -> dict[str, Any]:
    answer = await client.request(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG)
    assert (code_and_remark(answer), answer.header.ext) == ((0, None), None)
    found: dict[str, Any] = json.loads(bytes(answer.body))
    return found


async def test_a_group_is_created_and_changed(broker: Client) -> None:
    before = (await groups(broker))["dataVersion"]["counter"]
    await put(broker, retry_max_times=3, retry_queue_nums=2)
    await put(broker, retry_max_times=4, consume_enable=False)
    found = await groups(broker)
    assert found["dataVersion"]["counter"] == before + 2
    assert found["subscriptionGroupTable"]["G"] == {
        "brokerId": 0,
        "consumeBroadcastEnable": True,
        "consumeEnable": False,
        "consumeFromMinEnable": True,
        "groupName": "G",
        "notifyConsumerIdsChangedEnable": True,
        "retryMaxTimes": 4,
        "retryQueueNums": 1,
        "whichBrokerWhenConsumeSlowly": 1,
    }
    assert "SELF_TEST_C_GROUP" in found["subscriptionGroupTable"]


async def test_a_change_applies_at_once(broker: Client) -> None:
    await put(broker, consume_enable=False)
    answer = await broker.pull("T")
    assert code_and_remark(answer) == (ResponseCode.NO_PERMISSION, "subscription group no permission, G")


async def test_groups_survive_a_restart(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        await put(server.broker(), retry_max_times=3)
    async with serving(tmp_path) as server:
        assert (await groups(server.broker()))["subscriptionGroupTable"]["G"]["retryMaxTimes"] == 3


@pytest.mark.parametrize(
    ("body", "remark"),
    [
        (b"{}", "the specified group is blank"),
        (b'{"groupName":"a.b"}', "the specified group[a.b] contains illegal characters, allowing only"),
        (b"[]", "SubscriptionGroupConfig is not a JSON object"),
        (b"", "JSON is invalid"),
        (b'{"groupName":"G","retryQueueNums":99999999999999999999}', "SubscriptionGroupConfig.retryQueueNums: 999999"),
        (b'{"groupName":"G","retryQueueNums":2147483648}', "2147483648 is no integer between"),
        (
            b'{"groupName":"G","retryQueueNums":2147483647}',
            "the retry topic of group[G] has 2147483647 queues, 16384 are the most",
        ),
        (b'{"groupName":"G","retryQueueNums":16385}', "the retry topic of group[G] has 16385 queues"),
        pytest.param(b"{'groupName':'" + b"g" * (2 << 20) + b"'}", "are no plain JSON, and too many", id="long"),
    ],
)
async def test_malformed_groups_are_refused(broker: Client, body: bytes, remark: str) -> None:
    before = await groups(broker)
    answer = await broker.request(PUT, body=body)
    assert answer.header.code == ResponseCode.SYSTEM_ERROR
    assert remark in (answer.header.remark or "")
    assert await groups(broker) == before


async def test_a_group_of_apaches_keeps_its_many_queues(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "subscriptionGroup.json").write_text(
        '{"subscriptionGroupTable":{"G":{"groupName":"G","retryQueueNums":2147483647}}}'
    )
    async with serving(tmp_path) as server:
        client = server.broker()
        await put(client, retry_queue_nums=2**31 - 1, retry_max_times=3)
        assert (await client.heartbeat("one", consumer("G", subscription("T")))).header.code == 0
        route = await server.name_server().request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "%RETRY%G"})
        assert json.loads(bytes(route.body))["queueDatas"][0]["readQueueNums"] == 2**31 - 1
        await put(client, retry_queue_nums=16_384)


@pytest.mark.parametrize(
    ("ext", "left"),
    [
        ({}, 3),
        ({"removeOffset": "false"}, 3),
        ({"removeOffset": "true"}, None),
        ({"cleanOffset": "true"}, None),  # 5.x
    ],
)
async def test_a_group_is_removed(broker: Client, ext: dict[str, str], left: int | None) -> None:
    await put(broker)
    for group in ("G", "H"):
        await broker.commit(3, group=group)
    before = (await groups(broker))["dataVersion"]["counter"]
    for _ in range(2):  # the second time there is nothing to remove
        answer = await broker.request(REMOVE, {"groupName": "G", **ext})
        assert code_and_remark(answer) == (0, None)
    found = await groups(broker)
    assert "G" not in found["subscriptionGroupTable"]
    assert found["dataVersion"]["counter"] == before + 1
    assert (await broker.committed(), await broker.committed(group="H")) == (left, 3)


async def test_a_removed_group_is_created_again_by_its_next_consumer(broker: Client) -> None:
    await put(broker, retry_max_times=3)
    await broker.request(REMOVE, {"groupName": "G"})
    await broker.heartbeat("one", consumer("G", subscription("T")))
    assert (await groups(broker))["subscriptionGroupTable"]["G"]["retryMaxTimes"] == 16


async def test_a_list_of_groups_is_created(broker: Client) -> None:
    wanted = (SubscriptionGroupConfig(group_name="First", retry_max_times=3), SubscriptionGroupConfig(group_name="G2"))
    body = encode_body(SubscriptionGroupList(group_config_list=wanted))
    answer = await broker.request(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST, {}, body)
    assert code_and_remark(answer) == (0, None)
    answer = await broker.request(RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG, {"group": "First"})
    assert decode_body(SubscriptionGroupConfig, bytes(answer.body)).retry_max_times == 3


async def test_a_list_with_a_bad_name_is_refused(broker: Client) -> None:
    wanted = (SubscriptionGroupConfig(group_name="First"), SubscriptionGroupConfig(group_name="bad*name"))
    body = encode_body(SubscriptionGroupList(group_config_list=wanted))
    answer = await broker.request(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST, {}, body)
    assert answer.header.code == ResponseCode.SYSTEM_ERROR
    assert "First" not in (await groups(broker))["subscriptionGroupTable"]


async def test_an_unknown_group_is_not_found(broker: Client) -> None:
    await broker.set_config(autoCreateSubscriptionGroup="false")
    answer = await broker.request(RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG, {"group": "None"})
    assert code_and_remark(answer) == (ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, "No group in this broker")
