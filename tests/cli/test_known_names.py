"""A mistyped topic or group is answered with the nearest one that the endpoint has."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
import pytest

from rocketwire.cli import parameter_types
from rocketwire.cli.errors import CommandError, NoSuchGroup
from rocketwire.cli.online import ClusterAccess, online
from rocketwire.cli.run import run
from rocketwire.remoting.errors import Refused
from rocketwire.wire.bodies import encode_body
from rocketwire.wire.bodies.route import TopicList
from rocketwire.wire.facts.codes import RequestCode
from tests.cli.endpoint import Answers, Command, FakeAnswer, FakeServer, fake_server

NAMES = TopicList(topic_list=("T", "Orders", "Users", "%RETRY%mailers", "%RETRY%printers"))


@pytest.fixture
def server() -> Iterator[FakeServer]:
    answers: Answers = {
        RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: lambda _: FakeAnswer(body=encode_body(NAMES)),
        RequestCode.GET_CONSUMER_CONNECTION_LIST: lambda _: FakeAnswer(206, remark="not online"),
    }
    with fake_server(answers) as made:
        yield made


@pytest.fixture
def command(server: FakeServer, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys, server.address)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("message export --topic Order", "topic Order: .* knows no such topic; did you mean Orders\\?"),
        ("message export --topic weather", "topic weather: .* knows no such topic"),
        ("group check mailer", "group mailer: no consumer of that group is on line; did you mean mailers\\?"),
        # It exists, but no member is on line.
        ("group check mailers", "group mailers: no consumer of that group is on line"),
        ("trace show ID --topic order", "topic order: .* knows no such topic; did you mean Orders\\?"),
    ],
)
def test_the_nearest_name_is_suggested(line: str, said: str, command: Command) -> None:
    ran = command(*line.split())
    assert (ran.code, ran.out) == (1, "")
    assert re.fullmatch(f"rocketwire: {said}\n", ran.err)


def test_without_names_the_error_stays(command: Command, server: FakeServer) -> None:
    del server.answers[RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER]
    ran = command("message", "export", "--topic", "Order")
    assert (ran.code, ran.out) == (1, "")
    assert re.fullmatch("rocketwire: topic Order: .* knows no such topic\n", ran.err)


def test_a_slow_endpoint_is_not_waited_for(
    command: Command, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parameter_types, "SECONDS", 0.2)
    server.answers[RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER] = lambda _: None
    ran = command("message", "export", "--topic", "Order")
    assert re.fullmatch("rocketwire: topic Order: .* knows no such topic\n", ran.err)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (Refused("broker", 17, "no topic"), "broker answered code 17: no topic; did you mean Orders?"),
        (Refused("broker", 26, "no group"), "broker answered code 26: no group; did you mean mailers?"),
        (Refused("broker", 206, "not on line"), "broker answered code 206: not on line; did you mean mailers?"),
        (Refused("broker", 1, "other"), "broker answered code 1: other"),
        (NoSuchGroup("printer", "no printer"), "no printer; did you mean printers?"),
        (CommandError("other"), "other"),
    ],
)
def test_a_refusal_without_a_name_is_about_the_options(
    error: Exception, said: str, server: FakeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    @click.command
    @click.option("--topic")
    @click.option("--group")
    @online
    def refused(endpoint: ClusterAccess, topic: str, group: str) -> None:
        raise error

    code = run(refused, ["--topic", "Order", "--group", "mailer", "--namesrv", server.address])
    assert code == (2 if type(error) is CommandError else 1)
    assert capsys.readouterr().err == f"rocketwire: {said}\n"


def test_without_the_option_a_refusal_stays(server: FakeServer, capsys: pytest.CaptureFixture[str]) -> None:
    @click.command
    @online
    def refused(endpoint: ClusterAccess) -> None:
        raise Refused("broker", 17, "no topic")

    assert run(refused, ["--namesrv", server.address]) == 1
    assert capsys.readouterr().err == "rocketwire: broker answered code 17: no topic\n"
