from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import pytest

from rocketwire.server.core.clocks.clock import local_text
from rocketwire.wire.bodies import decode_body
from rocketwire.wire.bodies.client import MessageQueue
from rocketwire.wire.bodies.progress import (
    ConsumeStats,
    GroupList,
    OffsetWrapper,
    QueryConsumeTimeSpanBody,
    QueueTimeSpan,
    TopicOffset,
    TopicStatsTable,
)
from rocketwire.wire.bodies.statistics import ConsumeStatsList
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from tests.server.harness import (
    NOW,
    Client,
    Server,
    code_and_remark,
    consumer,
    heartbeat,
    serving,
    subscription,
    topic_ext,
)

B = TypeVar("B")

TOPIC_STATS = RequestCode.GET_TOPIC_STATS_INFO
STATS = RequestCode.GET_CONSUME_STATS
ALL_STATS = RequestCode.GET_BROKER_CONSUME_STATS
WHO = RequestCode.QUERY_TOPIC_CONSUME_BY_WHO
SPAN = RequestCode.QUERY_CONSUME_TIME_SPAN


def queue(queue_id: int, topic: str = "T") -> MessageQueue:
    return MessageQueue(topic=topic, broker_name="broker-a", queue_id=queue_id)


async def decoded_answer(client: Client, cls: type[B], code: int, **ext: str) -> B:
    answer = await client.request(code, ext)
    assert (code_and_remark(answer), answer.header.ext) == ((0, None), None)
    return decode_body(cls, bytes(answer.body))


@pytest.fixture
async def filled(server: Server, broker: Client) -> Client:
    """Three messages in queue 0 of T, a second apart; G has consumed two."""
    for _ in range(3):
        await broker.send("T")
        server.clock.now += 1000
    await broker.commit(2)
    return broker


async def test_the_offsets_of_a_topics_queues_are_shown(filled: Client) -> None:
    found = await decoded_answer(filled, TopicStatsTable, TOPIC_STATS, topic="T")
    assert found.offset_table == {
        queue(0): TopicOffset(min_offset=0, max_offset=3, last_update_timestamp=NOW + 2000),
        queue(1): TopicOffset(),
    }


@pytest.mark.parametrize("code", [TOPIC_STATS, SPAN])
async def test_an_unknown_topic_is_not_found(broker: Client, code: int) -> None:
    answer = await broker.request(code, {"topic": "None", "group": "G"})
    assert code_and_remark(answer) == (ResponseCode.TOPIC_NOT_EXIST, "topic[None] not exist")


PROGRESS = {
    queue(0): OffsetWrapper(broker_offset=3, consumer_offset=2, last_timestamp=NOW + 1000),
    queue(1): OffsetWrapper(),
}


@pytest.mark.parametrize("ext", [{}, {"topic": ""}, {"topic": "T"}])
async def test_the_progress_of_a_group_is_shown(filled: Client, ext: dict[str, str]) -> None:
    found = await decoded_answer(filled, ConsumeStats, STATS, consumerGroup="G", **ext)
    assert found == ConsumeStats(offset_table=PROGRESS, consume_tps=0)


async def test_the_progress_covers_all_topics_in_which_a_group_has_offsets(filled: Client) -> None:
    await filled.create_topic("U")
    await filled.commit(0, "U")
    await filled.commit(0, "Gone")
    await filled.commit(0, "V", group="H")
    found = await decoded_answer(filled, ConsumeStats, STATS, consumerGroup="G")
    assert found.offset_table == {**PROGRESS, queue(0, "U"): OffsetWrapper()}
    assert (await decoded_answer(filled, ConsumeStats, STATS, consumerGroup="None")).offset_table == {}


async def test_a_topic_that_a_connected_group_no_longer_subscribes_to_is_omitted(filled: Client) -> None:
    await filled.create_topic("U")
    await filled.heartbeat("one", consumer("G", subscription("U")))
    assert (await decoded_answer(filled, ConsumeStats, STATS, consumerGroup="G")).offset_table == {}
    found = await decoded_answer(filled, ConsumeStats, STATS, consumerGroup="G", topic="U")
    assert found.offset_table == {queue(0, "U"): OffsetWrapper()}
    await filled.heartbeat("one", consumer("G", subscription("T")))
    assert (await decoded_answer(filled, ConsumeStats, STATS, consumerGroup="G")).offset_table == PROGRESS


@pytest.mark.parametrize("offset", [-1, -2, -(2**63)])
async def test_a_negative_offset_is_shown_as_the_begin(server: Server, filled: Client, offset: int) -> None:
    await filled.commit(offset)
    found = await decoded_answer(filled, ConsumeStats, STATS, consumerGroup="G", topic="T")
    assert found.offset_table[queue(0)] == OffsetWrapper(broker_offset=3)
    spans = await decoded_answer(filled, QueryConsumeTimeSpanBody, SPAN, topic="T", group="G")
    assert spans.consume_time_span_set[0].consume_time_stamp == NOW
    assert spans.consume_time_span_set[0].delay_time == server.clock.now - NOW


async def test_an_unknown_time_is_0(filled: Client) -> None:
    await filled.commit(9)
    found = await decoded_answer(filled, ConsumeStats, STATS, consumerGroup="G")
    assert found.offset_table[queue(0)] == OffsetWrapper(broker_offset=3, consumer_offset=9, last_timestamp=0)


async def test_the_messages_a_second_of_a_group_are_shown(server: Server, filled: Client) -> None:
    await filled.pull("T")
    await server.pass_time(10)
    for _ in range(2):
        await filled.pull("T", 1)
        await server.pass_time(10)
    assert (await decoded_answer(filled, ConsumeStats, STATS, consumerGroup="G")).consume_tps == 7 / 30


async def test_more_queues_than_an_answer_may_hold_are_refused(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    text = '"{0}":{{"topicName":"{0}","readQueueNums":{1},"writeQueueNums":{1},"perm":6}}'
    counts = {"T": 2**31 - 1, "U": 2, "V": 65_535}
    table = ",".join(text.format(name, count) for name, count in counts.items())
    (tmp_path / "config" / "topics.json").write_text(f'{{"topicConfigTable":{{{table}}}}}')
    async with serving(tmp_path) as server:
        client = server.broker()
        for code in (TOPIC_STATS, SPAN):
            answer = await client.request(code, {"topic": "T", "group": "G"})
            assert code_and_remark(answer) == (1, "topic[T] has 2147483647 queues, 16384 are the most")
            assert (await client.request(code, {"topic": "U", "group": "G"})).header.code == 0
        for group, topics, count in (("G", "T", 2**31 - 1), ("H", "UV", 65_537)):
            for topic in topics:
                await client.commit(0, topic, group=group)
            answer = await client.request(STATS, {"consumerGroup": group})
            assert code_and_remark(answer) == (1, f"consumer group[{group}] has {count} queues, 65536 are the most")
        assert (await client.request(STATS, {"consumerGroup": "H", "topic": "U"})).header.code == 0
        assert (await client.send("T", queue_id=2**31 - 2)).header.code == 0


async def test_the_groups_of_a_topic_are_listed(filled: Client) -> None:
    await filled.commit(1, group="H")
    await filled.commit(1, "U", group="I")
    await filled.heartbeat("one", consumer("G", subscription("T")), consumer("J", subscription("T")))
    found = await decoded_answer(filled, GroupList, WHO, topic="T")
    assert sorted(found.group_list) == ["G", "H", "J"]
    assert (await decoded_answer(filled, GroupList, WHO, topic="None")).group_list == ()


def span(queue_id: int, oldest: int, newest: int, consumed: int, delay: int) -> QueueTimeSpan:
    times: dict[str, Any] = {}
    for name, time in (("min", oldest), ("max", newest), ("consume", consumed)):
        times[f"{name}_time_stamp"] = time
        times[f"{name}_time_stamp_str"] = local_text(time)
    return QueueTimeSpan(message_queue=queue(queue_id), delay_time=delay, **times)


async def test_the_time_span_of_a_group_is_shown(filled: Client) -> None:
    found = await decoded_answer(filled, QueryConsumeTimeSpanBody, SPAN, topic="T", group="G")
    assert found.consume_time_span_set == (span(0, NOW, NOW + 2000, NOW + 1000, 1000), span(1, -1, -1, -1, 0))
    await filled.commit(3)
    found = await decoded_answer(filled, QueryConsumeTimeSpanBody, SPAN, topic="T", group="G")
    assert found.consume_time_span_set[0] == span(0, NOW, NOW + 2000, NOW + 2000, 0)


async def test_a_new_group_is_at_the_oldest_message(filled: Client) -> None:
    found = await decoded_answer(filled, QueryConsumeTimeSpanBody, SPAN, topic="T", group="New")
    assert found.consume_time_span_set[0] == span(0, NOW, NOW + 2000, NOW, 3000)


async def all_stats(client: Client, *, ordered: bool = False) -> ConsumeStatsList:
    return await decoded_answer(client, ConsumeStatsList, ALL_STATS, isOrder=str(ordered).lower())


async def test_the_progress_of_all_groups_is_shown(server: Server, filled: Client) -> None:
    await filled.request(RequestCode.HEART_BEAT, {}, heartbeat("c", consumer("G", subscription("T"))))
    await filled.create_topic("U", 1)
    await filled.send("U")
    await filled.commit(0, "U", group="H")
    await filled.request(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, b'{"groupName":"H"}')
    await filled.commit(1, "Gone", group="H")
    await filled.commit(1, group="Unknown")
    await filled.commit(1, "U")  # which does not subscribe to it
    found = await all_stats(filled)
    assert found.broker_addr == str(server.advertised)
    assert found.total_diff == 1 + 1
    by_group = {group: stats for entry in found.consume_stats_list for group, stats in entry.items()}
    assert by_group["G"] == (ConsumeStats(offset_table=PROGRESS),)
    assert by_group["H"] == (ConsumeStats(offset_table={queue(0, "U"): OffsetWrapper(broker_offset=1)}),)
    assert by_group["TOOLS_CONSUMER"] == ()
    assert "Unknown" not in by_group
    assert len(by_group) == len(found.consume_stats_list)


async def test_the_progress_in_ordered_topics_is_shown(filled: Client) -> None:
    await filled.request(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, b'{"groupName":"G"}')
    assert (await all_stats(filled, ordered=True)).total_diff == 0
    await filled.request(RequestCode.UPDATE_AND_CREATE_TOPIC, topic_ext("T", 2, order=True))
    found = await all_stats(filled, ordered=True)
    assert found.total_diff == 1
    assert [entry["G"] for entry in found.consume_stats_list if "G" in entry] == [
        (ConsumeStats(offset_table=PROGRESS),)
    ]


@pytest.mark.parametrize(("version", "pulled"), [(407, None), (513, 2)])
async def test_the_pull_offset_depends_on_the_version_of_the_tool(
    filled: Client, version: int, pulled: int | None
) -> None:
    answer = await filled.request(STATS, {"consumerGroup": "G", "topic": "T"}, version=version)
    table = decode_body(ConsumeStats, bytes(answer.body)).offset_table
    assert (table[queue(0)].consumer_offset, table[queue(0)].pull_offset) == (2, pulled)
