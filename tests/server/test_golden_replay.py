"""Requests of official 4.9.7 clients to Apache's servers, sent to ours: the answers must be of the same kind.

The test compares code, remark, the names of the extFields and the serialisation. It omits by name what depends on the
store's former content (offsets, ids) or on a race between Apache's threads.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from rocketwire.server.registry import BROKER_FAMILIES, NAME_SERVER_FAMILIES
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.frame import Frame
from tests.server.harness import Client, Clock, Server, run, serving
from tests.wire.golden import Capture, GoldenFrame, frames

SERVED = {
    "client-broker": {int(route.code) for routes in BROKER_FAMILIES.values() for route in routes},
    "client-namesrv": {int(route.code) for routes in NAME_SERVER_FAMILIES.values() for route in routes},
    "broker-namesrv": {int(route.code) for routes in NAME_SERVER_FAMILIES.values() for route in routes},
}
PORT = re.compile(r"127\.0\.0\.1:\d+")

LEFT_OUT = {
    ("adminapi", 6): "queries a client of another scenario: test_online does",
    ("adminapi", 26): "queries a topic made by an earlier scenario",
    ("adminapi", 28): "queries a client of another scenario: test_online does",
    ("adminapi", 34): "queries the statistics of an earlier scenario: statistics/test_handlers does",
    ("binary_pull_consumer", 42): "goes on where an earlier scenario had ended",
    ("binary_pull_consumer", 62): "goes on where an earlier scenario had ended",
    ("binary_send_errors", 10): "queries a topic made by an earlier scenario",
    ("binary_send_sync", 16): "queries a topic made by an earlier scenario",
    ("mqadmin_consumerConnection_offline", 0): "queries a topic made by an earlier scenario",
    ("mqadmin_consumerProgress", 0): "queries a topic made by an earlier scenario",
    ("mqadmin_consumerProgress_offline", 0): "queries a topic made by an earlier scenario",
    ("mqadmin_updateOrderConf_get", 0): "reads a value set by an earlier command",
    ("pull_suspend", 6): "was held: test_pull has the time",
    ("pull_suspend", 15): "was held: test_pull has the arrival",
    ("query", 14): "reads a physical offset of the former store",
}
PULLS_LEFT_OUT = {
    "broadcasting",
    "orderly_lock",
    "push_longpolling",
}  # held, or raced with heartbeats in Apache's threads


@pytest.fixture(scope="module")
def golden_config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store's config folder with the topics that the captured server had."""
    store = tmp_path_factory.mktemp("golden")

    async def make() -> None:
        async with serving(store, broker_cluster_name="GoldenCluster") as server:
            client = server.broker()
            for frame in frames(Capture("4.9.7", "setup_topics")):
                if frame.row["kind"] == "request":
                    await client.write(frame.data)
                    assert (await client.receive()).header.code == 0

    run(make)
    return store / "config"


@pytest.fixture
async def golden_server(golden_config: Path, tmp_path: Path) -> AsyncIterator[Server]:
    shutil.copytree(golden_config, tmp_path / "config")
    clock = Clock(1_795_252_945_000)
    async with serving(tmp_path, clock=clock, broker_cluster_name="GoldenCluster") as server:
        yield server


def shape_of_golden(row: dict[str, Any]) -> tuple[object, ...]:
    header = row["header"]
    return _shape(header["code"], header.get("remark"), header.get("extFields"), binary=row["serializer"] == "ROCKETMQ")


def shape(frame: Frame) -> tuple[object, ...]:
    return _shape(frame.header.code, frame.header.remark, frame.header.ext, binary=frame.serialize_type == 1)


def _shape(code: int, remark: str | None, ext: dict[str, str] | None, *, binary: bool) -> tuple[object, ...]:
    fields = None if ext is None or (binary and not ext) else sorted(ext)
    return code, PORT.sub("PEER", remark or ""), fields, binary


async def replay(server: Server, capture: str) -> list[str]:
    """The differences of one capture, request by request."""
    found = list(frames(Capture("4.9.7", capture)))
    by_number = {frame.row["seq"]: frame for frame in found}
    clients: dict[tuple[int, str], Client] = {}
    different = []
    compared = 0
    for frame in found:
        row = frame.row
        if row["from"] != "client" or row["kind"] == "response" or row["code"] not in SERVED[row["link"]]:
            continue
        key = (row["conn"], row["link"])
        if key not in clients:
            clients[key] = server.broker() if row["link"] == "client-broker" else server.name_server()
        await clients[key].write(frame.data)
        answers = await clients[key].arrived()
        if row["kind"] == "oneway":
            assert answers == []
            continue
        if row["pair"] is None or (capture, row["seq"]) in LEFT_OUT:
            continue
        if row["code"] == RequestCode.PULL_MESSAGE and capture in PULLS_LEFT_OUT:
            continue
        compared += 1
        different += difference(frame, by_number[row["pair"]], answers)
    assert compared
    return different


def difference(request: GoldenFrame, expected: GoldenFrame, answers: list[Frame]) -> list[str]:
    got = [shape(frame) for frame in answers if frame.header.opaque == request.row["opaque"]]
    wanted = [shape_of_golden(expected.row)]
    return [] if got == wanted else [f"{request.row['seq']} {request.row['codeName']}: {wanted} but got {got}"]


@pytest.mark.parametrize(
    "capture",
    [
        "send_sync",
        "send_async",
        "send_oneway",
        "send_batch",
        "send_compressed",
        "send_selector",
        "send_errors",
        "pull_consumer",
        "pull_suspend",
        "lite_pull",
        "query",
        "orderly_lock",
        "broadcasting",
        "push_longpolling",
        "adminapi",
        "mqadmin_updateKvConfig",
        "mqadmin_deleteKvConfig",
        "mqadmin_updateOrderConf",
        "mqadmin_updateOrderConf_get",
        "mqadmin_getBrokerConfig",
        "mqadmin_topicList",
        "mqadmin_topicStatus",
        "mqadmin_updateSubGroup",
        "mqadmin_getConsumerConfig",
        "mqadmin_deleteSubGroup",
        "mqadmin_consumerConnection_offline",
        "mqadmin_consumerProgress_offline",
        "mqadmin_consumerProgress",
        "mqadmin_clusterList",
        "broker_namesrv",
        "binary_send_sync",
        "binary_send_batch",
        "binary_send_errors",
        "binary_send_compressed",
        "binary_pull_consumer",
    ],
)
async def test_answers_are_of_the_kind_of_apaches(golden_server: Server, capture: str) -> None:
    assert await replay(golden_server, capture) == []
