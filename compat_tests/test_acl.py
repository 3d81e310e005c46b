"""Access control: a 4.9.7 broker answers as recorded, official clients are let in or refused, mqadmin administers.

Whether rocketwire answers as recorded is asked in `tests/server/acl`; here once more through the network.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from compat_tests import acl_cases, admin_tools, artifacts, remoting
from compat_tests.acl_cases import Question, Who, signed
from compat_tests.apache import ApacheBroker
from compat_tests.clients import Client, Clients, events, find_programs
from compat_tests.endpoints import Endpoint, Rocketwire, running
from compat_tests.messages import Outgoing
from compat_tests.ports import LOOPBACK, free_ports

BATCH = 320
OPEN = {"accessKey": "open-key-1", "secretKey": acl_cases.SECRETS["open-key-1"]}
ADMIN = {"accessKey": "admin-key-1", "secretKey": acl_cases.SECRETS["admin-key-1"]}
WRONG = {"accessKey": "open-key-1", "secretKey": "not-the-secret"}


class Guarded(Rocketwire):
    """One that lets in the accounts of `acl_cases`."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.file = folder / "plain_acl.yml"
        shutil.copy(acl_cases.ACCOUNTS, self.file)
        super().__init__(folder, options=("--acl", str(self.file)))


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    with running(Guarded(tmp_path_factory.mktemp("guarded"))) as started:
        yield started


def test_apache_answers_as_recorded(tmp_path: Path) -> None:
    conf = tmp_path / "home" / "conf"
    conf.mkdir(parents=True)
    shutil.copy(acl_cases.ACCOUNTS, conf / "plain_acl.yml")
    nobody, port = free_ports()  # it is asked directly: it needs no name server
    settings = {"aclEnable": "true"}
    broker = ApacheBroker(tmp_path, namesrv=f"{LOOPBACK}:{nobody}", port=port, settings=settings, registers=False)
    with running(broker):
        assert acl_cases.ask(broker.broker) == acl_cases.recorded()


@pytest.mark.usefixtures("only_rocketwire")
def test_rocketwire_answers_as_recorded(guarded: Guarded) -> None:
    pairs = list(zip(acl_cases.ask(guarded.broker), acl_cases.recorded(), strict=True))
    assert all(ours == apaches for ours, apaches in pairs if ours[0].code != BATCH)


@pytest.fixture(scope="module", params=["JSON", "ROCKETMQ"])
def signing(request: pytest.FixtureRequest) -> Iterator[Clients]:
    """Clients that can sign, on the host, where the jar is that 4.9.7's need for it."""
    env = {
        "ACL_JARS": str(artifacts.jars("4.9.7", kind="server")),
        "JAVA_TOOL_OPTIONS": f"-Drocketmq.serialize.type={request.param}",
    }
    with Clients(find_programs("host"), env) as started:
        yield started


@pytest.mark.usefixtures("only_rocketwire")
@pytest.mark.parametrize("version", ["4.9.7", "5.5.0"])
def test_official_clients_sign_all_that_they_ask(
    guarded: Guarded, signing: Clients, version: str, unique: Callable[[str], str]
) -> None:
    client = Client(clients=signing, version=version, namesrv=guarded.namesrv)
    topic = unique("Signed")
    client.run("CreateTopic", ADMIN, topic=topic, queues=2)
    single = [Outgoing(body=f"single {i}", keys="订单" if i else "one") for i in range(3)]
    batch = [Outgoing(body=f"batch {i}") for i in range(3)]
    committed, other = Outgoing(body="committed", keys="c"), Outgoing(body="rolled back", keys="r")
    got = client.run("Query", OPEN, topic=topic, message=single, key=["one"])
    assert len(events(got, "by key")) == 1
    assert {event["text"] for event in events(got, "by unique key")} >= {single[0].body}
    client.run("SendBatch", OPEN, topic=topic, message=batch)
    client.run("SendInTransaction", OPEN, topic=topic, producerGroup=unique("P"), message=[committed, other])
    sent = sorted(message.body for message in (*single, *batch, committed))
    for scenario in ("PushConcurrent", "LiteSubscribe"):
        received = client.only("received", scenario, OPEN, topic=topic, group=unique("signed"), count=len(sent))
        assert sorted(event["text"] for event in received) == sent


@pytest.mark.usefixtures("only_rocketwire")
@pytest.mark.parametrize("version", ["4.9.7", "5.5.0"])
def test_what_a_refused_client_sees(guarded: Guarded, signing: Clients, version: str) -> None:
    client = Client(clients=signing, version=version, namesrv=guarded.namesrv)
    for topic in ("TopicA", "TopicC"):
        client.run("CreateTopic", ADMIN, topic=topic, queues=1)
    message = [Outgoing(body="refused", queue=0)]
    words = "org.apache.rocketmq.acl.common.AclException: "
    for account, topic, why in (
        (OPEN, "TopicC", "No default permission for topic:TopicC"),
        (WRONG, "TopicA", "Check signature failed for accessKey=open-key-1"),
        ({}, "TopicA", "No accessKey is configured"),
    ):
        (event,) = client.only("refused", "SendToQueue", account, topic=topic, message=message)
        assert (event["error"], event["code"], event["message"]) == ("MQBrokerException", 1, words + why)


@pytest.mark.usefixtures("only_rocketwire")
def test_mqadmin(tmp_path: Path) -> None:
    folder = tmp_path / "tools"
    (folder / "conf").mkdir(parents=True)
    (folder / "conf" / "tools.yml").write_text("".join(f"{key}: {value}\n" for key, value in ADMIN.items()), "utf-8")
    with running(Guarded(tmp_path / "guarded")) as endpoint, Clients(admin_tools.tools(folder)) as tools:
        client = Client(clients=tools, version=admin_tools.VERSION, namesrv=endpoint.namesrv)

        def said(*args: str) -> str:
            return "\n".join(admin_tools.mqadmin(client, args[0], "-b", endpoint.broker, *args[1:]))

        assert may_query(endpoint, "newcomer") == "No acl config for newcomer"
        made = said("updateAclConfig", "-a", "newcomer", "-s", "secret-of-newcomer", "-t", "TopicA=SUB,TopicB=PUB|SUB")
        assert f"create or update plain access config to {endpoint.broker} success" in made
        assert may_query(endpoint, "newcomer") is None
        assert "secret-of-newcomer" in said("getAclConfig")
        assert "success" in said("deleteAclConfig", "-a", "newcomer")
        assert may_query(endpoint, "newcomer") == "No acl config for newcomer"
        assert "success" in said("updateGlobalWhiteAddr", "-g", "10.10.10.1,127.0.0.1")
        assert may_query(endpoint, "newcomer") is None
        cluster = admin_tools.mqadmin(client, "clusterAclConfigVersion", "-c", "DefaultCluster")
        assert any(endpoint.broker in line and str(endpoint.file) in line for line in cluster)


def may_query(endpoint: Endpoint, account: str) -> str | None:
    """Why an account may not query messages of TopicA; None: it may."""
    ask = signed(Question(12, {"topic": "TopicA", "key": "K"}), Who(account, f"secret-of-{account}"))
    answer = remoting.request(endpoint.broker, ask.code, ask.fields)
    refused = acl_cases.refusal(answer.code, answer.remark)
    return None if refused is None else refused.removeprefix(f"{acl_cases.REFUSED}: ")
