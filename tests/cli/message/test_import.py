"""`message import` and `message send --json` against a real server: what was exported comes back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.endpoint import Addresses
from tests.cli.message.support import Rocketwire, exported, give_stdin
from tests.cli.store.support import Ran
from tests.server.processes import Caller


def kept(one: dict[str, Any]) -> tuple[Any, ...]:
    names = ("message_id", "tags", "keys", "body", "body_base64", "flag", "queue_id")
    own = {
        name: value for name, value in one["properties"].items() if name not in ("CLUSTER", "MSG_REGION", "TRACE_ON")
    }
    return *(json.dumps(one.get(name)) for name in names), json.dumps(own, sort_keys=True)


@pytest.fixture
def source(endpoint: Addresses, run: Rocketwire) -> str:
    """A topic with messages of all kinds."""
    with Caller(str(endpoint.broker)) as caller:
        caller.create_topic("Source", 2)
        if not exported(run, "Source"):
            for number in range(40):
                text = f"UNIQ_KEY\x01U{number:07d}\x02TAGS\x01t\x02KEYS\x01k{number} all\x02own\x01v{number}"
                body = (b"plain", b"\xff\x00", '第, "三"\n'.encode())[number % 3]
                caller.send("Source", body, queue_id=number % 2, properties=text, flag=number % 2)
    return "Source"


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_exported_messages_are_imported(
    form: str, run: Rocketwire, endpoint: Addresses, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"Imported_{form}"
    with Caller(str(endpoint.broker)) as caller:
        caller.create_topic(name, 2)
    file = tmp_path / "messages"
    assert run("message", "export", "--topic", source, "--format", form, "--output", file).code == 0
    ran = run("message", "import", file, "--topic", name, "--format", form, "--json")
    assert (ran.code, ran.err, len(ran.objects)) == (0, "", 40)
    assert [kept(one) for one in exported(run, name)] == [kept(one) for one in exported(run, source)]
    give_stdin(monkeypatch, file.read_bytes())
    assert run("message", "import", "-", "--format", form, "--topic", name, "--quiet") == Ran(0, "", "")
    assert len(exported(run, name)) == 80


def test_exported_messages_are_sent_as_json(
    run: Rocketwire, topic: str, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_stdin(monkeypatch, run("message", "export", "--topic", source).out.encode())
    ran = run("message", "send", topic, "--json", "--tag", "other")
    assert (ran.code, ran.err, len(ran.objects)) == (0, "", 40)
    found = {one["message_id"]: one for one in exported(run, topic)}
    for one in exported(run, source):
        copy = found[one["message_id"]]
        assert (copy["body"], copy["keys"], copy["flag"], copy["tags"]) == (
            one["body"],
            one["keys"],
            one["flag"],
            "other",
        )


def test_what_is_about_one_copy_only_is_not_imported(
    run: Rocketwire, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = {"body": "x", "properties": {"DELAY": "18", "RETRY_TOPIC": "R", "TIMER_DELIVER_MS": "9", "own": "1"}}
    give_stdin(monkeypatch, json.dumps(one).encode())
    assert run("message", "send", topic, "--json").code == 0
    (found,) = exported(run, topic)
    assert set(found["properties"]) == {"own", "UNIQ_KEY", "CLUSTER", "MSG_REGION", "TRACE_ON"}


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("x", "no JSON object"),
        ("[]", "no JSON object"),
        ("{}", "there is no body"),
        ('{"body": 1}', "body is wrong"),
        ('{"body_base64": "?"}', "body_base64: "),
        ('{"body": "x", "keys": [1]}', "keys and properties must be texts"),
    ],
)
def test_a_wrong_object_is_one_line(
    line: str, text: str, run: Rocketwire, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_stdin(monkeypatch, line.encode())
    ran = run("message", "send", topic, "--json")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"rocketwire: line 1: {text}")
    assert ran.err.count("\n") == 1
