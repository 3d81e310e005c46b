"""The runtime information of a broker, against that of Apache's brokers."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from rocketwire.server.admin.runtime_info import Disk, readable
from rocketwire.wire.facts.codes import RequestCode
from tests.server.harness import NOW, Client, Server, properties_text, serving
from tests.wire import golden

_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+(E-?[0-9]+)?)?")


async def table(client: Client) -> dict[str, str]:
    answer = await client.request(RequestCode.GET_BROKER_RUNTIME_INFO)
    assert (answer.header.code, answer.header.remark) == (0, None)
    found: dict[str, str] = json.loads(bytes(answer.body))["table"]
    return found


def apache(version: str) -> dict[str, str]:
    """The recorded answer of Apache's broker."""
    for capture in golden.captures(version):
        for frame in golden.frames(capture):
            if frame.row.get("requestCode") == RequestCode.GET_BROKER_RUNTIME_INFO and frame.row["bodyLength"] > 1500:
                found: dict[str, str] = json.loads(frame.data[-frame.row["bodyLength"] :])["table"]
                return found
    raise AssertionError(version)


def form(text: str) -> str:
    """A value with its numbers masked; rates may be missing."""
    return " ".join(_NUMBER.sub("N", text).replace("K", "G").split())


@pytest.mark.parametrize("version", ["4.9.7", "5.5.0"])
async def test_every_key_of_apache_has_its_format(server: Server, broker: Client, version: str) -> None:
    await broker.send("T", properties=properties_text(DELAY="1"))
    for _ in range(70):
        await server.pass_time(1, step=1)
    ours, theirs = await table(broker), apache(version)
    known = {key.partition("_")[0] for key in ours}
    assert {key.partition("_")[0] for key in theirs} <= known
    rates = {key for key in theirs if key.endswith("Tps") and not key.startswith("timer")}
    for key in theirs.keys() & ours.keys() - rates - {
        "brokerVersionDesc",
        "commitLogDirCapacity",
        "remainHowManyDataToFlush",
    }:
        assert form(ours[key]) == form(theirs[key]), key
    for key in rates:
        assert len(ours[key].split(" ")) == 3, key
        assert all(_NUMBER.fullmatch(each) for each in ours[key].split()), key
    assert re.fullmatch(r"Total : [0-9.]+ [KMGTP]iB, Free : [0-9.]+ [KMGTP]iB\.", ours["commitLogDirCapacity"])


async def test_stored_and_delivered_messages_are_counted(server: Server, broker: Client) -> None:
    for _ in range(4):
        await broker.send("T")
    await broker.pull("T")
    for _ in range(10):
        await server.pass_time(1, step=1)
    found = await table(broker)
    assert found["msgPutTotalTodayNow"] == found["putMessageTimesTotal"] == "4"
    assert found["msgGetTotalTodayNow"] == "4"
    assert found["putMessageSizeTotal"] == found["commitLogMaxOffset"]
    assert float(found["putMessageAverageSize"]) == int(found["commitLogMaxOffset"]) / 4
    assert found["putTps"] == "0.4  "
    assert found["getFoundTps"] == "0.1  "
    assert found["getTotalTps"] == "0.1 0.0 0.0"
    assert found["getTransferedTps"] == found["getTransferredTps"] == "0.4  "
    assert found["bootTimestamp"] == str(NOW)
    assert found["runtime"] == "[ 0 days, 0 hours, 0 minutes, 10 seconds ]"
    assert found["earliestMessageTimeStamp"] == str(NOW)


async def test_a_new_broker_has_zeros(broker: Client) -> None:
    found = await table(broker)
    assert found["earliestMessageTimeStamp"] == "-1"
    assert found["putMessageAverageSize"] == "0.0"
    assert found["putTps"] == "  "
    assert found["remainHowManyDataToFlush"] == "0 B"
    assert not any(key.startswith("scheduleMessageOffset") for key in found)


async def test_the_progress_of_delay_levels_is_shown(server: Server, broker: Client) -> None:
    for _ in range(3):
        await broker.send("T", properties=properties_text(DELAY="2"))
    assert (await table(broker))["scheduleMessageOffset_2"] == "0,3"
    await server.pass_time(10)
    assert (await table(broker))["scheduleMessageOffset_2"] == "3,3"


async def test_the_totals_of_days_are_shown(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        client = server.broker()
        await client.send("T")
        server.clock.now += 86_400_000
        await server.pass_time(2, step=1)
        await client.send("T")
        found = await table(client)
        names = ("YesterdayMorning", "TodayMorning", "TodayNow")
        assert [found[f"msgPutTotal{name}"] for name in names] == ["0", "1", "2"]


def test_the_use_of_the_disk_is_shown() -> None:
    disk = Disk(folder="a/b", commit_log=0.33, consume_queues=0.5, total=252 << 30, free=1536)
    assert disk.table() == {
        "commitLogDirCapacity": "Total : 252.0 GiB, Free : 1.5 KiB.",
        "commitLogDiskRatio": "0.33",
        "commitLogDiskRatio_a/b": "0.33",
        "consumeQueueDiskRatio": "0.5",
    }


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1 << 20, "1.0 MiB"), (3 << 39, "1.5 TiB"), (1 << 50, "1.0 PiB")],
)
def test_bytes_are_shown_with_units(size: int, text: str) -> None:
    assert readable(size) == text
