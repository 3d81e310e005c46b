"""Timers through a whole server: requests as clients of 5.5.0 make them."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocketwire.store.layout.timer_check import CHECK_STRUCT
from rocketwire.wire.bodies.fastjson import loads
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.recall_handle import decode_recall_handle
from tests.server.harness import (
    BINARY,
    JSON,
    NOW,
    Client,
    Clock,
    FullDisk,
    HangingDisk,
    Server,
    code_and_remark,
    properties_text,
    records,
    serving,
    serving_topic,
    settle,
)
from tests.wire.golden import Capture, frames

NOT_SET = "not set any response code"
MARKED = properties_text(UNIQ_KEY="U", TIMER_DELAY_SEC="60")


async def handle_of(client: Client, properties: str = MARKED) -> str:
    answer = await client.send("T", properties=properties)
    assert answer.header.ext is not None
    return answer.header.ext["recallHandle"]


def recall_ext(handle: str, topic: str = "T") -> dict[str, str]:
    return {"producerGroup": "P", "topic": topic, "recallHandle": handle, "bname": "broker-a"}


@pytest.mark.parametrize("form", [JSON, BINARY])
async def test_a_message_is_cancelled_by_a_marker(broker: Client, form: int) -> None:
    handle = await handle_of(broker)
    for _ in range(2):  # whether the message already exists is not checked
        answer = await broker.request(RequestCode.RECALL_MESSAGE, recall_ext(handle), serialize_type=form)
        assert code_and_remark(answer) == (0, NOT_SET)
        assert answer.header.ext == {"msgId": "U", "MSG_REGION": "DefaultRegion"}
    stored = records((await broker.pull("rmq_sys_wheel_timer")).body)
    assert [(each.body, b"TIMER_DEL_UNIQKEY\x01U" in each.properties) for each in stored] == [
        (b"body", False),
        (b"0", True),
        (b"0", True),
    ]


async def test_refusals_have_the_region_too(broker: Client) -> None:
    answer = await broker.request(RequestCode.RECALL_MESSAGE, recall_ext("%"))
    assert code_and_remark(answer) == (604, "recall handle is invalid")
    assert answer.header.ext == {"MSG_REGION": "DefaultRegion"}


async def test_a_full_disk_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = FullDisk(monkeypatch)
    async with serving_topic(tmp_path, mapped_file_size_commit_log=1 << 20) as (_, client):
        handle = await handle_of(client)
        await client.send("T")
        disk.full = True
        for size in (100_000, 5_000, 300):
            while (await client.send("T", bytes(size))).header.code == 0:
                pass
        answers = [await client.request(RequestCode.RECALL_MESSAGE, recall_ext(handle)) for _ in range(3)]
        assert code_and_remark(answers[-1]) == (1, "recall failed, execute error")


async def test_under_sync_flush_the_answer_waits_for_the_disk(tmp_path: Path) -> None:
    disk = HangingDisk()
    async with serving_topic(tmp_path, run_sync=disk, flush_disk_type="SYNC_FLUSH") as (server, client):
        handle = await handle_of(client)
        disk.hangs = True
        await client.write(client.frame(RequestCode.RECALL_MESSAGE, recall_ext(handle)))
        await settle()
        assert await client.arrived() == []
        await server.pass_time(5.1)  # Apache answers success, however long the disk takes
        disk.move()
        assert code_and_remark(await client.receive()) == (0, NOT_SET)


async def test_requests_of_a_client_of_5_5_0_are_answered_as_by_apache(tmp_path: Path) -> None:
    """The test compares code, remark, the names of the extFields and the handles, as test_golden_replay does."""
    found = list(frames(Capture("5.5.0", "timer_recall")))
    by_number = {frame.row["seq"]: frame.row for frame in found}
    clock = Clock()
    compared = 0
    async with serving(tmp_path, clock=clock, timer_max_delay_sec=3 * 86_400) as server:
        client = server.broker()
        await client.create_topic("W_Timer")
        for frame in found:
            row = frame.row
            if row["kind"] != "request" or row["code"] not in {310, 370}:
                continue
            wanted = by_number[row["pair"]]["header"]
            clock.now = int(row["t"] * 1000)
            await client.write(frame.data)
            answer = (await client.receive()).header
            assert answer.ext is not None
            of_apache = wanted["extFields"]
            assert (answer.code, answer.remark) == (wanted["code"], wanted.get("remark"))
            assert sorted(answer.ext) == sorted(of_apache.keys() - {"transactionId"})  # 4.9.7 does not return that
            if "recallHandle" in of_apache:
                ours, apaches = (decode_recall_handle(ext["recallHandle"]) for ext in (answer.ext, of_apache))
                assert ours._replace(time=0) == apaches._replace(time=0)
                # Apache's is rounded down, to the second, and 1 ms; it had worked for 0.1 s when it read its clock.
                assert -120 < ours.time - apaches.time < 1000
            compared += 1
    assert compared == 6


@pytest.mark.parametrize("form", [JSON, BINARY])
async def test_the_progress_of_the_timer_is_shown(server: Server, broker: Client, form: int) -> None:
    before = (await broker.request(RequestCode.GET_TIMER_CHECK_POINT, serialize_type=form)).body
    assert len(before) == CHECK_STRUCT.size == 56
    await broker.send("T", properties=MARKED)
    await server.pass_time(3, step=0.5)
    answer = await broker.request(RequestCode.GET_TIMER_CHECK_POINT, serialize_type=form)
    assert code_and_remark(answer) == (0, None)
    read_time, log_end, queue_offset, master_offset, _, _, counter = CHECK_STRUCT.unpack(answer.body)
    assert (log_end, queue_offset, master_offset) == (52, 1, 1)
    assert read_time <= NOW + 60_000
    assert counter > 0


async def test_the_waiting_messages_of_each_topic_are_counted(server: Server, broker: Client) -> None:
    for _ in range(2):
        await broker.send("T", properties=MARKED)
    await server.pass_time(1, step=0.5)
    answer = await broker.request(RequestCode.GET_TIMER_METRICS)
    assert code_and_remark(answer) == (0, None)
    counts = loads(bytes(answer.body))
    assert counts["timingCount"] == {"T": {"count": 2, "timeStamp": server.clock.now}}
    assert counts["dataVersion"]["stateVersion"] == 0
    table = loads(bytes((await broker.request(RequestCode.GET_BROKER_RUNTIME_INFO)).body))["table"]
    assert (table["timerCongestNum"], table["timerOffsetBehind"]) == ("2", "0")


async def test_a_broker_without_a_timer_refuses(tmp_path: Path) -> None:
    async with serving(tmp_path, timer_wheel_enable=False) as server:
        client = server.broker()
        for code, remark in (
            (RequestCode.GET_TIMER_CHECK_POINT, "The checkpoint is null"),
            (RequestCode.GET_TIMER_METRICS, "The timer message store is null"),
        ):
            assert code_and_remark(await client.request(code)) == (1, remark)
        assert (await client.request(RequestCode.GET_BROKER_RUNTIME_INFO)).header.code == 0


async def test_a_message_comes_at_its_millisecond_and_a_recalled_one_does_not(server: Server, broker: Client) -> None:
    handle = await handle_of(broker, properties_text(UNIQ_KEY="Gone", TIMER_DELIVER_MS=str(NOW + 2345)))
    for key in ("Stays", "Gone-too"):
        await broker.send("T", key.encode(), properties=properties_text(UNIQ_KEY=key, TIMER_DELAY_MS="2345"))
    assert (await broker.request(RequestCode.RECALL_MESSAGE, recall_ext(handle))).header.code == 0
    marker = properties_text(TIMER_DEL_UNIQKEY="Gone-too", TIMER_DELIVER_MS=str(NOW + 2345))
    assert (await broker.send("T", properties=marker)).header.code == 0
    await server.pass_time(2.344, step=0.1)
    assert records((await broker.pull("T")).body) == []
    await server.pass_time(0.005, step=0.001)
    assert [message.body for message in records((await broker.pull("T")).body)] == [b"Stays"]
    await server.pass_time(5, step=0.5)
    assert len(records((await broker.pull("T")).body)) == 1


async def test_a_message_that_came_at_its_time_is_retried_like_any_other(server: Server, broker: Client) -> None:
    await broker.send("T", b"timed", properties=properties_text(UNIQ_KEY="U", TIMER_DELAY_SEC="1"))
    await server.pass_time(2, step=0.1)
    (delivered,) = records((await broker.pull("T")).body)
    properties = delivered.properties.decode()
    assert "TIMER_OUT_MS" in properties
    # Sent back, it waits for its level; sent to the retry topic by an older client, too; sent on, it does not wait.
    ext = {"offset": str(delivered.physical_offset), "group": "G", "delayLevel": "3", "maxReconsumeTimes": "16"}
    assert (await broker.request(RequestCode.CONSUMER_SEND_MSG_BACK, ext)).header.code == 0
    retried = f"{properties}\x02DELAY\x013"
    assert (await broker.send("%RETRY%G", b"again", properties=retried, reconsume_times=1)).header.code == 0
    assert (await broker.send("T", b"on", properties=properties)).header.code == 0
    waiting = records((await broker.pull("SCHEDULE_TOPIC_XXXX", queue_id=2)).body)
    assert [message.body for message in waiting] == [b"timed", b"again"]
    assert [message.body for message in records((await broker.pull("T")).body)] == [b"timed", b"on"]
    await server.pass_time(12, step=0.5)
    assert [message.body for message in records((await broker.pull("%RETRY%G")).body)] == [b"timed", b"again"]
    assert len(records((await broker.pull("rmq_sys_wheel_timer")).body)) == 1
