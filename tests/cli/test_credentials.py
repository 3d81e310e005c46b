"""Every command for an endpoint, against one with accounts: what it prints without one, and with one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rocketwire.cli.online import NEED_CREDENTIALS
from rocketwire.remoting.admin.groups import put_group
from rocketwire.remoting.admin.offsets import commit_offset
from rocketwire.remoting.admin.topics import put_topic
from rocketwire.remoting.connection import BlockingConnection
from rocketwire.remoting.credentials import Credentials
from rocketwire.server.core.clocks.clock import system_clock
from rocketwire.wire.bodies.group import SubscriptionGroupConfig
from rocketwire.wire.bodies.topic import TopicConfig
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.headers.send import SendMessageRequestHeader
from rocketwire.wire.properties import encode_properties
from rocketwire.wire.recall_handle import encode_recall_handle
from tests.cli.endpoint import Command, real_endpoint
from tests.cli.store.support import Ran
from tests.server.harness import NOW

ADMIN = Credentials(access_key="admin-account", secret_key="very-secret-key")
LIMITED = Credentials(access_key="small-account", secret_key="very-secret-key")
CONSUMER = Credentials(access_key="consumer-account", secret_key="very-secret-key")
ACCOUNTS = f"""\
accounts:
- accessKey: {ADMIN.access_key}
  secretKey: {ADMIN.secret_key}
  admin: true
- accessKey: {LIMITED.access_key}
  secretKey: {LIMITED.secret_key}
- accessKey: {CONSUMER.access_key}
  secretKey: {CONSUMER.secret_key}
  topicPerms:
  - Orders=SUB
  groupPerms:
  - orders=SUB
"""
HANDLE = encode_recall_handle("T", "broker-a", NOW, "KEY").decode()
COMMANDS = (
    ("group", "check"),
    ("group", "check", "G"),
    ("trace", "show", "KEY", "--topic", "T"),
    ("message", "export", "--topic", "T"),
    ("message", "send", "T", "x"),
    ("message", "tail", "T"),
    ("message", "tail", "T", "-f", "--count", "1"),
    ("message", "query", "T", "--key", "KEY"),
    ("message", "get", "KEY", "--topic", "T"),
    ("message", "resend", "KEY", "--topic", "T", "--to-topic", "T"),
    ("dlq", "list"),
    ("dlq", "show", "G"),
    ("dlq", "resend", "G", "--all", "--yes"),
    ("top", "--once", "--interval", "0.1"),
    ("timer", "stats"),
    ("timer", "ls"),
    ("timer", "show", "KEY"),
    ("timer", "cancel", HANDLE),
    ("timer", "cancel", "--topic", "T", "--id", "KEY"),
)

OF_CONSUMERS = (
    "topic list",
    "topic route Orders",
    "topic stats Orders",
    "group lag orders",
    "group lag orders --topic Orders",
    "offset show orders",
    "offset reset orders --topic Orders --to earliest",
    "offset skip orders --topic Orders",
    "cluster show",
    "broker stats",
)
OF_ADMINISTRATORS = (
    "topic show Orders",
    "topic alter Orders --perm RW",
    "group list",
    "group show orders",
    "offset clone orders copy",
    "broker config",
    "topic delete More --yes",
    "topic create More",
    "group create more",
    "group delete more --yes",
)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An endpoint with accounts, whose topic has a message that waits."""
    folder = tmp_path_factory.mktemp("guarded")
    file = Path(folder / "plain_acl.yml")
    file.write_text(ACCOUNTS)
    with real_endpoint(folder / "store", acl_enable=True, acl_file=str(file)) as endpoint:
        with BlockingConnection("broker", endpoint.broker, credentials=ADMIN) as broker:
            for topic in ("T", "%RETRY%G", "%DLQ%G", "Orders", "More"):
                put_topic(broker, TopicConfig(topic_name=topic, read_queue_nums=1, write_queue_nums=1))
            put_group(broker, SubscriptionGroupConfig(group_name="orders"))
            commit_offset(broker, "orders", "Orders", {0: 0})
            broker.ask(RequestCode.SEND_MESSAGE, waiting_message("T"))
        yield str(endpoint.name_server)


def waiting_message(topic: str) -> SendMessageRequestHeader:
    due = str(system_clock() + 3_600_000)
    return SendMessageRequestHeader(
        producer_group="P",
        topic=topic,
        default_topic="TBW102",
        default_topic_queue_nums=1,
        queue_id=0,
        sys_flag=0,
        born_timestamp=0,
        flag=0,
        properties=encode_properties({"UNIQ_KEY": "WAITS", "TIMER_DELIVER_MS": due}),
    )


@pytest.fixture
def run(address: str, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    return Command(capsys, address)


def keys_of(account: Credentials) -> tuple[str, ...]:
    return "--access-key", account.access_key, "--secret-key", account.secret_key


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_without_an_account_each_reports_that_it_needs_one(run: Callable[..., Ran], command: tuple[str, ...]) -> None:
    ran = run(*command)
    assert (ran.code, ran.out) == (2, "")
    (line,) = ran.err.splitlines()
    assert line.endswith(f"refuses access: No accessKey is configured: {NEED_CREDENTIALS}")


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_an_account_without_the_right_gets_the_reason(run: Callable[..., Ran], command: tuple[str, ...]) -> None:
    ran = run(*command, *keys_of(LIMITED))
    assert (ran.code, ran.out) == (2, "")
    (line,) = ran.err.splitlines()
    assert "refuses access: N" in line
    assert NEED_CREDENTIALS not in line


def test_an_offset_message_id_needs_an_account_too(run: Callable[..., Ran], address: str) -> None:
    broker = run("trace", "show", "KEY", "--topic", "T").err.partition("broker ")[2].partition(" ")[0]
    host, port = broker.split(":")
    assert host == "127.0.0.1"
    ran = run("trace", "show", f"7F000001{int(port):08X}{0:016X}", "--topic", "T")
    assert (ran.code, ran.out) == (2, "")
    assert NEED_CREDENTIALS in ran.err


def test_with_an_account_they_answer(run: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCKETWIRE_ACCESS_KEY", ADMIN.access_key)
    monkeypatch.setenv("ROCKETWIRE_SECRET_KEY", ADMIN.secret_key)
    assert run("group", "check") == Ran(0, "no consumer group is on line\n", "")
    assert "no consumer of that group" in run("group", "check", "G").err
    assert "KEY" in run("trace", "show", "KEY", "--topic", "T").err
    assert run("message", "export", "--topic", "T") == Ran(0, "", "rocketwire: 0 messages of T exported\n")
    assert run("message", "send", "T", "x", "--at", "2030-01-01").code == 1  # its timer waits for 40 days at most
    assert run("message", "send", "%RETRY%G", "x").code == 0
    assert run("message", "tail", "%RETRY%G", "-f", "-n", 1, "--count", 1, "--body") == Ran(0, "x\n", "")
    assert run("dlq", "list", "--all", "--json").objects[0]["group"] == "G"
    assert run("top", "--json", "--interval", "0.1").objects[0]["brokers"][0]["broker"] == "broker-a"
    assert run("timer", "stats").code == 0
    assert "WAITS" in run("timer", "ls").out
    assert "WAITS" in run("timer", "show", "WAITS").out
    assert run("timer", "cancel", "--topic", "T", "--id", "WAITS").code == 0


def test_options_come_before_the_environment(run: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCKETWIRE_ACCESS_KEY", ADMIN.access_key)
    monkeypatch.setenv("ROCKETWIRE_SECRET_KEY", "another-secret")
    wrong = run("message", "export", "--topic", "T")
    assert wrong.code == 2
    assert f"refuses access: Check signature failed for accessKey={ADMIN.access_key}" in wrong.err
    assert run("message", "export", "--topic", "T", "--secret-key", ADMIN.secret_key).code == 0


@pytest.mark.parametrize(
    ("options", "missing"),
    [
        (("--access-key", "one"), "--secret-key or ROCKETWIRE_SECRET_KEY"),
        (("--secret-key", "one"), "--access-key or ROCKETWIRE_ACCESS_KEY"),
    ],
)
def test_half_an_account_is_a_mistake(run: Callable[..., Ran], options: tuple[str, ...], missing: str) -> None:
    ran = run("group", "check", *options)
    assert ran.code == 2
    assert ran.err.rstrip().endswith(f"half of an account is named: {missing} is missing")


@pytest.mark.parametrize("line", OF_CONSUMERS)
def test_what_a_consumers_account_may(run: Callable[..., Ran], line: str) -> None:
    ran = run(*line.split(), *keys_of(CONSUMER))
    assert (ran.code, ran.err) == (0, "")
    assert ran.out


@pytest.mark.parametrize("line", OF_ADMINISTRATORS)
def test_what_only_an_administrator_may(run: Callable[..., Ran], line: str) -> None:
    ran = run(*line.split(), *keys_of(CONSUMER))
    refused = run(*line.split(), "--json", *keys_of(CONSUMER))
    assert (ran.code, ran.out, refused.code, refused.out) == (2, "", 2, "")
    assert ran.err == refused.err
    assert "refuses access" in ran.err
    assert len(ran.err.splitlines()) == 1


def test_an_administrator_may_all(run: Callable[..., Ran]) -> None:
    for line in (*OF_CONSUMERS, *OF_ADMINISTRATORS):
        ran = run(*line.split(), *keys_of(ADMIN))
        assert (ran.code, ran.err) == (0, ""), line
