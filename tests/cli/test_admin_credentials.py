"""The administration commands at an endpoint with accounts: what a consumer's account may, and what it may not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rocketwire.remoting.admin.groups import put_group
from rocketwire.remoting.admin.offsets import commit_offset
from rocketwire.remoting.admin.topics import put_topic
from rocketwire.remoting.connection import BlockingConnection
from rocketwire.remoting.credentials import Credentials
from rocketwire.wire.bodies.group import SubscriptionGroupConfig
from rocketwire.wire.bodies.topic import TopicConfig
from tests.cli.endpoint import Command, real_endpoint
from tests.cli.store.support import Ran

ADMIN = Credentials(access_key="admin-account", secret_key="very-secret-key")
CONSUMER = Credentials(access_key="consumer-account", secret_key="very-secret-key")
ACCOUNTS = f"""\
accounts:
- accessKey: {ADMIN.access_key}
  secretKey: {ADMIN.secret_key}
  admin: true
- accessKey: {CONSUMER.access_key}
  secretKey: {CONSUMER.secret_key}
  topicPerms:
  - Orders=SUB
  groupPerms:
  - orders=SUB
"""
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
    folder = tmp_path_factory.mktemp("guarded")
    file = Path(folder / "plain_acl.yml")
    file.write_text(ACCOUNTS)
    with real_endpoint(folder / "store", acl_enable=True, acl_file=str(file)) as endpoint:
        with BlockingConnection("broker", endpoint.broker, credentials=ADMIN) as broker:
            for topic in ("Orders", "More"):
                put_topic(broker, TopicConfig(topic_name=topic))
            put_group(broker, SubscriptionGroupConfig(group_name="orders"))
            commit_offset(broker, "orders", "Orders", {0: 0})
        yield str(endpoint.name_server)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], address: str) -> Callable[[str, Credentials], Ran]:
    def ran(line: str, account: Credentials) -> Ran:
        keys = ("--access-key", account.access_key, "--secret-key", account.secret_key)
        return Command(capsys, address)(*line.split(), *keys)

    return ran


@pytest.mark.parametrize("line", OF_CONSUMERS)
def test_what_a_consumers_account_may(run: Callable[[str, Credentials], Ran], line: str) -> None:
    ran = run(line, CONSUMER)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out


@pytest.mark.parametrize("line", OF_ADMINISTRATORS)
def test_what_only_an_administrator_may(run: Callable[[str, Credentials], Ran], line: str) -> None:
    ran = run(line, CONSUMER)
    refused = run(f"{line} --json", CONSUMER)
    assert (ran.code, ran.out, refused.code, refused.out) == (2, "", 2, "")
    assert ran.err == refused.err
    assert "refuses access" in ran.err
    assert len(ran.err.splitlines()) == 1


def test_an_administrator_may_all(run: Callable[[str, Credentials], Ran]) -> None:
    for line in (*OF_CONSUMERS, *OF_ADMINISTRATORS):
        ran = run(line, ADMIN)
        assert (ran.code, ran.err) == (0, ""), line
