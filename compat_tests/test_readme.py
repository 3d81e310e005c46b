"""The examples of the README and the tutorial, as they are printed: clients, and commands with a separate server.

The examples name fixed ports, so the tests that use them take turns (`fixed_ports`). Words in capitals are
placeholders: here folders and messages have these very names.
"""

from __future__ import annotations

import csv
import re
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from compat_tests import remoting
from compat_tests.readme import commands, environment, printed
from compat_tests.remoting import Answer, Connection, FrameRequest
from rocketwire.compat.brokers.processes import Process
from rocketwire.compat.environment import artifacts

pytestmark = pytest.mark.usefixtures("only_rocketwire", "fixed_ports")

NAME_SERVER: Final = "127.0.0.1:9876"
BROKER: Final = "127.0.0.1:10911"
WITHIN: Final = 120.0  # seconds

FLOW_CONTROL: Final = 215


def shell(command: str, folder: Path) -> str:
    """What a command prints, run as a reader would; its exit code must be 0."""
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=WITHIN,
        check=False,
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


@contextmanager
def served(folder: Path, command: str = "rocketwire serve") -> Iterator[Process]:
    """A server, started by a command of the README in this folder."""
    server = Process(command, ["bash", "-c", f"exec {command}"], cwd=folder, env=environment())
    try:
        server.wait_for("rocketwire ready", within=WITHIN)
        yield server
    finally:
        server.stop()


def message(queue: int = 0, topic: str = "TopicTest", body: bytes = b"Hello", **properties: str) -> FrameRequest:
    text = "".join(f"{name}\x01{value}\x02" for name, value in properties.items())
    return remoting.send(topic, body, properties=text, queue=queue, g=time.time_ns() // 1_000_000)


def send(*requests: FrameRequest) -> list[Answer]:
    with Connection(BROKER) as connection:
        return connection.ask_all(requests)


def codes(*requests: FrameRequest) -> set[int]:
    return {answer.code for answer in send(*requests)}


def pull(group: str) -> FrameRequest:
    return remoting.pull("TopicTest", group, maxMsgNums=1)


def java(source: str, dependency: str, folder: Path) -> list[str | Path]:
    """Compile a program with the client of its dependency in `pom.xml`; return the command that runs it."""
    found = re.search(r"<artifactId>(.+)</artifactId>\s*<version>(.+)</version>", dependency)
    assert found is not None
    kind = {"rocketmq-client": "client", "rocketmq-client-java": "sdk"}[found[1]]
    jars = artifacts.classpath(artifacts.jars(found[2], kind=kind))
    name = re.search(r"public class (\w+)", source)
    assert name is not None
    (folder / f"{name[1]}.java").write_text(source, encoding="utf-8")
    artifacts.run([artifacts.javac(), "-cp", jars, f"{name[1]}.java"], cwd=folder)
    return [artifacts.java(), f"-Duser.home={folder}", "-cp", f"{folder}:{jars}", name[1]]


def test_the_java_client(tmp_path: Path) -> None:
    dependency = printed("Send and receive from Java 1")
    with served(tmp_path):
        command = java(printed("Send and receive from Java 2"), dependency, tmp_path)
        assert "sendStatus=SEND_OK" in artifacts.run(command, cwd=tmp_path)
        command = java(printed("Send and receive from Java 3"), dependency, tmp_path)
        consumer = Process("the consumer", command, cwd=tmp_path, env=environment())
        try:
            assert "TAGS=TagA" in consumer.wait_for("MessageExt", within=WITHIN)
        finally:
            consumer.stop()
        info, cat = commands(printed("Look at what is stored 1"))
        assert re.search(r"messages +[1-9]", shell(info, tmp_path))
    assert "Hello" in shell(cat, tmp_path)


def test_the_java_client_of_5(tmp_path: Path) -> None:
    (create,) = commands(printed("Topics 1"))
    dependency = printed("Send and receive with a 5.x client 1")
    command = java(printed("Send and receive with a 5.x client 2"), dependency, tmp_path)
    with served(tmp_path):
        shell(create, tmp_path)
        assert artifacts.run(command, cwd=tmp_path) == "two books\n"


def test_the_go_client(tmp_path: Path) -> None:
    artifacts.go()
    go = "GOTOOLCHAIN=local GOWORK=off"
    for command in commands(printed("Send and receive from Go 1")):
        shell(f"{go} {command}", tmp_path)
    (tmp_path / "send.go").write_text(printed("Send and receive from Go 2"), encoding="utf-8")
    (tmp_path / "receive.go").write_text(printed("Send and receive from Go 3"), encoding="utf-8")
    with served(tmp_path):
        assert "sendStatus=0" in shell(f"{go} go run send.go", tmp_path)
        shell(f"{go} go build -o receive receive.go", tmp_path)
        consumer = Process("the consumer", [tmp_path / "receive"], cwd=tmp_path, env=environment())
        try:
            consumer.wait_for("Hello", within=WITHIN)
        finally:
            consumer.stop()


def test_a_proxy_on_the_same_machine(tmp_path: Path) -> None:
    server, proxy = commands(printed("Put a proxy in front 1"))
    with served(tmp_path, server):
        wrap_dispatcher = Process(proxy, ["bash", "-c", f"exec {proxy}"], cwd=tmp_path, env=environment())
        try:
            wrap_dispatcher.wait_for("rocketwire proxy ready", within=WITHIN)
            shell("rocketwire message send TopicTest Hello --namesrv 127.0.0.1:19876", tmp_path)
            with socket.create_connection(("127.0.0.1", 18081), timeout=5):
                pass
        finally:
            wrap_dispatcher.stop()
        assert "TopicTest" in shell("rocketwire topic list", tmp_path)


def test_the_options_are_those_that_help_names(tmp_path: Path) -> None:
    synopsis = printed("Command line 1")
    assert synopsis.startswith("rocketwire serve ")
    options = set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", shell("rocketwire serve --help", tmp_path)))
    assert set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", synopsis)) == options - {"-h", "--help"}


def test_a_client_is_tested(tmp_path: Path) -> None:
    quotas, throttled, scripted, open_to_rules, ask = commands(printed("Test a client against faults 1"))
    with served(tmp_path, quotas):
        assert codes(*[message() for _ in range(250)]) == {0, FLOW_CONTROL}
    with served(tmp_path, throttled):
        assert codes(*[message() for _ in range(300)]) == {0, FLOW_CONTROL}
    with served(tmp_path, scripted):
        for _ in range(3):
            with Connection(BROKER, timeout=0.5) as connection, pytest.raises(TimeoutError):
                connection.ask(*pull("quick"))
        assert codes(pull("quick")) == {0}
        began = time.monotonic()
        assert codes(pull("slow")) == {0}
        assert time.monotonic() - began >= 2
    with served(tmp_path, open_to_rules):
        artifacts.ensure_programs({"curl": "curl"})
        shell(ask, tmp_path)
        found = shell("curl -s http://127.0.0.1:5557/faults", tmp_path)
        assert "disconnect" in found
        assert "TopicTest" in found


def test_access_control_and_tls(tmp_path: Path) -> None:
    (tmp_path / "plain_acl.yml").write_text(printed("Access control and TLS 1"), encoding="utf-8")
    artifacts.ensure_programs({"openssl": "openssl"})
    shell(printed("Access control and TLS 2"), tmp_path)
    (tmp_path / "tls.properties").write_text(printed("Access control and TLS 3"), encoding="utf-8")
    accounts, encrypted = commands(printed("Access control and TLS 4"))
    with served(tmp_path, accounts):
        assert codes(message()) == {1}  # as Apache's broker refuses unsigned requests
        for account, secret in (("administrator", "change-this-secret-too"), ("quick-start", "change-this-secret")):
            shell(f"rocketwire message send TopicTest Hello --access-key {account} --secret-key {secret}", tmp_path)
    with served(tmp_path, encrypted):
        with pytest.raises(OSError, match=r"ended|reset"):
            send(message())
        trusting = ssl.create_default_context(cafile=tmp_path / "server.pem")
        host, _, port = BROKER.rpartition(":")
        with (
            socket.create_connection((host, int(port))) as plain,
            trusting.wrap_socket(plain, server_hostname=host) as wrapped,
        ):
            assert wrapped.version() is not None


def test_a_store_is_looked_into(tmp_path: Path) -> None:
    with served(tmp_path, "rocketwire serve --store DIR"):
        assert codes(message(UNIQ_KEY="U1", KEYS="ORDER-1"), message(1, UNIQ_KEY="U2")) == {0}
    info, ls, newest, by_key, verify, repair = commands(printed("Look into a store 1"))
    assert re.search(r"messages +2\b", shell(info, tmp_path))
    assert "TopicTest" in shell(ls, tmp_path)
    assert shell(newest, tmp_path).count("Hello") == 2
    assert '"ORDER-1"' in shell(by_key, tmp_path)
    shell(verify, tmp_path)
    shell(repair, tmp_path)
    assert re.search(r"messages +2\b", shell("rocketwire store info NEWDIR", tmp_path))


_VARIES: Final = ((r"[0-9A-F]{32}", "ID"), (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}", "TIME"), (r"\b[01]/0\b", "PLACE"))


def test_a_session(tmp_path: Path) -> None:
    """Each command prints what the README shows, but for ids, times and the queue of each message."""

    def masked(text: str) -> list[str]:
        for pattern, mask in _VARIES:
            text = re.sub(pattern, mask, text)
        return sorted(line.rstrip() for line in text.splitlines())

    with served(tmp_path, "rocketwire serve --store DIR"):
        for part in printed("A session at a running endpoint 1").split("$ ")[1:]:
            command, _, shown = part.partition("\n")
            ran = subprocess.run(
                ["bash", "-c", command], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False
            )
            assert masked(ran.stdout + ran.stderr) == masked(shown), command


def test_an_endpoint_is_queried(tmp_path: Path) -> None:
    check, trace, export, stats, of_store, cancel = commands(printed("Query a running endpoint 1"))
    now = time.time_ns() // 1_000_000
    place = f"{now}\x01DefaultRegion\x01readme\x01TopicTest"
    report = f"Pub\x01{place}\x01MSGID\x01\x01\x01{BROKER}\x015\x013\x010\x01\x01true\x02"
    with served(tmp_path, "rocketwire serve --store DIR"):
        assert codes(
            message(body=b"a message", UNIQ_KEY="U1"),
            message(body=b"one that waits", UNIQ_KEY="MSGID", TIMER_DELAY_SEC="3600"),
            message(topic="RMQ_SYS_TRACE_TOPIC", body=report.encode(), UNIQ_KEY="U2", KEYS="MSGID"),
        ) == {0}
        shell(check, tmp_path)
        assert "send" in shell(trace, tmp_path)
        shell(export, tmp_path)
        with (tmp_path / "messages.csv").open(encoding="utf-8", newline="") as lines:
            assert [row["message_id"] for row in csv.DictReader(lines)] == ["U1"]
        assert "TopicTest" in shell(stats, tmp_path)
        assert "TopicTest" in shell(of_store, tmp_path)
        assert "MSGID" in shell(cancel, tmp_path)
