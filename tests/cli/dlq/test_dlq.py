"""`dlq list`, `show` and `resend` against a real server."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rocketwire.cli.dlq.resend import DeadLetterResend
from rocketwire.cli.message.reading import BrokerMessage
from rocketwire.cli.message.targets import OutgoingMessage
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.headers import encode_ext
from rocketwire.wire.headers.send import ConsumerSendMsgBackRequestHeader
from rocketwire.wire.message_id import parse_offset_message_id
from tests.cli.endpoint import Addresses, Command, real_endpoint
from tests.cli.store.support import Ran
from tests.cli.store.terminal import Terminal
from tests.server.processes import Caller, eventually

Rocketwire = Callable[..., Ran]
LETTERS = 12


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[Addresses]:
    """Some messages of T that the group G has sent back without hope."""
    with real_endpoint(tmp_path / "store") as addresses:
        with Caller(str(addresses.broker)) as caller:
            caller.create_topic("T", 2)
            group = b'{"groupName": "G", "retryMaxTimes": 16}'
            assert caller.request(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=group).header.code == 0
            for number in range(LETTERS):
                text = f"UNIQ_KEY\x01U{number:07d}\x02TAGS\x01t\x02KEYS\x01k{number}\x02own\x01{number}"
                answer = caller.send("T", b"body %d" % number, queue_id=number % 2, properties=text)
                _, offset = parse_offset_message_id((answer.header.ext or {})["msgId"])
                fields = ConsumerSendMsgBackRequestHeader(offset=offset, group="G", delay_level=-1, origin_topic="T")
                assert caller.request(RequestCode.CONSUMER_SEND_MSG_BACK, encode_ext(fields)).header.code == 0
        yield addresses


@pytest.fixture
def run(endpoint: Addresses, capsys: pytest.CaptureFixture[str]) -> Rocketwire:
    command = Command(capsys, str(endpoint.name_server))
    assert eventually(lambda: command("dlq", "list").code == 0)
    return command


def exported(run: Rocketwire, topic: str) -> list[dict[str, Any]]:
    return run("message", "export", "--topic", topic).objects


def test_they_are_listed_and_shown(run: Rocketwire) -> None:
    (found,) = run("dlq", "list", "--json").objects
    letters = exported(run, "%DLQ%G")
    assert found == {
        "group": "G",
        "topic": "%DLQ%G",
        "messages": LETTERS,
        "not_resent": LETTERS,
        "oldest": min(one["store_timestamp"] for one in letters),
        "newest": max(one["store_timestamp"] for one in letters),
    }
    title, row = run("dlq", "list").out.splitlines()
    assert title.split()[:4] == ["GROUP", "MESSAGES", "NOT", "RESENT"]
    assert row.split()[:3] == ["G", "12", "12"]
    shown = run("dlq", "show", "G", "-n", 3, "--json").objects
    assert [one["body"] for one in shown] == ["body 9", "body 10", "body 11"]
    assert {one["origin_topic"] for one in shown} == {"T"}
    ran = run("dlq", "show", "%DLQ%G")
    assert len(ran.out.splitlines()) == 11
    assert "U0000011" in ran.out
    assert run("dlq", "show", "Nobody").code == 1


def test_all_are_sent_once_to_their_topics(run: Rocketwire) -> None:
    ran = run("dlq", "resend", "G", "--all", "--limit", 5, "--yes", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert [one["message_id"] for one in ran.objects] == [f"U{n:07d}" for n in range(5)]
    assert run("dlq", "list", "--json").objects[0]["not_resent"] == LETTERS - 5
    ran = run("dlq", "resend", "G", "--all", "--yes")
    assert (ran.code, len(ran.out.splitlines())) == (0, LETTERS - 5)
    again = run("dlq", "resend", "G", "--all", "--yes")
    assert again == Ran(1, "", "rocketwire: group G: there is no dead letter to send\n")
    copies = [one for one in exported(run, "T") if "ORIGIN_MESSAGE_ID" in one["properties"]]
    originals = {one["message_id"]: one for one in exported(run, "T") if "ORIGIN_MESSAGE_ID" not in one["properties"]}
    assert {one["message_id"] for one in copies} == set(originals)
    for copy in copies:
        original = originals[copy["message_id"]]
        assert (copy["body"], copy["tags"], copy["keys"]) == (original["body"], original["tags"], original["keys"])
        assert copy["reconsume_times"] == 0
        assert copy["properties"]["own"] == original["properties"]["own"]
        assert copy["properties"]["ORIGIN_MESSAGE_ID"] == original["offset_message_id"]
        assert not {"RETRY_TOPIC", "DELAY"} & set(copy["properties"])
    assert len(run("dlq", "resend", "G", "--all", "--again", "--yes").out.splitlines()) == LETTERS


def test_the_progress_stays_before_what_is_refused(run: Rocketwire, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of 4: of the second the broker refuses one, whose properties are too long."""
    monkeypatch.setattr("rocketwire.cli.dlq.resend._AT_ONCE", 4)
    again = DeadLetterResend._again
    requested: list[object] = []

    def lengthened(self: DeadLetterResend, letter: BrokerMessage) -> OutgoingMessage | None:
        requested.append(letter)
        made = again(self, letter)
        assert made is not None
        return replace(made, properties={**made.properties, "p": "x" * 40_000}) if len(requested) == 6 else made

    monkeypatch.setattr(DeadLetterResend, "_again", lengthened)
    ran = run("dlq", "resend", "G", "--all", "--yes")
    assert (ran.code, len(ran.out.splitlines())) == (1, 7)
    assert len(requested) == 8  # nothing is sent behind the part
    assert "message U0000005 is not stored: broker " in ran.err
    assert run("dlq", "list", "--json").objects[0]["not_resent"] == LETTERS - 4


def test_single_ones_go_to_the_retry_topic(run: Rocketwire) -> None:
    letter = exported(run, "%DLQ%G")[3]
    for name in ("message_id", "offset_message_id"):
        ran = run("dlq", "resend", "G", "--id", letter[name], "--to", "retry", "--yes", "--json")
        assert (ran.code, ran.objects[0]["topic"]) == (0, "%RETRY%G")
    for copy in exported(run, "%RETRY%G"):
        assert copy["properties"]["RETRY_TOPIC"] == "T"
        assert (copy["message_id"], copy["reconsume_times"]) == (letter["message_id"], 0)
    assert run("dlq", "list", "--json").objects[0]["not_resent"] == LETTERS


def test_a_message_that_is_no_dead_letter_is_not_sent(run: Rocketwire) -> None:
    other = exported(run, "T")[0]["offset_message_id"]
    ran = run("dlq", "resend", "G", "--id", other, "--yes")
    assert ran == Ran(1, "", f"rocketwire: {other}: it is a message of T, no dead letter of this group\n")


def test_a_confirmation_comes_first(run: Rocketwire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    ran = run("dlq", "resend", "G", "--all")
    assert ran == Ran(2, "", "rocketwire: there is no terminal to ask on; --yes does it without asking\n")
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    ran = run("dlq", "resend", "G", "--all")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("Send 12 dead letters of group G to the topics they were first sent to? [y/N]: ")
    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    ran = run("dlq", "resend", "G", "--all", "--to", "retry", "--limit", 1)
    assert (ran.code, len(ran.out.splitlines())) == (0, 1)
    assert "Send 1 dead letter of group G to %RETRY%G?" in ran.err


def test_a_deleted_topic_stops_it_without_loss(run: Rocketwire, endpoint: Addresses) -> None:
    with Caller(str(endpoint.broker)) as caller:
        assert caller.request(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": "T"}).header.code == 0
        fields = {"topic": "T"}
        with Caller(str(endpoint.name_server)) as names:
            names.request(RequestCode.DELETE_TOPIC_IN_NAMESRV, fields)
    ran = run("dlq", "resend", "G", "--all", "--yes")
    assert (ran.code, ran.out) == (1, "")
    assert "topic T: the name server" in ran.err
    assert run("dlq", "list", "--json").objects[0]["not_resent"] == LETTERS


@pytest.mark.parametrize(
    "arguments", [[], ["--all", "--id", "x"], ["--id", "x", "--again"], ["--id", "x", "--limit", 1]]
)
def test_a_wrong_option_is_one_line(arguments: list[object], run: Rocketwire) -> None:
    ran = run("dlq", "resend", "G", *arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
