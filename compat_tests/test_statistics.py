"""Statistics as operators see them: what `mqadmin` of 4.9.7 and of 5.5.0 prints, with the numbers masked.

The expected texts are Apache 4.9.7's: with `--target apache-4.9.7` they are compared with what its broker tells.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest

from compat_tests import admin_tools, remoting
from rocketwire.compat.brokers.endpoint import Endpoint
from rocketwire.compat.clients.client import Client, Clients

Fields: TypeAlias = dict[str, str | int]

SENT, GOT, COMMITTED = 3, 2, 1
CREATE_TOPIC, SEND, PULL, COMMIT, VIEW = 17, 10, 11, 15, 315
_NUMBER = re.compile(r"-?\d+(\.\d+)?(E-?\d+)?")
_RATE = re.compile(r"\d+\.\d+(E-?\d+)?")
#: The keys of code 28 that 4.9.7's tools read, and all others that its broker tells, with masked values.
STATUS: Final = {
    **dict.fromkeys(("EndTransactionQueueSize", "EndTransactionThreadPoolQueueCapacity", "bootTimestamp"), "N"),
    **dict.fromkeys(("brokerVersion", "commitLogDiskRatio", "commitLogMaxOffset", "commitLogMinOffset"), "N"),
    **dict.fromkeys(("consumeQueueDiskRatio", "dispatchBehindBytes", "dispatchMaxBuffer"), "N"),
    **dict.fromkeys(("earliestMessageTimeStamp", "getMessageEntireTimeMax", "pageCacheLockTimeMills"), "N"),
    **{
        f"msg{way}Total{day}": "N" for way in ("Get", "Put") for day in ("TodayMorning", "TodayNow", "YesterdayMorning")
    },
    **{
        f"{pool}ThreadPoolQueue{what}": "N"
        for pool in ("send", "pull", "query")
        for what in ("Capacity", "HeadWaitTimeMills", "Size")
    },
    **dict.fromkeys(("putLatency99", "putLatency999", "putMessageAverageSize", "putMessageEntireTimeMax"), "N"),
    **dict.fromkeys(("putMessageFailedTimes", "putMessageSizeTotal", "putMessageTimesTotal"), "N"),
    **dict.fromkeys(("remainTransientStoreBufferNumbs", "startAcceptSendRequestTimeStamp"), "N"),
    "brokerVersionDesc": "VN_N_N",
    "commitLogDirCapacity": "Total : N GiB, Free : N GiB.",
    "runtime": "[ N days, N hours, N minutes, N seconds ]",
}
RATES: Final = ("putTps", "getFoundTps", "getMissTps", "getTotalTps", "getTransferedTps")
HEAD_OF_CLUSTERS: Final = {
    "4.9.7": "#Cluster Name #Broker Name #BID #Addr #Version #InTPS(LOAD) #OutTPS(LOAD) #PCWait(ms) #Hour #SPACE",
    "5.5.0": "#Cluster Name #Broker Name #BID #Addr #Version #InTPS(LOAD) #OutTPS(LOAD) #Timer(Progress) #PCWait(ms) "
    "#Hour #SPACE #ACTIVATED",
}


@pytest.fixture(scope="module", params=admin_tools.VERSIONS)
def tool(request: pytest.FixtureRequest) -> str:
    """The version of the tool."""
    version: str = request.param
    return version


@pytest.fixture(scope="module")
def mqadmin(
    tool: str, endpoint: Endpoint, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., list[str]]]:
    """Runs a command; its lines, with single spaces."""
    with Clients(admin_tools.tools(tmp_path_factory.mktemp("tool"), tool)) as clients:
        client = Client(clients=clients, id=f"java-{tool}", namesrv=endpoint.namesrv)

        def run(*args: str) -> list[str]:
            return [" ".join(line.split()) for line in admin_tools.mqadmin(client, *args) if line.strip()]

        yield run


@pytest.fixture(scope="module")
def scene(endpoint: Endpoint, unique: Callable[[str], str]) -> tuple[str, str]:
    """A topic with some messages, of which a group got some; the statistics have counted them."""
    topic, group, broker = unique("Statistics"), unique("statistics"), endpoint.broker

    def ask(code: int, fields: Fields, body: bytes = b"") -> remoting.Answer:
        answer = remoting.request(broker, code, fields, body)
        assert answer.code == 0, answer
        return answer

    queues: Fields = {
        "readQueueNums": 1,
        "writeQueueNums": 1,
        "perm": 6,
        "topicFilterType": "SINGLE_TAG",
        "topicSysFlag": 0,
    }
    ask(CREATE_TOPIC, {"topic": topic, "defaultTopic": "TBW102", "order": "false", **queues})
    sent: Fields = {
        "producerGroup": "P",
        "topic": topic,
        "defaultTopic": "TBW102",
        "defaultTopicQueueNums": 4,
        "queueId": 0,
    }
    for _ in range(SENT):
        now = int(time.time() * 1000)
        ask(SEND, {**sent, "sysFlag": 0, "bornTimestamp": now, "flag": 0, "properties": "", "reconsumeTimes": 0}, b"x")
    place: Fields = {"consumerGroup": group, "topic": topic, "queueId": 0}
    subscription: Fields = {"subscription": "*", "subVersion": 0, "sysFlag": 4, "suspendTimeoutMillis": 0}
    ask(PULL, {**place, "queueOffset": 0, "maxMsgNums": GOT, "commitOffset": 0, **subscription})
    ask(COMMIT, {**place, "commitOffset": COMMITTED})
    for name, key, count in (("TOPIC_PUT_NUMS", topic, SENT), ("GROUP_GET_NUMS", f"{topic}@{group}", GOT)):
        end = time.monotonic() + 30
        while viewed(endpoint, name, key)["statsMinute"]["sum"] != count:
            assert time.monotonic() < end, f"{name} of {key} was not counted"
            time.sleep(0.2)
    return topic, group


def viewed(endpoint: Endpoint, name: str, key: str) -> dict[str, dict[str, float]]:
    """An item of the statistics."""
    answer = remoting.request(endpoint.broker, VIEW, {"statsName": name, "statsKey": key})
    assert answer.code == 0, answer
    found: dict[str, dict[str, float]] = json.loads(answer.body)
    return found


def masked(text: str) -> str:
    """A text without its numbers."""
    return _NUMBER.sub("N", text)


def test_items_and_what_is_not_there(scene: tuple[str, str], endpoint: Endpoint) -> None:
    topic, group = scene
    for name, key, calls in (("TOPIC_PUT_SIZE", topic, SENT), ("GROUP_GET_SIZE", f"{topic}@{group}", 1)):
        found = viewed(endpoint, name, key)
        assert found.keys() == {"statsMinute", "statsHour", "statsDay"}
        minute = found["statsMinute"]
        assert minute.keys() == {"sum", "tps", "avgpt"}
        assert minute["avgpt"] * calls == minute["sum"] > 0
    assert viewed(endpoint, "BROKER_PUT_NUMS", "DefaultCluster")["statsMinute"]["avgpt"] == 0
    for name, key in (("TOPIC_PUT_NUMS", "None"), ("GROUP_GET_NUMS", topic), ("None", topic)):
        answer = remoting.request(endpoint.broker, VIEW, {"statsName": name, "statsKey": key})
        assert (answer.code, answer.remark) == (1, f"The stats <{name}> <{key}> not exist")


def test_stats_all(scene: tuple[str, str], mqadmin: Callable[..., list[str]]) -> None:
    topic, group = scene
    head, row = mqadmin("statsAll", "-t", topic)
    assert head == "#Topic #Consumer Group #Accumulation #InTPS #OutTPS #InMsg24Hour #OutMsg24Hour"
    found = row.split(" ")
    assert found[:2] == [topic, group]
    assert found[2] in {"0", "2"}  # offsets are found once the group has a retry topic, which another test makes
    assert [bool(re.fullmatch(r"\d+\.\d\d", each)) for each in found[3:5]] == [True, True]
    assert [each.isdigit() for each in found[5:]] == [True, True]


def test_the_cluster_list(
    scene: tuple[str, str], mqadmin: Callable[..., list[str]], tool: str, endpoint: Endpoint
) -> None:
    head, row = mqadmin("clusterList")
    assert head == HEAD_OF_CLUSTERS[tool]
    name, broker, number, address, version, *rest = row.split(" ")
    assert (name, broker, number, address, masked(version)) == (
        "DefaultCluster",
        "broker-a",
        "0",
        endpoint.broker,
        "VN_N_N",
    )
    assert masked(rest[0]) == "N(N,Nms)"
    assert not any("null" in each for each in rest)
    if tool == "4.9.7":
        assert [masked(each) for each in rest] == ["N(N,Nms)", "N(N,Nms)", "N", "N", "N"]
    assert scene


def test_the_totals_of_the_cluster_list(scene: tuple[str, str], mqadmin: Callable[..., list[str]]) -> None:
    head, row = mqadmin("clusterList", "-m")
    assert head == "#Cluster Name #Broker Name #InTotalYest #OutTotalYest #InTotalToday #OutTotalToday"
    assert masked(row) == "DefaultCluster broker-a N N N N"
    stored, delivered = map(int, row.split(" ")[-2:])
    assert stored >= SENT
    assert delivered >= GOT
    assert scene


def test_the_status_of_the_broker(
    scene: tuple[str, str], mqadmin: Callable[..., list[str]], endpoint: Endpoint, target: str
) -> None:
    found = {}
    for line in mqadmin("brokerStatus", "-b", endpoint.broker):
        key, _, value = line.partition(":")
        found[key.strip()] = value.strip()
    assert {key: masked(found[key].replace("TiB", "GiB")) for key in STATUS} == STATUS
    for key in RATES:
        assert all(_RATE.fullmatch(each) for each in found[key].split()), (key, found[key])
        assert found[key]
    classes = found["putMessageDistributeTime"]
    assert classes == "null" or masked(classes).startswith("[<=Nms]:N [N~Nms]:N"), classes  # null in the first minute
    assert re.fullmatch(r"\d+(\.\d+)? [KMG]?i?B", found["remainHowManyDataToFlush"])
    others = {
        key for key in found.keys() - STATUS.keys() - set(RATES) if not re.match("(commitLogDiskRatio|schedule)", key)
    }
    more = {key for key in others if not key.startswith(("timer", "ack", "litePull"))}
    others_known = {"putMessageDistributeTime", "remainHowManyDataToFlush"}
    assert more - {"brokerActive", "getTransferredTps"} == others_known
    assert target == "rocketwire" or others == others_known
    assert scene


def test_the_consumption_of_all_groups(
    scene: tuple[str, str], mqadmin: Callable[..., list[str]], endpoint: Endpoint
) -> None:
    topic, group = scene
    head, *rows, total = mqadmin("brokerConsumeStats", "-b", endpoint.broker)
    columns = "#Topic #Group #Broker Name #QID #Broker Offset #Consumer Offset #Diff #LastTime"
    assert head == columns
    (row,) = [row for row in rows if topic in row]
    *found, day, second = row.split(" ")
    assert found == [topic, group, "broker-a", "0", str(SENT), str(COMMITTED), str(SENT - COMMITTED)]
    assert masked(f"{day} {second}") == masked("2023-11-14 22:13:20")
    assert re.fullmatch(r"Diff Total: \d+", total)
    assert not [line for line in mqadmin("brokerConsumeStats", "-b", endpoint.broker, "-o", "true") if topic in line]


def test_metrics_are_exported(
    scene: tuple[str, str],
    mqadmin: Callable[..., list[str]],
    tool: str,
    target: str,
    tmp_path: Path,
) -> None:
    if (tool, target) == ("5.5.0", "apache-4.9.7"):
        pytest.skip("5.5.0's tool reads getTransferredTps, which 4.9.7 does not tell")
    assert mqadmin("exportMetrics", "-c", "DefaultCluster", "-f", str(tmp_path)) == [
        f"export {tmp_path}/metrics.json success"
    ]
    exported: dict[str, Any] = json.loads((tmp_path / "metrics.json").read_text())
    rates = {"totalScheduleInTps", "totalNormalInTps", "totalTransInTps", "totalNormalOutTps"}
    assert exported["totalData"]["totalTps"].keys() == rates
    report = exported["evaluateReport"]["broker-a"]
    assert report.keys() == {"runtimeVersion", "runtimeQuota", "runtimeEnv"}
    quota = report["runtimeQuota"]
    assert quota.keys() == {"diskRatio", "topicSize", "tps", "groupSize", "oneDayNum", "messageAverageSize"}
    assert quota["tps"].keys() == {"scheduleInTps", "normalInTps", "normalOutTps", "transInTps"}
    assert float(quota["messageAverageSize"]) > 0
    assert scene
