"""A server process with few descriptors, of which clients use as many as they can."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import resource
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from rocketwire.server.net.admission.descriptors import KEPT_FOR_STORE
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from tests.server.harness import NOW, free_port, properties_text
from tests.server.processes import Caller, Process, eventually, process

pytestmark = pytest.mark.slow

FEW: Final = 256
IDLE: Final = 400
TOPICS: Final = 300
"""More connections than there are descriptors."""
SMALL_FILES: Final = (
    *("--set", "mappedFileSizeCommitLog=1048576"),
    *("--set", "mappedFileSizeConsumeQueue=4000"),
    *("--set", "flushConsumerOffsetInterval=1000"),
    *("--set", "flushIntervalCommitLog=10"),
)


def may_open(limit: int) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))


@pytest.fixture(autouse=True)
def descriptors() -> None:
    """As many connections as this process may have."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def open_files(server: Process) -> int:
    return len(list(Path(f"/proc/{server.pid}/fd").iterdir()))


@contextlib.contextmanager
def idle_clients(server: Process, count: int = IDLE) -> Iterator[None]:
    """So many idle connections; when this begins, the server has admitted as many as it may."""
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=60))
        # A refused client is closed after a second of silence, and frees its descriptor.
        last = [-1]

        def settled() -> bool:
            last.append(open_files(server))
            return len(last) > 200 and len(set(last[-200:])) == 1

        assert eventually(settled)
        yield


def refusal(server: Process) -> str:
    """The answer to a connection without a descriptor."""
    with Caller(server.broker) as late:
        answer = late.request(RequestCode.GET_BROKER_CONFIG)
    assert answer.header.code == ResponseCode.SYSTEM_BUSY
    return answer.header.remark or ""


def offset_ext(topic: str, offset: int) -> dict[str, str]:
    return {"consumerGroup": "G", "topic": topic, "queueId": "0", "commitOffset": str(offset)}


@pytest.mark.parametrize("flush", ["ASYNC_FLUSH", "SYNC_FLUSH"])
def test_the_store_works_while_clients_use_all_their_descriptors(tmp_path: Path, flush: str) -> None:
    store = tmp_path / "store"
    options = (*SMALL_FILES, "--set", f"flushDiskType={flush}")
    expected: dict[str, list[bytes]] = {}
    with process(store, *options, before=lambda: may_open(FEW)) as server, Caller(server.broker) as client:
        with idle_clients(server):
            most = re.search(r"maxConnections=(\d+)", refusal(server))
            assert most is not None
            assert FEW / 2 < int(most[1]) < FEW - KEPT_FOR_STORE
            for number in range(TOPICS):  # each creates a topic and a queue, and has topics.json saved
                topic = f"T{number:03}"
                expected[topic] = [b"%s %d" % (topic.encode(), each) for each in range(3)]
                for body in expected[topic]:
                    keys = f"key{number}"
                    assert client.send(topic, body, keys=keys, unique_key=f"U{topic}").header.code == 0
            client.create_topic("made", 8)
            expected["made"] = [b"%d " % each + bytes(20_000) for each in range(250)]  # five files of the log
            for body in expected["made"]:  # two of the queue
                assert client.send("made", body).header.code == 0
            due = properties_text(TIMER_DELIVER_MS=str(NOW), WAIT="true")
            assert client.send("T000", b"timed", properties=due).header.code == 0
            expected["T000"].append(b"timed")
            assert eventually(lambda: client.bodies("T000") == expected["T000"])
            for topic, bodies in expected.items():
                assert client.bodies(topic) == bodies
                assert client.request(RequestCode.UPDATE_CONSUMER_OFFSET, offset_ext(topic, 2)).header.code == 0
            saved = store / "config" / "consumerOffset.json"
            assert eventually(lambda: saved.exists() and saved.read_text().count("@G") == len(expected))
            assert set(json.loads((store / "config" / "topics.json").read_text())["topicConfigTable"]) > set(expected)
            assert eventually(lambda: any((store / "index").iterdir()))
            assert len(list((store / "commitlog").iterdir())) > 5
            assert len(list((store / "consumequeue" / "made" / "0").iterdir())) > 1
            assert open_files(server) <= FEW - KEPT_FOR_STORE // 2  # the reserved descriptors were more than enough
            assert "maxConnections=" in refusal(server)
        assert eventually(lambda: open_files(server) < FEW / 4)
        with Caller(server.broker) as another:
            assert another.send("T000", b"late").header.code == 0
        expected["T000"].append(b"late")
        code, errors = server.end()
    assert code == 0, errors
    assert "Too many open files" not in errors
    assert " ERROR " not in errors
    line = rf"descriptors: {FEW} in all, {KEPT_FOR_STORE} reserved for the store, {most[1]} left for connections"
    assert errors.count(line) == 1
    with process(store, *options) as server, Caller(server.broker) as client:
        for topic, bodies in expected.items():
            assert client.bodies(topic) == bodies


def test_http_is_answered_too(tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port()}"

    def get(path: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(address, timeout=60)
        with contextlib.closing(connection):
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read()

    def metric(name: str) -> int:
        found = re.search(rf"^rocketwire_{name} (\S+)$", get("/metrics")[1].decode(), re.MULTILINE)
        assert found is not None
        return int(float(found[1]))

    with (
        process(tmp_path / "store", "--http", address, before=lambda: may_open(FEW)) as server,
        contextlib.ExitStack() as more,
    ):
        assert get("/readyz")[0] == 200
        assert metric("store_descriptors") == KEPT_FOR_STORE
        most = metric("connection_descriptors_limit")
        with idle_clients(server):
            for _ in range(FEW):  # HTTP clients that stay use none of the store's descriptors either
                more.enter_context(socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2]))))
            for _ in range(20):
                assert get("/healthz") == (200, b"ok\n")
                status, body = get("/readyz")
                assert status == 503
                assert json.loads(body)["checks"]["listeners"] == "no descriptor is left for a further connection"
            assert metric("connection_descriptors") == most
            assert open_files(server) <= FEW - KEPT_FOR_STORE // 2
        assert eventually(lambda: get("/readyz")[0] == 200)
        assert eventually(lambda: metric("connection_descriptors") == 0)
        assert server.end()[0] == 0


@pytest.mark.parametrize("limit", [16, 32, 48])
def test_too_few_descriptors_are_reported_in_one_line(tmp_path: Path, limit: int) -> None:
    server = Process(tmp_path / "store", before=lambda: may_open(limit))
    code, errors = server.result()
    assert code == 2
    assert re.fullmatch(
        rf"rocketwire: the process may open {limit} files, and needs \d+ at least: raise the limit \(ulimit -Hn\)\n",
        errors,
    )
    assert not (tmp_path / "store").exists()
