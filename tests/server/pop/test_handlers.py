"""POP as clients see it: deliveries, redeliveries and their times, and refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rocketwire.wire.facts.codes import PopResponseCode, RequestCode, ResponseCode
from rocketwire.wire.facts.properties import FIRST_POP_TIME, ORIGIN_GROUP, POP_CK
from rocketwire.wire.properties import decode_stored_properties
from tests.server.harness import NOW, Client, Server, code_and_remark, records, send_ext, serving, settle
from tests.server.pop.requests import ack, ack_all, change, hold, notification_ext, pop, pop_ext, popped

FAQ = "\nSee http://rocketmq.apache.org/docs/faq/ for further details."


@pytest.fixture
async def filled(broker: Client) -> Client:
    """T has one queue with ten messages, whose tags alternate between A and B."""
    await broker.create_topic("T", 1)
    for number in range(10):
        await broker.send("T", b"m%d" % number, tags="AB"[number % 2])
    return broker


# --- taking ---


async def test_a_pop_takes_messages_and_counts_the_remaining_ones(filled: Client) -> None:
    first = await pop(filled, max_msg_nums=4)
    assert (first.frame.header.code, first.frame.header.remark) == (0, "FOUND")
    assert first.bodies == [b"m0", b"m1", b"m2", b"m3"]
    assert first.frame.header.ext == {
        "popTime": str(NOW),
        "invisibleTime": "10000",
        "reviveQid": "0",
        "restNum": "6",
        "startOffsetInfo": "0 0 0",
        "msgOffsetInfo": "0 0 0,1,2,3",
    }
    second = await pop(filled)
    assert second.bodies == [b"m%d" % number for number in range(4, 10)]
    assert (second.fields.revive_qid, second.fields.rest_num) == (1, 0)


async def test_popped_messages_count_as_consumed_for_tools(filled: Client) -> None:
    await pop(filled, max_msg_nums=4)
    answer = await filled.request(
        RequestCode.QUERY_CONSUMER_OFFSET, {"consumerGroup": "G", "topic": "T", "queueId": "0"}
    )
    assert answer.header.ext == {"offset": "4"}


async def test_all_queues_are_read_from_a_random_one_on(broker: Client, server: Server) -> None:
    await broker.create_topic("T", 3)
    for queue_id in (0, 1, 2):
        for number in (0, 1):
            await broker.send("T", b"q%d-%d" % (queue_id, number), queue_id=queue_id)
    found = await pop(broker, max_msg_nums=5)
    assert found.bodies == [b"q0-0", b"q0-1", b"q1-0", b"q1-1", b"q2-0"]  # 99 % 3 == 0
    assert found.fields.start_offset_info == "0 0 0;0 1 0;0 2 0"
    assert found.fields.rest_num == 1
    assert (await pop(broker, queue_id=1)).bodies == []
    assert (await pop(broker, queue_id=2)).bodies == [b"q2-1"]


async def test_two_pops_of_one_read_take_different_messages(filled: Client) -> None:
    frames = [filled.frame(RequestCode.POP_MESSAGE, pop_ext("T", max_msg_nums=3)) for _ in range(3)]
    await filled.write(b"".join(frames))
    bodies = [popped(await filled.receive()).bodies for _ in range(3)]
    assert sorted(body for each in bodies for body in each) == [b"m%d" % number for number in range(9)]


async def test_messages_that_do_not_pass_the_filter_are_skipped(filled: Client) -> None:
    found = await pop(filled, exp="B", exp_type="TAG", max_msg_nums=3)
    assert found.bodies == [b"m1", b"m3", b"m5"]
    assert found.fields.msg_offset_info == "0 0 1,3,5"
    assert found.fields.start_offset_info == "0 0 0"
    rest = await pop(filled, exp="C", exp_type="TAG")
    assert (rest.frame.header.code, rest.bodies) == (PopResponseCode.POLLING_TIMEOUT, [])
    assert (await pop(filled)).bodies == []


async def test_sql_filters_apply(broker: Client) -> None:
    await broker.set_config(enablePropertyFilter="true")
    for number in range(4):
        await broker.send("T", b"%d" % number, properties=f"a\x01{number}")
    assert (await pop(broker, exp="a > 1", exp_type="SQL92")).bodies == [b"2", b"3"]
    refused = await broker.request(RequestCode.POP_MESSAGE, pop_ext("T", exp="a >", exp_type="SQL92"))
    assert refused.header.code == ResponseCode.SUBSCRIPTION_PARSE_FAILED


@pytest.mark.parametrize(("mode", "in_memory", "first"), [(0, "true", b"m0"), (1, "true", b"m0"), (1, "false", b"m9")])
async def test_a_new_group_begins_at_the_requested_end(filled: Client, mode: int, in_memory: str, first: bytes) -> None:
    await filled.set_config(initPopOffsetByCheckMsgInMem=in_memory)
    assert (await pop(filled, init_mode=mode, max_msg_nums=1)).bodies == [first]


async def test_a_group_with_an_offset_outside_the_queue_continues_at_its_messages(filled: Client) -> None:
    ext = {"consumerGroup": "G", "topic": "T", "queueId": "0", "commitOffset": "1000"}
    await filled.request(RequestCode.UPDATE_CONSUMER_OFFSET, ext)
    assert (await pop(filled)).bodies == []
    await filled.send("T", b"new")
    assert (await pop(filled)).bodies == [b"new"]


# --- coming again ---


async def test_an_unacknowledged_message_is_redelivered_after_its_invisible_time(
    filled: Client, server: Server
) -> None:
    taken = await pop(filled, max_msg_nums=3)
    assert (await ack(filled, taken.messages[1])).header.code == 0
    await server.pass_time(9.99, step=1)
    assert (await pop(filled, max_msg_nums=7)).bodies == [b"m%d" % number for number in range(3, 10)]
    assert (await pop(filled)).bodies == []
    await server.pass_time(0.1, step=0.005)
    again = await pop(filled)
    assert again.bodies == [b"m0", b"m2"]
    message = again.messages[0].message
    assert (message.topic, message.reconsume_times, message.queue_id, message.queue_offset) == ("T", 1, 0, 0)
    properties = decode_stored_properties(message.properties)
    assert properties[FIRST_POP_TIME] == str(NOW)
    assert properties[ORIGIN_GROUP] == "G"
    assert properties[POP_CK] == again.messages[0].handle.text
    assert again.messages[0].topic == "%RETRY%G_T"
    assert again.fields.start_offset_info == "1 0 0"
    for got in again.messages:
        assert (await ack(filled, got)).header.code == 0
    await server.pass_time(30, step=1)
    assert {got.message.reconsume_times for got in (await pop(filled)).messages} == {1}


async def test_acknowledged_messages_are_never_redelivered(filled: Client, server: Server) -> None:
    taken = await pop(filled)
    assert (await ack_all(filled, *taken.messages)).header.code == 0
    await server.pass_time(60, step=1)
    assert (await pop(filled)).bodies == []


async def test_a_message_is_redelivered_each_time_it_is_not_acknowledged(filled: Client, server: Server) -> None:
    await pop(filled, max_msg_nums=1)
    for times in (1, 2, 3):
        await server.pass_time(10.1, step=0.05)
        (got,) = [each for each in (await pop(filled)).messages if each.body == b"m0"]
        assert got.message.reconsume_times == times
        assert got.topic == "%RETRY%G_T"


@pytest.mark.parametrize("v2", [False, True])
async def test_retry_topics_have_both_forms(filled: Client, server: Server, v2: bool) -> None:
    await filled.set_config(enableRetryTopicV2=str(v2).lower())
    await pop(filled)
    await server.pass_time(10.1, step=0.05)
    await filled.set_config(enableRetryTopicV2="true")
    found = await pop(filled)
    assert len(found.bodies) == 10
    assert {got.topic for got in found.messages} == {"%RETRY%G+T" if v2 else "%RETRY%G_T"}
    assert {got.handle.kind for got in found.messages} == {"2" if v2 else "1"}
    await filled.set_config(retrieveMessageFromPopRetryTopicV1="false")
    await server.pass_time(10.1, step=0.05)
    assert len((await pop(filled)).bodies) == (10 if v2 else 0)


async def test_answers_have_the_actual_retry_topic(filled: Client, server: Server) -> None:
    await filled.set_config(popResponseReturnActualRetryTopic="true")
    await pop(filled, max_msg_nums=1)
    await server.pass_time(10.1, step=0.05)
    found = await pop(filled)
    again = next(got for got in found.messages if got.body == b"m0")
    assert again.message.topic == "%RETRY%G_T"
    assert POP_CK not in decode_stored_properties(again.message.properties)
    assert (await ack(filled, again)).header.code == 0


async def test_retries_are_read_first_or_last_as_configured(filled: Client, server: Server) -> None:
    await pop(filled, max_msg_nums=1)
    await server.pass_time(10.1, step=0.05)
    await filled.set_config(popFromRetryProbability="100")
    assert (await pop(filled, max_msg_nums=2)).bodies == [b"m0", b"m1"]
    await server.pass_time(10.1, step=0.05)
    await filled.set_config(popFromRetryProbability="0")
    assert (await pop(filled, max_msg_nums=10)).bodies == [*(b"m%d" % number for number in range(2, 10)), b"m0", b"m1"]


# --- another time ---


async def test_the_invisible_time_of_a_message_is_prolonged(filled: Client, server: Server) -> None:
    (first,) = (await pop(filled, max_msg_nums=1, queue_id=0)).messages
    await server.pass_time(5)
    frame, later = await change(filled, first, 20_000)
    assert frame.header.ext == {"popTime": str(NOW + 5000), "invisibleTime": "20000", "reviveQid": "0"}
    await server.pass_time(19.9, step=0.5)
    assert b"m0" not in (await pop(filled)).bodies
    await server.pass_time(0.3, step=0.01)
    (again,) = [got for got in (await pop(filled)).messages if got.body == b"m0"]
    assert again.message.reconsume_times == 1
    frame, _ = await change(filled, again, 0)
    assert frame.header.code == 0
    await server.pass_time(0.1, step=0.005)
    (at_once,) = [got for got in (await pop(filled)).messages if got.body == b"m0"]
    assert at_once.message.reconsume_times == 2
    assert later.handle.start_offset == 0


async def test_a_message_that_is_returned_unconsumed_counts_no_try(filled: Client, server: Server) -> None:
    (got,) = (await pop(filled, max_msg_nums=1)).messages
    await change(filled, got, 100, suspend=True)
    await server.pass_time(0.3, step=0.005)
    (again,) = [each for each in (await pop(filled)).messages if each.body == b"m0"]
    assert again.message.reconsume_times == 0


async def test_no_redelivery_overtakes_an_acknowledgement(filled: Client, server: Server) -> None:
    """The timer delivers a ms late what is due at a time that ends in 9."""
    taken = await pop(filled)
    for digit, got in enumerate(taken.messages):
        _, changed = await change(filled, got, 5000 + digit)
        assert (await ack(filled, changed)).header.code == 0
    await server.pass_time(4.9, step=0.1)
    await server.pass_time(0.2, step=0.001)
    assert (await pop(filled)).bodies == []


# --- waiting ---


async def test_a_pop_is_held_until_a_message_comes(broker: Client, server: Server) -> None:
    await broker.create_topic("T", 2)
    waiting = server.broker()
    await hold(waiting)
    assert await waiting.arrived() == []
    await broker.send("T", b"a", queue_id=1)
    (frame,) = await waiting.arrived()
    assert popped(frame).bodies == [b"a"]


async def test_one_message_wakes_one_held_pop(broker: Client, server: Server) -> None:
    await broker.create_topic("T", 2)
    clients = [server.broker() for _ in range(3)]
    for client in clients:
        await hold(client)
    info = {"consumerGroup": "G", "topic": "T", "queueId": "-1"}
    assert (await broker.request(RequestCode.POLLING_INFO, info)).header.ext == {"pollingNum": "3"}
    await broker.send("T", b"a")
    assert [len(await client.arrived()) for client in clients] == [1, 0, 0]
    await broker.send("T", b"b", queue_id=1)
    assert [len(await client.arrived()) for client in clients] == [0, 1, 0]
    assert (await broker.request(RequestCode.POLLING_INFO, info)).header.ext == {"pollingNum": "1"}


async def test_a_burst_wakes_as_many_pops_as_it_has_messages_for(broker: Client, server: Server) -> None:
    await broker.create_topic("T", 1)
    clients = [server.broker() for _ in range(4)]
    for client in clients:
        await hold(client, max_msg_nums=2)
    sends = [broker.frame(RequestCode.SEND_MESSAGE_V2, send_ext("T"), b"%d" % number) for number in range(5)]
    await broker.write(b"".join(sends))
    bodies = [popped(frame).bodies for client in clients for frame in await client.arrived()]
    assert bodies == [[b"0", b"1"], [b"2", b"3"], [b"4"]]


async def test_a_held_pop_waits_for_messages_that_pass_its_filter(broker: Client, server: Server) -> None:
    await broker.create_topic("T", 1)
    waiting = server.broker()
    await hold(waiting, exp="A", exp_type="TAG")
    await broker.send("T", b"b", tags="B")
    assert await waiting.arrived() == []
    await broker.send("T", b"a", tags="A")
    (frame,) = await waiting.arrived()
    assert popped(frame).bodies == [b"a"]


async def test_a_redelivered_message_wakes_a_held_pop(filled: Client, server: Server) -> None:
    await pop(filled)
    waiting = server.broker()
    await hold(waiting, queue_id=0)
    await server.pass_time(10.05, step=0.005)
    (frame,) = await waiting.arrived()
    assert len(popped(frame).bodies) > 0


async def test_a_held_pop_without_messages_is_answered_so(broker: Client, server: Server) -> None:
    await broker.create_topic("T", 1)
    waiting = server.broker()
    await hold(waiting, seconds=15)
    await server.pass_time(14.9)
    assert await waiting.arrived() == []
    await server.pass_time(0.2)
    (frame,) = await waiting.arrived()
    assert code_and_remark(frame) == (PopResponseCode.POLLING_TIMEOUT, "NO_MESSAGE_IN_QUEUE")
    assert frame.header.ext is not None
    assert {name: frame.header.ext[name] for name in ("startOffsetInfo", "msgOffsetInfo", "restNum")} == {
        "startOffsetInfo": "", "msgOffsetInfo": "", "restNum": "0"
    }  # fmt: skip


async def test_a_pop_whose_time_is_over_is_refused(filled: Client) -> None:
    late = await filled.request(RequestCode.POP_MESSAGE, pop_ext("T", born_time=NOW - 10_000, poll_time=9_000))
    assert code_and_remark(late) == (
        PopResponseCode.POLLING_TIMEOUT, "the broker[127.0.0.1] pop message is timeout too much"
    )  # fmt: skip
    assert (await pop(filled, born_time=NOW - 10_000, poll_time=9_700)).bodies


async def test_too_many_held_pops_are_refused(broker: Client, server: Server) -> None:
    await broker.set_config(popPollingSize="2", maxPopPollingSize="3")
    await broker.create_topic("T", 1)
    clients = [server.broker() for _ in range(5)]
    await hold(clients[0])
    await hold(clients[1])
    await hold(clients[2])
    (full,) = await clients[2].arrived()
    assert code_and_remark(full) == (PopResponseCode.POLLING_FULL, "NO_MESSAGE_IN_QUEUE")
    await hold(clients[3], consumer_group="H")
    await hold(clients[4], consumer_group="I")
    (full,) = await clients[4].arrived()
    assert full.header.code == PopResponseCode.POLLING_FULL


async def test_a_disconnected_client_takes_no_message(broker: Client, server: Server) -> None:
    await broker.create_topic("T", 1)
    waiting = server.broker()
    await hold(waiting)
    waiting.close()
    await settle()
    await broker.send("T", b"a")
    assert (await pop(broker)).bodies == [b"a"]


async def test_a_group_over_its_quota_is_refused(filled: Client, server: Server) -> None:
    await filled.set_config(groupQuotas="G=-/2")
    assert len((await pop(filled, max_msg_nums=4)).bodies) == 4
    refused = await filled.request(RequestCode.POP_MESSAGE, pop_ext("T"))
    assert refused.header.code == ResponseCode.FLOW_CONTROL
    await server.pass_time(2)
    assert len((await pop(filled)).bodies) == 6


# --- looking ---


async def test_a_peek_takes_nothing(filled: Client) -> None:
    ext = {"topic": "T", "queueId": "-1", "maxMsgNums": "3", "consumerGroup": "G"}
    for _ in range(2):
        frame = await filled.request(RequestCode.PEEK_MESSAGE, ext)
        assert (frame.header.code, frame.header.remark) == (0, "FOUND")
        assert frame.header.ext is not None
        assert frame.header.ext["restNum"] == "10"
        assert [message.body for message in records(frame.body)] == [b"m0", b"m1", b"m2"]
    await pop(filled)
    frame = await filled.request(RequestCode.PEEK_MESSAGE, ext)
    assert code_and_remark(frame) == (ResponseCode.PULL_NOT_FOUND, "NO_MESSAGE_IN_QUEUE")


async def test_notifications_announce_messages(broker: Client, server: Server) -> None:
    await broker.create_topic("T", 2)
    waiting = server.broker()
    ext = notification_ext(poll_time=5000)
    await waiting.write(waiting.frame(RequestCode.NOTIFICATION, ext))
    assert await waiting.arrived() == []
    await broker.send("T", b"a")
    (frame,) = await waiting.arrived()
    assert (frame.header.code, frame.header.ext) == (0, {"hasMsg": "true", "pollingFull": "false"})
    assert (await waiting.request(RequestCode.NOTIFICATION, ext)).header.ext == {
        "hasMsg": "true",
        "pollingFull": "false",
    }
    await pop(broker)
    await waiting.write(waiting.frame(RequestCode.NOTIFICATION, ext))
    await server.pass_time(6)
    (frame,) = await waiting.arrived()
    assert frame.header.ext == {"hasMsg": "false", "pollingFull": "false"}
    assert (await waiting.request(RequestCode.NOTIFICATION, notification_ext())).header.ext == {
        "hasMsg": "false", "pollingFull": "false"
    }  # fmt: skip


# --- refusals ---


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        ({"max_msg_nums": 33}, (29, "the broker[127.0.0.1] pop message's num is greater than 32")),
        ({"topic": "None"}, (17, f"topic[None] not exist, apply first please! {FAQ}")),
        ({"queue_id": 1}, (29, "queueId[1] is illegal, topic:[T] topicConfig.readQueueNums:[1] consumer:[{}]")),
        ({"consumer_group": "g" * 247}, (1, f"The topic[%RETRY%{'g' * 247}_T] is longer than topic max length.")),
        ({"invisible_time": 0}, (29, "the invisible time of 0 ms is less than 1 ms")),
        ({"invisible_time": -(2**63)}, (29, f"the invisible time of {-(2**63)} ms is less than 1 ms")),
        (
            {"invisible_time": 41 * 86_400_000},
            (13, "timer message illegal, the delay time should not be bigger than the max delay 3456000000ms"),
        ),
    ],
)
async def test_malformed_requests_are_refused(
    filled: Client, changes: dict[str, Any], refusal: tuple[int, str]
) -> None:
    topic = changes.pop("topic", "T")
    frame = await filled.request(RequestCode.POP_MESSAGE, pop_ext(topic, **changes))
    assert code_and_remark(frame) == (refusal[0], refusal[1].format(filled.local))
    assert (await pop(filled, max_msg_nums=1)).bodies == [b"m0"]


async def test_requests_without_permission_are_refused(filled: Client) -> None:
    await filled.create_topic("W", 1, perm=2)
    frame = await filled.request(RequestCode.POP_MESSAGE, pop_ext("W"))
    assert code_and_remark(frame) == (16, "the topic[W] peeking message is forbidden")
    await filled.set_config(autoCreateSubscriptionGroup="false")
    frame = await filled.request(RequestCode.POP_MESSAGE, pop_ext("T", consumer_group="Unknown"))
    assert frame.header.code == ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST
    await filled.set_config(brokerPermission="2")
    frame = await filled.request(RequestCode.POP_MESSAGE, pop_ext("T"))
    assert code_and_remark(frame) == (16, "the broker[127.0.0.1] pop message is forbidden")
    frame = await filled.request(RequestCode.NOTIFICATION, notification_ext())
    assert code_and_remark(frame) == (16, "the broker[127.0.0.1] peeking message is forbidden")


async def test_malformed_acknowledgements_are_refused(filled: Client) -> None:
    (got,) = (await pop(filled, max_msg_nums=1)).messages
    cases: list[tuple[dict[str, Any], int]] = [
        ({"topic": "None"}, ResponseCode.TOPIC_NOT_EXIST),
        ({"queue_id": 1}, ResponseCode.MESSAGE_ILLEGAL),
        ({"queue_id": -1}, ResponseCode.MESSAGE_ILLEGAL),
        ({"offset": 11}, ResponseCode.NO_MESSAGE),
        ({"offset": -1}, ResponseCode.NO_MESSAGE),
        ({"consumer_group": "Unknown"}, ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST),
        ({"extra_info": "1 2 3"}, ResponseCode.SYSTEM_ERROR),
        ({"extra_info": got.handle._replace(revive_queue=8).text}, ResponseCode.SYSTEM_ERROR),
        ({"extra_info": got.handle._replace(broker="a\x02REAL_TOPIC\x01T").text}, ResponseCode.SYSTEM_ERROR),
    ]
    for changes, code in cases:
        assert (await ack(filled, got, **changes)).header.code == code
    frame, _ = await change(filled, got, 1000, offset=10)
    assert frame.header.code == ResponseCode.NO_MESSAGE
    frame = await filled.request(RequestCode.BATCH_ACK_MESSAGE)
    assert frame.header.code == ResponseCode.NO_MESSAGE
    frame = await filled.request(RequestCode.BATCH_ACK_MESSAGE, body=b'{"acks":[]}')
    assert frame.header.code == ResponseCode.NO_MESSAGE


async def test_pops_need_the_timer(tmp_path: Path) -> None:
    async with serving(tmp_path / "store", timer_wheel_enable=False) as server:
        broker = server.broker()
        await broker.send("T", b"a")
        frame = await broker.request(RequestCode.POP_MESSAGE, pop_ext("T"))
        remark = "the broker[127.0.0.1] pop message is forbidden because timerWheelEnable is false"
        assert code_and_remark(frame) == (1, remark)


@pytest.mark.parametrize(
    "topic",
    ["rmq_sys_REVIVE_LOG_DefaultCluster", "rmq_sys_wheel_timer", "SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC"],
)
async def test_topics_in_which_messages_wait_are_not_popped(filled: Client, topic: str) -> None:
    """A check point of such a pop would be one more message there, and so on."""
    await pop(filled)
    answer = await filled.request(RequestCode.POP_MESSAGE, pop_ext(topic))
    assert code_and_remark(answer) == (16, f"the topic[{topic}] pop message is forbidden")


@pytest.mark.parametrize("order", [False, True])
async def test_a_change_to_a_negative_time_is_refused(filled: Client, *, order: bool) -> None:
    (got, *_) = (await pop(filled, order=order)).messages
    frame, _ = await change(filled, got, -1)
    assert code_and_remark(frame) == (29, "the invisible time of -1 ms is less than 0 ms")
    assert (await change(filled, got, 0))[0].header.code == 0


@pytest.mark.parametrize("name", ["x" * 256, "x" * 60_000])
async def test_a_handle_with_a_long_broker_name_is_refused(filled: Client, name: str) -> None:
    """It would be written into properties, for which a record has no room."""
    (got, *_) = (await pop(filled)).messages
    wrong = got._replace(handle=got.handle._replace(broker=name))
    assert (await ack(filled, wrong)).header.code == 1
    assert (await change(filled, wrong, 1000))[0].header.code == 1
    assert (await ack(filled, got)).header.code == 0
