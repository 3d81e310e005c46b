"""Official clients at an endpoint with injected faults.

Consecutive rules with a count are a script: each matches its number of requests, then the next one does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.request import Request, urlopen

import pytest

from compat_tests.endpoints import Rocketwire
from rocketwire.compat.brokers.endpoint import running
from rocketwire.compat.brokers.ports import LOOPBACK, free_ports
from rocketwire.compat.clients.client import Client, Clients
from rocketwire.compat.messages import Event, Outgoing

TIMEOUT_MS: Final = 3000
PASS: Final = "delay:0"  # matches, and changes nothing: one try succeeds


class Faults:
    """`/faults` of an endpoint."""

    def __init__(self, http: str) -> None:
        self._url = f"http://{http}/faults"

    def set(self, *rules: str) -> None:
        """Set these rules, and no others."""
        self._call("DELETE")
        self._call("POST", "\n".join(rules))

    def struck(self) -> list[int]:
        """How often each rule matched."""
        return [each["struck"] for each in self._call("GET")["faults"]]

    def _call(self, method: str, body: str = "") -> Mapping[str, Any]:
        headers = {"Accept": "application/json", "Content-Type": "text/plain"}
        request = Request(self._url, body.encode() or None, headers, method=method)
        with urlopen(request, timeout=60) as answer:
            found: Mapping[str, Any] = json.load(answer)
        return found


@pytest.fixture(scope="module")
def misbehaving(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[tuple[Rocketwire, Faults]]:
    """An endpoint where faults are allowed."""
    request.getfixturevalue("only_rocketwire")
    name_server, broker = free_ports()
    http = f"{LOOPBACK}:{name_server + 2}"
    folder: Path = tmp_path_factory.mktemp("faults")
    settings = {"faultInjectionEnable": "true"}
    endpoint = Rocketwire(folder, settings=settings, ports=(name_server, broker), options=("--http", http))
    with running(endpoint) as started:
        yield started, Faults(http)


@pytest.fixture
def faults(misbehaving: tuple[Rocketwire, Faults]) -> Faults:
    """Its rules."""
    return misbehaving[1]


@pytest.fixture(params=["4.9.7", "5.5.0"])
def version(request: pytest.FixtureRequest) -> str:
    """Two client versions."""
    number: str = request.param
    return number


@pytest.fixture
def client(clients: Clients, misbehaving: tuple[Rocketwire, Faults], version: str) -> Client:
    """Each official client, at that endpoint."""
    return Client(clients=clients, id=f"java-{version}", namesrv=misbehaving[0].namesrv)


def send(client: Client, topic: str, bodies: str, **more: int) -> list[Event]:
    """The results of messages that are sent one after the other; each letter is the body of one."""
    messages = [Outgoing(body=body) for body in bodies]
    arguments = {"timeout": TIMEOUT_MS, **more}
    got = client.run("SendThrough", arguments, topic=topic, message=messages)
    return [event for event in got if event["event"] in {"sent", "failed"}]


def stored(client: Client, topic: str, unique: Callable[[str], str]) -> list[str]:
    """The bodies of the topic's messages."""
    return [each["text"] for each in client.only("received", "PullAll", topic=topic, group=unique("g"))]


def test_a_producer_does_not_try_again_what_is_throttled_and_does_what_is_out_of_service(
    client: Client, faults: Faults, topic: str, unique: Callable[[str], str]
) -> None:
    newer = client.version != "4.9.7"  # it tries SYSTEM_BUSY again, too
    script = [
        "answer:215:slow",
        "answer:14",
        PASS,
        "answer:SYSTEM_BUSY:busy",
        *([PASS] if newer else []),
        "duplicate:answer",
    ]
    faults.set(*(f"{rule},count=1,code=310,topic={topic}" for rule in script))
    throttled, again, busy, twice, last = send(client, topic, "01234")
    assert faults.struck() == [1] * len(script)
    assert (throttled["error"], throttled["code"]) == ("MQBrokerException", 215)
    assert "slow" in throttled["text"]
    assert [event["event"] for event in (again, busy, twice, last)] == [
        "sent",
        "sent" if newer else "failed",
        "sent",
        "sent",
    ]
    assert newer or (busy["error"], busy["code"]) == ("MQBrokerException", 2)
    expected = ["1", *(["2"] if newer else []), "3", "4"]
    assert sorted(stored(client, topic, unique)) == expected


def test_a_producer_outlives_lost_connections(
    client: Client, faults: Faults, topic: str, unique: Callable[[str], str]
) -> None:
    """5.5.0 notices that a connection is closed, and tries again; 4.9.7 waits until it is late.

    On a busy machine 5.5.0 waits nevertheless, once in twenty times, until the time for one try is over.
    """
    newer = client.version != "4.9.7"
    script = ["disconnect:answer", *([PASS, "disconnect:request", PASS] if newer else [])]
    faults.set(*(f"{rule},count=1,code=310,topic={topic}" for rule in script))
    if newer:
        found = send(client, topic, "012", timeout=10 * TIMEOUT_MS, perTry=TIMEOUT_MS)
    else:
        found = send(client, topic, "012", retries=0)  # else it may try once more within the last ms
    assert faults.struck() == [1] * len(script)
    assert [event["event"] for event in found] == (["sent"] * 3 if newer else ["failed", "sent", "sent"])
    # The first was stored, and its answer lost with the connection.
    assert sorted(stored(client, topic, unique)) == (["0", "0", "1", "2"] if newer else ["0", "1", "2"])


def test_a_producer_outlives_lost_and_broken_answers(
    client: Client, faults: Faults, topic: str, unique: Callable[[str], str]
) -> None:
    script = ["drop", "corrupt:header", "corrupt:length"]
    faults.set(*(f"{rule},count=1,code=310,topic={topic}" for rule in script))
    # By a producer each: no broken answer ends the next one's connection. With retries 4.9.7 may try at the last ms.
    (lost,), *_broken = (send(client, topic, body, retries=0) for body in "012")
    assert faults.struck() == [1] * len(script)
    assert (lost["event"], lost["error"]) == ("failed", "MQClientException")
    (last,) = send(client, topic, "3")
    assert last["event"] == "sent"
    bodies = stored(client, topic, unique)
    assert bodies.count("0") == 0
    assert bodies.count("3") == 1


def test_a_consumer_loses_nothing(client: Client, faults: Faults, topic: str, group: str) -> None:
    messages = [Outgoing(body=str(number)) for number in range(30)]
    client.run("SendSync", topic=topic, message=messages)
    script = [
        "answer:215:slow,count=6",
        "duplicate:answer,count=2",
        "delay:100-300,count=4",
        "delay:100:answer,count=4",
        # 4.9.7 loses nothing either, but repeats the request 30 s later (tried by hand): it does not notice.
        *(["disconnect,count=1"] if client.version != "4.9.7" else []),
    ]
    faults.set(*(f"{rule},code=PULL_MESSAGE,group={group}" for rule in script))
    got = client.only("received", "PushConcurrent", topic=topic, group=group, count=len(messages), settle=200)
    assert faults.struck()[:2] == [6, 2]
    assert {event["text"] for event in got} == {message.body for message in messages}
