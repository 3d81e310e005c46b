"""A real endpoint, queried and read from its files while it runs: both show the same. Also of delivered messages."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rocketwire.cli import main
from rocketwire.server.core.clocks.clock import system_clock
from rocketwire.wire.recall_handle import encode_recall_handle
from tests.cli.endpoint import SECONDS, Addresses, real_endpoint
from tests.cli.store.support import Ran
from tests.server.processes import Caller

HOUR = 3_600_000


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def endpoint(store: Path) -> Iterator[Addresses]:
    with real_endpoint(store) as addresses:
        yield addresses


@pytest.fixture
def run(endpoint: Addresses, store: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """A command as both see it: its answers."""

    def run(*arguments: object) -> tuple[Ran, Ran]:
        answers = []
        for where in (["--namesrv", str(endpoint.name_server)], ["--store", str(store)]):
            code = main(["timer", *map(str, arguments), *where])
            out, err = capsys.readouterr()
            answers.append(Ran(code, out, err))
        return answers[0], answers[1]

    return run


def eventually(found: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not found():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_both_show_the_same_waiting_and_delivered_messages(endpoint: Addresses, run: Any) -> None:
    start = system_clock() // 10 * 10  # what is due at a time that ends in 9 comes 1 ms later
    with Caller(str(endpoint.broker)) as caller:
        caller.create_topic("T", 1)
        ran, _ = run("stats")
        assert (ran.code, ran.err) == (0, "")
        assert "waiting         0 messages for 0 topics\n" in ran.out
        due = {"HOUR": HOUR, "DAY": 24 * HOUR, "FAR": 100 * HOUR, "GONE": 2 * HOUR}
        # A time from the server's own present: it is not past, however long this takes.
        caller.send("T", b"body", properties="UNIQ_KEY\x01SOON\x02KEYS\x01k\x02TIMER_DELAY_MS\x01300")
        for key, delay in due.items():
            caller.send(
                "T", b"body", properties=f"UNIQ_KEY\x01{key}\x02KEYS\x01k\x02TIMER_DELIVER_MS\x01{start + delay}"
            )
        marker = f"UNIQ_KEY\x01M\x02TIMER_DEL_UNIQKEY\x01GONE\x02TIMER_DELIVER_MS\x01{start + 2 * HOUR}"
        caller.send("T", b"body", properties=marker)

    def delivered() -> bool:
        found = [one for answer in run("show", "SOON", "--json") for one in answer.objects]
        return len(found) == 2 and all(one["delivered"] is not None and not one["waits"] for one in found)

    eventually(delivered)
    eventually(lambda: all(answer.objects[0]["messages"] == 4 for answer in run("stats", "--json")))
    requested, looked = run("stats", "--json")
    for name in ("messages", "cancelled", "markers", "overdue", "topics", "histogram", "precision"):
        assert requested.objects[0][name] == looked.objects[0][name], name
    (topic,) = requested.objects[0]["topics"]
    assert topic == {
        "topic": "T",
        "messages": 4,
        "cancelled": 1,
        "overdue": 0,
        "next_due": start + HOUR,
        "last_due": start + 100 * HOUR,
    }
    (broker,) = requested.objects[0]["brokers"]
    assert (broker["counts"], broker["runtime"]["timerDeliveredTotal"]) == ({"T": 4}, "1")
    requested, looked = run("ls", "--json")
    assert [(one["message_id"], one["due_time"] - start, one["cancelled"]) for one in requested.objects] == [
        ("HOUR", HOUR, False),
        ("GONE", 2 * HOUR, True),
        ("DAY", 24 * HOUR, False),
        ("FAR", 100 * HOUR, False),
    ]
    assert [{**one, "broker": "broker-a"} for one in looked.objects] == requested.objects
    requested, looked = run("show", "FAR", "--json")
    assert requested.objects[0]["waits"]
    assert looked.objects[0]["rolls_at"] in range(start + 48 * HOUR - 2000, system_clock() + 48 * HOUR)


def test_a_handle_is_looked_up_when_it_is_cancelled(endpoint: Addresses, capsys: pytest.CaptureFixture[str]) -> None:
    def cancelled(key: str) -> tuple[int, bool]:
        handle = encode_recall_handle("Other", "broker-a", due, key).decode()
        code = main(["timer", "cancel", handle, "--json", "--namesrv", str(endpoint.name_server)])
        return code, json.loads(capsys.readouterr().out)["found"]

    due = system_clock() + HOUR
    with Caller(str(endpoint.broker)) as caller:
        caller.create_topic("Other", 1)
        caller.send("Other", b"body", properties=f"UNIQ_KEY\x01U\x02TIMER_DELIVER_MS\x01{due}")
    assert cancelled("Nobody") == (1, False)
    assert cancelled("U") == (0, True)
