"""Access control: a 4.9.7 broker answers as recorded, official clients are allowed or refused, mqadmin administers.

`tests/server/acl` checks that rocketwire answers as recorded; here it is checked again through the network.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from compat_tests import acl_cases, admin_tools, remoting
from compat_tests.acl_cases import Question, Who, differs, signed
from compat_tests.endpoints import Rocketwire
from compat_tests.programs import find_programs
from rocketwire.compat.brokers.apache import ApacheBroker
from rocketwire.compat.brokers.endpoint import Endpoint, running
from rocketwire.compat.brokers.ports import LOOPBACK, free_ports
from rocketwire.compat.clients.client import Client, Clients, events
from rocketwire.compat.environment import artifacts
from rocketwire.compat.messages import Outgoing

SEND_BACK = 36
OPEN = {"accessKey": "open-key-1", "secretKey": acl_cases.SECRETS["open-key-1"]}
ADMIN = {"accessKey": "admin-key-1", "secretKey": acl_cases.SECRETS["admin-key-1"]}
WRONG = {"accessKey": "open-key-1", "secretKey": "not-the-secret"}


def narrow(name: str) -> dict[str, str]:
    """An account that may do one thing with the topic `Narrow` and the group `narrow`."""
    return {"accessKey": f"narrow-{name}", "secretKey": f"secret-of-narrow-{name}"}


PRODUCER, CONSUMER, REPLIER = narrow("producer"), narrow("consumer"), narrow("replier")
NARROW = f"""\
- accessKey: {PRODUCER["accessKey"]}
  secretKey: {PRODUCER["secretKey"]}
  topicPerms: [Narrow=PUB]
- accessKey: {CONSUMER["accessKey"]}
  secretKey: {CONSUMER["secretKey"]}
  topicPerms: [Narrow=SUB]
  groupPerms: [narrow=SUB]
- accessKey: {REPLIER["accessKey"]}
  secretKey: {REPLIER["secretKey"]}
  topicPerms: [Narrow=PUB|SUB]
  groupPerms: [narrow=SUB]
"""


class Guarded(Rocketwire):
    """One that lets in the accounts of `acl_cases`, and the narrow ones; retries take seconds."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.file = folder / "plain_acl.yml"
        self.file.write_text(acl_cases.ACCOUNTS.read_text() + NARROW)
        super().__init__(
            folder, options=("--acl", str(self.file)), settings={"messageDelayLevel": "1s 2s" + 16 * " 1s"}
        )


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    with running(Guarded(tmp_path_factory.mktemp("guarded"))) as started:
        yield started


def guarded_apache(folder: Path) -> ApacheBroker:
    """Apache's broker with the accounts of `acl_cases`, for requests sent to it directly: it needs no name server."""
    conf = folder / "home" / "conf"
    conf.mkdir(parents=True)
    shutil.copy(acl_cases.ACCOUNTS, conf / "plain_acl.yml")
    closed, port = free_ports()
    settings = {"aclEnable": "true"}
    return ApacheBroker(folder, namesrv=f"{LOOPBACK}:{closed}", port=port, settings=settings, registers=False)


def test_apache_answers_as_recorded(tmp_path: Path) -> None:
    with running(guarded_apache(tmp_path)) as broker:
        assert acl_cases.ask(broker.broker) == acl_cases.recorded()


@pytest.mark.usefixtures("only_rocketwire")
def test_rocketwire_answers_as_recorded(guarded: Guarded) -> None:
    pairs = list(zip(acl_cases.ask(guarded.broker), acl_cases.recorded(), strict=True))
    # What giving a message back needs depends on the message, too: the first of the log is of TopicA.
    assert all(ours == apaches for ours, apaches in pairs if not differs(ours[0]) and ours[0].code != SEND_BACK)


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
def test_official_clients_sign_all_requests(
    guarded: Guarded, signing: Clients, version: str, unique: Callable[[str], str]
) -> None:
    client = Client(clients=signing, id=f"java-{version}", namesrv=guarded.namesrv)
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
    client = Client(clients=signing, id=f"java-{version}", namesrv=guarded.namesrv)
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
@pytest.mark.parametrize("version", ["4.9.7", "5.5.0"])
def test_official_clients_need_no_more_than_their_topic_and_group(
    tmp_path: Path, signing: Clients, version: str, unique: Callable[[str], str]
) -> None:
    with running(Guarded(tmp_path)) as endpoint:
        client = Client(clients=signing, id=f"java-{version}", namesrv=endpoint.namesrv)
        client.run("CreateTopic", ADMIN, topic="Narrow", queues=4)
        client.run(
            "PushFailing", CONSUMER, topic="Narrow", group="narrow", count=0, settle=0
        )  # so that the group has its retry topic
        failing = [
            Outgoing(body="twice", keys="twice", properties={"fail": "2"}),
            Outgoing(body="always", keys="always", properties={"fail": "9"}),
        ]
        client.run("SendSync", PRODUCER, topic="Narrow", message=failing)
        received = client.only(
            "received", "PushFailing", CONSUMER, topic="Narrow", group="narrow", most=2, count=6, settle=1_500
        )
        assert sorted((event["text"], event["reconsumeTimes"]) for event in received) == [
            (body, tried) for body in ("always", "twice") for tried in (0, 1, 2)
        ]
        # In order: what fails too often is sent by the client itself, with another producer group.
        client.run("SendSync", PRODUCER, topic="Narrow", message=[Outgoing(body="ordered", properties={"fail": "9"})])
        client.run(
            "PushFailing",
            CONSUMER,
            topic="Narrow",
            group="narrow",
            mode="orderly",
            suspend=100,
            most=1,
            count=2,
            settle=1_500,
        )
        letters = client.only("received", "PushConcurrent", CONSUMER, topic="%DLQ%narrow", group="narrow", count=2)
        assert sorted(event["text"] for event in letters) == ["always", "ordered"]
        transaction = [Outgoing(body="committed", keys="c"), Outgoing(body="rolled back", keys="r")]
        client.run("SendInTransaction", PRODUCER, topic="Narrow", producerGroup=unique("P"), message=transaction)
        (committed,) = client.only("received", "PushConcurrent", CONSUMER, topic="Narrow", group="narrow", count=1)
        assert committed["text"] == "committed"
        replies = client.only(
            "reply",
            "RequestReply",
            REPLIER,
            topic="Narrow",
            group="narrow",
            questions=3,
            repeat=1,
            replyTopic="DefaultCluster_REPLY_TOPIC",
        )
        assert len(replies) == 6
        (found,) = client.only("found", "QueryMissing", CONSUMER, topic="Narrow", key="twice")
        assert found
        (nothing,) = client.only("nothing", "QueryMissing", PRODUCER, topic="Narrow", key="twice")
        assert nothing["error"] == "MQClientException"


def reached(broker: str) -> dict[str, str | None]:
    """The refusal when an account without TopicC requests a message of it: None if it gets the message."""

    def ask(account: Mapping[str, str], code: int, fields: Mapping[str, str], body: str = "") -> remoting.Answer:
        sent = signed(Question(code, fields, body), Who(account["accessKey"], account["secretKey"]))
        return remoting.request(broker, sent.code, sent.fields, sent.body)

    def stored(**properties: str) -> str:
        text = "\x02".join(f"{name}\x01{value}" for name, value in properties.items())
        send = {"a": "P", "b": "TopicC", "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": "1", "h": "0", "i": text}
        answer = ask(ADMIN, 310, {**send, "j": "0", "k": "false", "m": "false"}, "hidden")
        assert answer.code == 0, answer.remark
        return str(int(answer.fields["msgId"][-16:], 16))

    message, half = stored(KEYS="K", UNIQ_KEY="U"), stored(TRAN_MSG="true", PGROUP="P", UNIQ_KEY="H")
    end = {"producerGroup": "P", "tranStateTableOffset": "0", "commitOrRollback": "8", "msgId": "H"}
    requests = {
        "view": (33, {"offset": message}),
        "view half": (33, {"offset": half}),
        "give back": (36, {"offset": message, "group": "GroupA", "delayLevel": "0"}),
        "commit": (37, {**end, "commitLogOffset": half}),
        "offset of a group": (14, {"topic": "TopicC", "consumerGroup": "GroupB", "queueId": "0"}),
        "end of a queue": (30, {"topic": "TopicC", "queueId": "0"}),
        "query": (12, {"topic": "TopicC", "key": "K", "maxNum": "9", "beginTimestamp": "0", "endTimestamp": "9" * 13}),
    }
    answers = {what: ask(OPEN, code, fields) for what, (code, fields) in requests.items()}
    return {
        what: None if answer.code == 0 else str(acl_cases.refusal(answer.code, answer.remark)).partition(": ")[2]
        for what, answer in answers.items()
    }


TOPIC_C, GROUP_B = "No default permission for topic:TopicC", "No default permission for group:GroupB"


def test_apache_gives_messages_of_a_denied_topic(tmp_path: Path) -> None:
    with running(guarded_apache(tmp_path)) as broker:
        found = reached(broker.broker)
    assert found.pop("query") == TOPIC_C
    assert set(found.values()) == {None}


@pytest.mark.usefixtures("only_rocketwire")
def test_rocketwire_does_not(guarded: Guarded) -> None:
    found = reached(guarded.broker)
    assert found.pop("offset of a group") in {GROUP_B, TOPIC_C}
    assert set(found.values()) == {TOPIC_C}


@pytest.mark.usefixtures("only_rocketwire")
def test_mqadmin(tmp_path: Path) -> None:
    folder = tmp_path / "tools"
    (folder / "conf").mkdir(parents=True)
    (folder / "conf" / "tools.yml").write_text("".join(f"{key}: {value}\n" for key, value in ADMIN.items()), "utf-8")
    with running(Guarded(tmp_path / "guarded")) as endpoint, Clients(admin_tools.tools(folder)) as tools:
        client = Client(clients=tools, id=f"java-{admin_tools.VERSION}", namesrv=endpoint.namesrv)

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
