"""Measures the costs that `bench.scale` computes with, and keeps them in scale_costs.json.

`python -m bench.scale_costs` prints them; `--write` keeps them. Theory: each server is a separate process, so that the
processor time of all its threads is that of the requests; the scheduler counts it in ns. Of several rounds the least
counts, for whatever else the machine does only adds to it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from bench.processes import allow_open_files
from bench.scale import COSTS, Costs
from compat_tests.readme import ROOT
from rocketwire.wire.bodies.fastjson import encode_in_steps
from rocketwire.wire.bodies.topic import DataVersion, TopicConfig
from rocketwire.wire.facts.codes import FLAG_RESPONSE, RequestCode, ResponseCode
from rocketwire.wire.frame import Frame
from rocketwire.wire.headers import encode_ext
from rocketwire.wire.headers.route import RegisterBrokerRequestHeader
from rocketwire.wire.message import body_crc
from tests.server.harness import consumer, free_port, heartbeat, subscription
from tests.server.processes import Caller, process

TOPICS: Final = 200
QUEUES: Final = 8
AT_ONCE: Final = 100
REGISTERED: Final = 10_000


def cpu_us(pid: int) -> float:
    """The processor time that all threads of a process have had, in µs."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((each / "schedstat").read_text("ascii").split()[0]) for each in tasks) / 1000


def measure(*, rounds: int = 5, requests: int = 4000, connections: int = 1000) -> Costs:
    """Start servers and measure.

    Args:
        rounds: Of each measurement.
        requests: In a round.
        connections: How many are open for what each of them takes.
    """
    found: dict[str, Any] = {}
    allow_open_files()
    with tempfile.TemporaryDirectory() as folder, process(Path(folder) / "store") as server:
        with Caller(server.broker) as broker, Caller(server.name_server) as names:
            for number in range(TOPICS):
                broker.create_topic(_topic(number), QUEUES)
            beat = broker.frame(RequestCode.HEART_BEAT, None, _heartbeat("client"))
            found["heartbeat_bytes"] = len(beat)
            found["heartbeat"], _ = _least(
                rounds, server.pid, lambda: _send_requests(broker, [beat] * requests, AT_ONCE)
            )
            found["route"], answer = _routes(rounds, server.pid, server.name_server, requests)
            found["route_bytes"] = len(_route(names, 0)) + len(answer.body)
            body = _registration(REGISTERED)
            found["topic_bytes"] = round(len(body) / REGISTERED)
            took, _ = _least(rounds, server.pid, lambda: _register(server.name_server, body))
            found["registered_topic"] = took / REGISTERED
        with _proxy(server.name_server) as (pid, listened, port):
            with Caller(port) as broker:
                found["proxy_frame"], _ = _least(rounds, pid, lambda: _send_requests(broker, [beat] * requests, 1))
            memory = _memory(pid), _memory(server.pid)
            with contextlib.ExitStack() as stack:
                for number in range(connections):
                    client = stack.enter_context(Caller(port))
                    frame = client.frame(RequestCode.HEART_BEAT, None, _heartbeat(f"client-{number}"))
                    _send_requests(client, [frame], 1)
                grown = _memory(pid) - memory[0], _memory(server.pid) - memory[1]
            found["proxy_connection"], found["connection"] = (each / connections for each in grown)
            # After that: what its clients leave is memory for others.
            found["proxy_route"], _ = _routes(rounds, pid, listened, requests)
    rounded: dict[str, Any] = {name: round(value, 1) for name, value in found.items()}
    return Costs(**rounded)


def _least(rounds: int, pid: int, send: Callable[[], tuple[int, Frame]]) -> tuple[float, Frame]:
    """The least µs of a process for a request, and the last answer."""
    least = float("inf")
    for _ in range(rounds):
        before = cpu_us(pid)
        count, answer = send()
        least = min(least, (cpu_us(pid) - before) / count)
    return least, answer


def _routes(rounds: int, pid: int, address: str, requests: int) -> tuple[float, Frame]:
    """The least µs of a process for a request for a route, of AT_ONCE clients with one request each at a time."""
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(Caller(address)) for _ in range(AT_ONCE)]

        def send() -> tuple[int, Frame]:
            for start in range(0, requests, AT_ONCE):
                for number, client in enumerate(clients, start):
                    client.write(_route(client, number % TOPICS))
                for client in clients:
                    answer = client.receive()
                    assert answer.header.code == ResponseCode.SUCCESS, answer
            return requests, answer

        return _least(rounds, pid, send)


def _send_requests(client: Caller, frames: Sequence[bytes], at_once: int) -> tuple[int, Frame]:
    """How many requests were sent, and the last answer."""
    for start in range(0, len(frames), at_once):
        some = frames[start : start + at_once]
        client.write(b"".join(some))
        for _ in some:
            while not (answer := client.receive()).header.flag & FLAG_RESPONSE:
                pass  # the broker notifies members of a group of each other
            assert answer.header.code == ResponseCode.SUCCESS, answer
    return len(frames), answer


def _topic(number: int) -> str:
    return f"Topic{number:05d}"


def _heartbeat(client: str) -> bytes:
    subscriptions = (subscription(_topic(number)) for number in range(4))
    return heartbeat(f"10.0.0.1@12345#{client}", consumer("G", *subscriptions), producers=["P"])


def _route(client: Caller, number: int) -> bytes:
    return client.frame(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": _topic(number)})


def _registration(topics: int) -> bytes:
    table = {
        _topic(number): TopicConfig(topic_name=_topic(number), read_queue_nums=QUEUES, write_queue_nums=QUEUES)
        for number in range(topics)
    }
    wrapper = {"dataVersion": DataVersion(), "topicConfigTable": table}
    steps = encode_in_steps({"filterServerList": (), "topicConfigSerializeWrapper": wrapper}, pretty=False)
    while True:
        try:
            next(steps)
        except StopIteration as done:
            body: bytes = done.value
            return body


def _register(name_server: str, body: bytes) -> tuple[int, Frame]:
    header = RegisterBrokerRequestHeader(
        broker_name="another",
        broker_addr="127.0.0.1:1",
        cluster_name="C",
        ha_server_addr="127.0.0.1:2",
        broker_id=0,
        body_crc32=body_crc(body),
    )
    with Caller(name_server) as client:
        answer = client.request(RequestCode.REGISTER_BROKER, encode_ext(header), body)
    assert answer.header.code == ResponseCode.SUCCESS, answer
    return 1, answer


@contextlib.contextmanager
def _proxy(upstream: str) -> Iterator[tuple[int, str, str]]:
    """A proxy: its process, and its addresses as a name server and as the broker."""
    command = [sys.executable, "-m", "rocketwire", "proxy", "--upstream", upstream, "--json-ready"]
    command += ["--listen", f"127.0.0.1:{free_port()}", "--broker-ports", "0", "--advertise", "127.0.0.1"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout is not None
        try:
            ready = json.loads(started.stdout.readline())
            (broker,) = ready["brokers"].values()
            yield started.pid, ready["namesrv"], broker
        finally:
            started.terminate()


def _memory(pid: int) -> int:
    """Resident bytes."""
    (line,) = (each for each in Path(f"/proc/{pid}/status").read_text("ascii").splitlines() if "VmRSS" in each)
    return int(line.split()[1]) * 1024


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print what was found or keep it."""
    parser = argparse.ArgumentParser(prog="python -m bench.scale_costs", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write bench/scale_costs.json")
    parser.add_argument("--rounds", type=int, default=5, help="of each measurement")
    options = parser.parse_args(arguments)
    text = measure(rounds=options.rounds).written()
    if options.write:
        COSTS.write_text(text, "utf-8")
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
