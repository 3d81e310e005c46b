from __future__ import annotations

import logging
import re
import zlib
from pathlib import Path

import pytest

from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.limits import limits as module
from rocketwire.server.limits.keys import LimitKeys
from rocketwire.server.limits.limits import LIMIT_NAMES, Limits
from rocketwire.server.net.admission.in_flight import InFlight
from rocketwire.store.append.group_commit import GroupCommit
from rocketwire.wire.addresses import Address
from rocketwire.wire.facts.codes import RequestCode
from tests.server.harness import (
    BINARY,
    JSON,
    HangingDisk,
    code_and_remark,
    consumer,
    heartbeat,
    instances,
    mock_clock,
    pull_ext,
    send_ext,
    serving,
    settle,
    subscription,
    topic_ext,
)
from tests.server.monitoring.scraping import scraped, value

HTTP = Address(host="127.0.0.1", port=0)
DOCS = Path(__file__).parents[3] / "docs"
BUSY = "[REJECTREQUEST]system busy, start flow control for a while, "


async def test_each_refusal_is_counted_and_one_line_in_ten_seconds_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    metrics = Metrics()
    limits = Limits(LiveGroup(LimitKeys()), metrics)
    for _ in range(3):
        limits.count_refusal("maxConnections", "192.0.2.1")
    limits.count_refusal("maxFrameBytes", "192.0.2.2:5")
    mock_clock().jump(10.1)
    limits.count_refusal("maxConnections", "192.0.2.3")
    assert metrics.limited == {"maxConnections": 4, "maxFrameBytes": 1}
    assert [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING] == [
        "limit maxConnections: 192.0.2.1 refused, 1 so far",
        "limit maxFrameBytes: 192.0.2.2:5 refused, 1 so far",
        "limit maxConnections: 192.0.2.3 refused, 4 so far",
    ]


@pytest.mark.usefixtures("driver")
@pytest.mark.parametrize("serialize_type", [JSON, BINARY])
async def test_one_held_pull_too_many_is_answered_at_once(tmp_path: Path, serialize_type: int) -> None:
    async with serving(tmp_path, max_requests_per_connection=2) as server:
        one, other = server.broker(), server.broker()
        await one.create_topic("T", 4)
        for queue in range(4):  # the kernel serves a queue that has had messages
            await one.send("T", queue_id=queue)
        for queue in range(3):
            await one.hold("T", 1, queue_id=queue, serialize_type=serialize_type)
        (answer,) = await one.arrived()
        assert code_and_remark(answer) == (2, BUSY + "maxRequestsPerConnection=2")
        await other.hold("T", 1, queue_id=3)
        assert (await other.send("T", queue_id=0)).header.code == 0
        assert (await one.receive()).header.code == 0
        await one.hold("T", 1, queue_id=2, serialize_type=serialize_type)
        assert await one.arrived() == []
        assert (await one.request(RequestCode.GET_BROKER_CONFIG)).header.code == 0


def offset_ext(group: str, topic: str, queue_id: int, offset: int = 0) -> dict[str, str]:
    return {"consumerGroup": group, "topic": topic, "queueId": str(queue_id), "commitOffset": str(offset)}


@pytest.mark.usefixtures("driver")
async def test_topics_groups_and_offsets_of_clients_are_bounded(tmp_path: Path) -> None:
    update = RequestCode.UPDATE_CONSUMER_OFFSET
    async with serving(tmp_path, max_topics=14, max_groups=12, max_offsets=3) as server:
        client = server.broker()
        topics = [f"T{number}" for number in range(30)]
        codes = [(await client.send(topic)).header.code for topic in topics]
        first = codes.index(2)
        assert codes == [0] * first + [2] * (30 - first)
        full = (2, BUSY + "maxTopics=14")
        assert code_and_remark(await client.send("more")) == full
        assert (await client.send(topics[0])).header.code == 0

        codes = [
            (await client.pull("T0", consumer_group=f"P{number}", subscription="*")).header.code for number in range(30)
        ]
        first = codes.index(2)
        assert first > 0
        assert codes == [0] * first + [2] * (30 - first)
        assert (await client.pull("T0", consumer_group="P0")).header.code == 0

        for each in (("P0", "T0", 0), ("P0", "T0", 1), ("unknown", "nothing", 0), ("P0", "T0", 1)):
            assert (await client.request(update, offset_ext(*each, offset=1))).header.code == 0
        for each in (("P0", "T0", 2), ("other", "T0", 0)):
            assert code_and_remark(await client.request(update, offset_ext(*each))) == (2, BUSY + "maxOffsets=3")
        ext = pull_ext("T0", consumer_group="P0", sys_flag=5, commit_offset=9, queue_id=3)
        assert (await client.request(RequestCode.PULL_MESSAGE, ext)).header.code == 2
        assert (await client.request(update, offset_ext("P0", "T0", 0, offset=7))).header.code == 0
    async with serving(tmp_path, max_topics=1, max_groups=1, max_offsets=1) as server:
        client = server.broker()
        assert (await client.send("T0")).header.code == 0
        assert (await client.send("more")).header.code == 2
        assert (await client.pull("T0", consumer_group="P0")).header.code == 0
        assert (await client.request(update, offset_ext("P0", "T0", 0, offset=8))).header.code == 0
        assert (await client.request(update, offset_ext("P1", "T0", 0))).header.code == 2


@pytest.mark.usefixtures("driver")
@pytest.mark.parametrize("serialize_type", [JSON, BINARY])
async def test_refused_sends_replies_and_pulls_are_counted_and_logged(
    tmp_path: Path, serialize_type: int, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(tmp_path) as server:
        await server.broker().create_topic("T")
    full, held = "maxTopics=1", "maxRequestsPerConnection=1"
    async with serving(tmp_path, http=HTTP, max_topics=1, max_requests_per_connection=1) as server:
        client = server.broker()
        sends = (RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_MESSAGE, RequestCode.SEND_REPLY_MESSAGE_V2)
        for code in sends:
            ext = send_ext("more", short=code != RequestCode.SEND_MESSAGE)
            answer = await client.request(code, ext, b"m", serialize_type=serialize_type)
            assert code_and_remark(answer) == (2, BUSY + full)
        for _ in range(3):
            await client.hold("T", 0, serialize_type=serialize_type)
        assert [code_and_remark(answer) for answer in await client.arrived()] == [(2, BUSY + held)] * 2
        samples = await scraped(server)
    assert value(samples, "limit_refusals_total", limit="maxTopics") == len(sends)
    assert value(samples, "limit_refusals_total", limit="maxRequestsPerConnection") == 2
    lines = [record.getMessage() for record in caplog.records if record.getMessage().startswith("limit ")]
    assert [re.sub(r"127\.0\.0\.1:\d+", "CLIENT", line) for line in lines] == [
        "limit maxTopics: CLIENT refused, 1 so far",
        "limit maxRequestsPerConnection: CLIENT refused, 1 so far",
    ]


@pytest.mark.usefixtures("driver")
async def test_an_existing_group_gets_its_topics_beyond_the_limit(tmp_path: Path) -> None:
    async with serving(tmp_path, max_topics=14, max_groups=12) as server:
        client = server.broker()
        codes = [(await client.send(f"T{number}")).header.code for number in range(30)]
        assert 0 < codes.index(2) < 14
        beat = heartbeat("c", consumer("G", subscription("T0")))
        assert (await client.request(RequestCode.HEART_BEAT, body=beat)).header.code == 0  # creates the retry topic
        offset = int(((await client.send("T0", b"bad")).header.ext or {})["msgId"][16:], 16)
        for level in ("0", "-1"):  # for a redelivery; a dead letter
            back = {"group": "G", "offset": str(offset), "delayLevel": level}
            assert code_and_remark(await client.request(RequestCode.CONSUMER_SEND_MSG_BACK, back)) == (0, None)
        assert (await client.request(RequestCode.GET_MAX_OFFSET, {"topic": "%DLQ%G", "queueId": "0"})).header.ext == {
            "offset": "1"
        }
        full = (2, BUSY + "maxTopics=14")
        create = RequestCode.UPDATE_AND_CREATE_TOPIC
        assert code_and_remark(await client.send("more")) == full
        assert code_and_remark(await client.request(create, topic_ext("%RETRY%unknown"))) == full
        assert (await client.request(RequestCode.DELETE_SUBSCRIPTIONGROUP, {"groupName": "G"})).header.code == 0
        assert code_and_remark(await client.send("more")) == full
        assert code_and_remark(await client.request(create, topic_ext("%RETRY%G2"))) == full


async def test_a_registration_has_a_bounded_length(tmp_path: Path) -> None:
    async with serving(tmp_path, max_registration_bytes=1024) as server:
        client = server.name_server()
        ext = {"brokerName": "b", "brokerAddr": "192.0.2.1:1", "clusterName": "C", "brokerId": "0"}
        ext |= {"haServerAddr": "192.0.2.1:2", "compressed": "false"}
        long = b'{"filterServerList":["' + b"x" * 1024 + b'"]}'
        answer = await client.request(RequestCode.REGISTER_BROKER, ext, long)
        assert code_and_remark(answer) == (2, BUSY + "maxRegistrationBytes=1024")
        many = zlib.compress(bytes(10_000_000))
        answer = await client.request(RequestCode.REGISTER_BROKER, ext | {"compressed": "true"}, many)
        assert code_and_remark(answer) == (2, BUSY + "maxRegistrationBytes=1024")
        assert (await client.request(RequestCode.REGISTER_BROKER, ext, b"{}")).header.code == 0


@pytest.mark.usefixtures("driver")
async def test_a_heartbeat_has_a_bounded_length_and_counts_in_the_account(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = instances(monkeypatch, InFlight)
    async with serving(tmp_path, max_heartbeat_bytes=7000) as server:
        client = server.broker()
        # up to ten groups or so, which honest clients send: however many there are, none is refused
        body = heartbeat("c", *(consumer(f"G{number}", subscription("T")) for number in range(10)))
        assert (await client.request(RequestCode.HEART_BEAT, body=body)).header.code == 0
        (in_flight,) = made
        assert in_flight.total == 0
        body = heartbeat("c", *(consumer(f"G{number}", subscription("T")) for number in range(25)))
        for _ in range(2):
            assert (await client.request(RequestCode.HEART_BEAT, body=body)).header.code == 0
            assert in_flight.total == 10 * len(body) + 25 * 2048 - 65536 > 0
        long = heartbeat("c", *(consumer(f"G{number}", subscription("T" * 100)) for number in range(40)))
        answer = await client.request(RequestCode.HEART_BEAT, body=long)
        assert code_and_remark(answer) == (2, BUSY + "maxHeartbeatBytes=7000")
        assert in_flight.limits.metrics.limited == {"maxHeartbeatBytes": 1}
        client.close()
        await server.pass_time(1)
        assert in_flight.total == 0


@pytest.mark.usefixtures("driver")
async def test_sends_are_refused_while_too_many_bytes_wait_for_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(GroupCommit, "is_full", property(lambda commit: commit._kept > 2500))
    disk = HangingDisk()
    async with serving(tmp_path, run_sync=disk, flush_disk_type="SYNC_FLUSH") as server:
        client = server.broker()
        await client.create_topic("T")
        assert (await client.send("T", b"first")).header.code == 0
        disk.hangs = True
        for number in range(6):
            await client.write(client.frame(RequestCode.SEND_MESSAGE_V2, send_ext("T"), b"%d" % number))
            await settle()
        refused = await client.arrived()
        assert {code_and_remark(answer) for answer in refused} == {(2, BUSY + "waitForFlush=134217728")}
        assert 1 <= len(refused) <= 4
        disk.move()
        assert [answer.header.code for answer in await client.arrived()] == [0] * (6 - len(refused))
        assert (await client.send("T", b"last")).header.code == 0
        end = await client.request(RequestCode.GET_MAX_OFFSET, {"topic": "T", "queueId": "0"})
        assert end.header.ext == {"offset": str(8 - len(refused))}


def test_each_reason_of_a_counted_refusal_is_known() -> None:
    sources = Path(module.__file__).parents[1].rglob("*.py")
    named = {name for each in sources for name in re.findall(r'LimitExceeded\("(\w+)"', each.read_text())}
    documented = set(re.findall(r"`(\w+)`", "".join((DOCS / page).read_text() for page in ("limits.md", "tls.md"))))
    assert len(named) > 10
    assert named < set(LIMIT_NAMES) <= documented
