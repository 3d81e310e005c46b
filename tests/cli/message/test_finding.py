"""`message show`, `query`, `resend` and `trace` against a real server."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from rocketwire.wire.bodies import encode_body
from rocketwire.wire.bodies.online import ConsumeMessageDirectlyResult, ConsumeResult
from rocketwire.wire.facts.codes import FLAG_RESPONSE, RequestCode
from rocketwire.wire.frame import encode_frame
from rocketwire.wire.header import Header
from tests.cli.endpoint import Addresses, real_endpoint
from tests.cli.message.support import Rocketwire
from tests.cli.store.support import Ran
from tests.server.harness import consumer, heartbeat, subscription
from tests.server.processes import Caller, eventually


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Addresses]:
    with real_endpoint(tmp_path_factory.mktemp("finding")) as addresses:
        with Caller(str(addresses.broker)) as caller:
            for topic in ("T", "Other"):
                caller.create_topic(topic)
            for number in range(5):
                text = f"UNIQ_KEY\x01U{number:07d}\x02TAGS\x01t\x02KEYS\x01k{number} all\x02own\x01{number}"
                caller.send("T", (b"one\ntwo", b"\xff\x00")[number % 2], properties=text)
        yield addresses


@pytest.fixture
def stored(run: Rocketwire) -> list[dict[str, Any]]:
    """The messages of T, once the index has them."""
    assert eventually(lambda: run("message", "query", "T", "--id", "U0000004").code == 0)
    return run("message", "export", "--topic", "T").objects


def test_get_by_both_ids(run: Rocketwire, stored: list[dict[str, Any]]) -> None:
    for one in stored:
        assert run("message", "get", one["offset_message_id"], "--json").objects == [one]
        assert run("message", "get", one["offset_message_id"], "--topic", "T", "--json").objects == [one]
        assert run("message", "get", one["message_id"], "--topic", "T", "--json").objects == [one]
    ran = run("message", "get", stored[0]["offset_message_id"])
    lines = ran.out.splitlines()
    assert lines[0].split() == ["message", "U0000000"]
    assert ["place", "broker", "broker-a,", "queue", "0,", "offset", "0"] in [line.split() for line in lines]
    assert ["property", "own", "=", "0"] in [line.split() for line in lines]
    assert lines[-3:] == ["", "one", "two"]
    assert run("message", "get", stored[1]["offset_message_id"]).out.endswith("\n2 bytes, in base64: /wA=\n")
    assert run("message", "get", stored[0]["offset_message_id"], "--body").out == "one\ntwo"


def test_get_finds_nothing(run: Rocketwire, stored: list[dict[str, Any]]) -> None:
    ran = run("message", "get", "U0000000")
    assert (ran.code, ran.out) == (1, "")
    assert "of a unique key --topic has to be named" in ran.err
    ran = run("message", "get", "U0000009", "--topic", "T")
    assert ran == Ran(1, "", "rocketwire: U0000009: there is no such message of T\n")
    missing = stored[0]["offset_message_id"][:-4] + "FFFF"
    assert run("message", "get", missing).code == 1


def test_query_by_key_id_and_time(run: Rocketwire, stored: list[dict[str, Any]]) -> None:
    assert run("message", "query", "T", "--key", "all", "--json").objects == stored
    assert run("message", "query", "T", "--key", "k2", "--json").objects == [stored[2]]
    assert run("message", "query", "T", "--id", "U0000003", "--json").objects == [stored[3]]
    assert len(run("message", "query", "T", "--key", "all", "--limit", 2).out.splitlines()) == 2
    assert run("message", "query", "T", "--key", "all", "--from", "2001-01-01").code == 0
    ran = run("message", "query", "T", "--key", "all", "--to", "2001-01-01")
    assert ran == Ran(1, "", "rocketwire: topic T has no message with the key all of that time\n")
    assert run("message", "query", "T").code == 2
    assert run("message", "query", "Nope", "--key", "all").code == 1


def test_resend_to_a_topic(run: Rocketwire, stored: list[dict[str, Any]]) -> None:
    ran = run("message", "resend", "U0000001", "--topic", "T", "--to-topic", "Other", "--json")
    (sent,) = ran.objects
    (copy,) = run("message", "export", "--topic", "Other").objects
    assert (sent["message_id"], sent["offset_message_id"]) == ("U0000001", copy["offset_message_id"])
    for name in ("message_id", "body_base64", "tags", "keys"):
        assert copy[name] == stored[1][name]
    assert copy["properties"]["own"] == "1"
    assert run("message", "resend", "U0000001", "--topic", "T").code == 2
    assert run("message", "resend", "U0000001", "--topic", "T", "--to-topic", "T", "--client", "c").code == 2


class Consumer(threading.Thread):
    """A consumer of the group G on line, which answers requests to consume a message directly."""

    def __init__(self, broker: str, result: ConsumeResult) -> None:
        super().__init__(daemon=True)
        self._caller = Caller(broker)
        self._result = result
        self.requests: list[dict[str, str]] = []
        answer = self._caller.request(
            RequestCode.HEART_BEAT, body=heartbeat("client-1", consumer("G", subscription("T")))
        )
        while not answer.header.is_response:  # first comes a notification that the members have changed
            answer = self._caller.receive()
        assert answer.header.code == 0

    def run(self) -> None:
        while True:
            frame = self._caller.receive()
            if frame.header.code == RequestCode.CONSUME_MESSAGE_DIRECTLY:
                self.requests.append(frame.header.ext or {})
                result = ConsumeMessageDirectlyResult(
                    consume_result=self._result, remark="went\nwell", spent_time_mills=7
                )
                header = Header(code=0, opaque=frame.header.opaque, flag=FLAG_RESPONSE, version=407)
                self._caller.write(encode_frame(header, encode_body(result)))
                return

    def close(self) -> None:
        self.join(60)
        self._caller.close()


@pytest.mark.parametrize(("result", "code"), [(ConsumeResult.CR_SUCCESS, 0), (ConsumeResult.CR_LATER, 1)])
def test_resend_to_a_consumer(
    result: ConsumeResult, code: int, run: Rocketwire, endpoint: Addresses, stored: list[dict[str, Any]]
) -> None:
    member = Consumer(str(endpoint.broker), result)
    member.start()
    ran = run("message", "resend", "U0000002", "--topic", "T", "--to-group", "G", *(["--json"] if code else []))
    member.close()
    assert (ran.code, ran.err) == (code, "")
    if code:
        assert ran.objects == [
            {
                "message_id": "U0000002",
                "group": "G",
                "client_id": "client-1",
                "result": "CR_LATER",
                "remark": "went\nwell",
                "spent_ms": 7,
            }
        ]
    else:
        assert ran.out == "U0000002  client-1  CR_SUCCESS  7 ms: went\n"
    assert member.requests[0]["msgId"] == stored[2]["offset_message_id"]
    assert member.requests[0]["clientId"] == "client-1"


def test_resend_to_a_group_without_members(run: Rocketwire, stored: list[dict[str, Any]]) -> None:
    ran = run("message", "resend", stored[0]["offset_message_id"], "--to-group", "Nobody")
    assert ran == Ran(1, "", "rocketwire: group Nobody: no consumer is on line at broker broker-a\n")


def test_trace_is_another_name_of_trace_show(run: Rocketwire) -> None:
    one, other = run("message", "trace", "U0000000"), run("trace", "show", "U0000000")
    assert one == other
    assert one.code == 1
