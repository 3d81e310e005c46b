"""Administration while consumers are connected, with Apache's tools of 4.9.7: reset offsets, verify, query.

A consumer that gets new offsets stops for 10 s before it continues; so one scene serves all tests: the groups that were
reset continue while other tests query the groups that stay as they are.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from compat_tests import remoting
from compat_tests.admin_tools import VERSION, mqadmin, tools
from rocketwire.compat.brokers.endpoint import Endpoint
from rocketwire.compat.clients.client import Client, Clients, events
from rocketwire.compat.messages import Event, Outgoing

EACH = 5  # messages a queue
QUERY_CONSUMER_OFFSET = 14
STEADY = "steady"
STRICT = "strict"
OTHER_VERSIONS = ("4.4.0", "5.5.0")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the tools write."""
    return tmp_path_factory.mktemp("tools")


@pytest.fixture(scope="module")
def admin(endpoint: Endpoint, folder: Path) -> Iterator[Client]:
    """The client with the tools; consumers that stay in it are ended at last."""
    with Clients(tools(folder)) as started:
        client = Client(clients=started, id=f"java-{VERSION}", namesrv=endpoint.namesrv)
        yield client
        client.run("LeaveAll")


@pytest.fixture(scope="module")
def others(endpoint: Endpoint, clients: Clients) -> Iterator[dict[str, Client]]:
    """Clients of other versions by their version; their consumers are ended at last too."""
    found = {
        version: Client(clients=clients, id=f"java-{version}", namesrv=endpoint.namesrv) for version in OTHER_VERSIONS
    }
    yield found
    for client in found.values():
        client.run("LeaveAll")


@dataclass(slots=True)
class Scene:
    """A topic of two queues with five messages each, and groups that have consumed them."""

    topic: str
    unique: Callable[[str], str]
    groups: dict[str, str] = field(default_factory=dict)
    client_ids: dict[str, str] = field(default_factory=dict)
    sent: list[Event] = field(default_factory=list)
    time: int = 0
    printed: list[str] = field(default_factory=list)
    answers: dict[str, list[Event]] = field(default_factory=dict)

    def group(self, name: str) -> str:
        """The group's real name."""
        return self.groups.setdefault(name, self.unique(name))


@pytest.fixture(scope="module")
def scene(admin: Client, others: dict[str, Client], endpoint: Endpoint, unique: Callable[[str], str]) -> Scene:
    """The scene, with some groups just reset."""
    scene = Scene(unique("Online"), unique)
    admin.run("CreateTopic", topic=scene.topic, queues=2)

    def join(name: str, group: str, client: Client = admin, **how: str | int) -> None:
        (started,) = client.only("started", "Join", how, name=name, topic=scene.topic, group=scene.group(group))
        scene.client_ids[name] = started["clientId"]

    join("back 1", "back")
    join("back 2", "back")
    join("ahead", "ahead", kind="orderly", takes=0)
    join("wide", "wide", kind="broadcasting")
    join(STEADY, STEADY)
    join(STRICT, STRICT, kind="orderly")
    for version, client in others.items():
        join(version, f"with-{version[0]}", client)
    scene.sent = admin.only("sent", "SendNumbered", topic=scene.topic, each=EACH, pause=30)
    admin.run("PushConcurrent", topic=scene.topic, group=scene.group("gone"), count=2 * EACH)
    first: list[Event] = []
    for name, count in (("wide", 2 * EACH), (STEADY, 2 * EACH), (STRICT, 2 * EACH), ("back 1", EACH), ("back 2", EACH)):
        got = admin.only("received", "Collect", name=name, count=count, settle=50)
        assert len(got) == count
        first = first or got
    for version, client in others.items():
        assert len(client.only("received", "Collect", name=version, count=2 * EACH, settle=50)) == 2 * EACH
    (scene.time,) = [event["storeTimestamp"] for event in first if event["text"] == "0-2"]
    assert bodies(admin.only("received", "Collect", name="ahead", count=2, settle=50, takes=0)) == ["0-0", "1-0"]
    whole = dict.fromkeys(("back", STEADY, STRICT, "gone", *(f"with-{version[0]}" for version in others)), EACH)
    await_commits(endpoint, scene, {**whole, "ahead": 1})
    scene.printed = mqadmin(
        admin, "resetOffsetByTime", "-g", scene.group("back"), "-t", scene.topic, "-s", str(scene.time)
    )
    for name, ask, to in (
        ("ahead", "reset", -1),
        ("wide", "reset", scene.time),
        ("with-4", "reset", scene.time),
        ("with-5", "reset", scene.time),
        ("gone", "reset", scene.time),
        ("gone", "resetNew", scene.time),
    ):
        scene.answers[f"{ask} {name}"] = admin.run(
            "Admin", ask=ask, topic=scene.topic, group=scene.group(name), time=to
        )
    admin.run("SendNumbered", topic=scene.topic, first=EACH, each=2)
    return scene


def await_commits(endpoint: Endpoint, scene: Scene, wanted: dict[str, int]) -> None:
    """Wait until groups have committed these offsets in both queues: consumers do that one-way."""
    end = time.monotonic() + 120
    with remoting.Connection(endpoint.broker) as connection:
        for name, queue in itertools.product(wanted, (0, 1)):
            where: dict[str, str | int] = {"consumerGroup": scene.group(name), "topic": scene.topic, "queueId": queue}
            while connection.ask(QUERY_CONSUMER_OFFSET, where).fields.get("offset") != str(wanted[name]):
                assert time.monotonic() < end, f"{name} has not committed {wanted[name]} in queue {queue}"
                time.sleep(0.02)


def bodies(received: list[Event]) -> list[str]:
    """The messages, as "queue-number", in order."""
    return sorted(event["text"] for event in received)


def numbered(queue: int, start: int, end: int) -> list[str]:
    return [f"{queue}-{number}" for number in range(start, end)]


def test_members_go_back_together_and_lose_nothing(admin: Client, scene: Scene) -> None:
    """Queue 0 continues with its third message, queue 1 with the one stored nearest to that."""
    told = dict(line.split()[1:3] for line in scene.printed if line.startswith("broker-a "))
    assert told["0"] == "2"
    second = int(told["1"])
    assert second in {1, 2, 3}
    wanted = numbered(0, 2, EACH + 2) + numbered(1, second, EACH + 2)
    # What was sent meanwhile may have come before the members were notified, but the rest of the topic comes again.
    received = [
        event
        for name in ("back 1", "back 2")
        for event in admin.only("received", "Collect", name=name, count=EACH - 1, settle=1_000)
    ]
    assert set(bodies(received)) == set(wanted)
    assert len(received) == len(wanted)


@pytest.mark.parametrize("version", OTHER_VERSIONS)
def test_other_clients_go_back_too(others: dict[str, Client], scene: Scene, version: str) -> None:
    (told,) = events(scene.answers[f"reset with-{version[0]}"], "offsets")
    assert told["offsets"]["broker-a:0"] == 2
    wanted = numbered(0, 2, EACH + 2) + numbered(1, told["offsets"]["broker-a:1"], EACH + 2)
    received = bodies(others[version].only("received", "Collect", name=version, count=len(wanted), settle=1_000))
    assert sorted(set(received)) == wanted
    # What was sent meanwhile may have come before the member was notified as well.
    early = {*numbered(0, EACH, EACH + 2), *numbered(1, EACH, EACH + 2)}
    assert all(received.count(text) == 1 or text in early for text in wanted)


def test_a_group_goes_ahead_to_the_end(admin: Client, scene: Scene) -> None:
    (told,) = events(scene.answers["reset ahead"], "offsets")
    assert told["offsets"] == {"broker-a:0": EACH, "broker-a:1": EACH}
    received = admin.only("received", "Collect", name="ahead", count=4, settle=500)
    assert bodies(received) == numbered(0, EACH, EACH + 2) + numbered(1, EACH, EACH + 2)


def test_broadcasting_groups_are_not_reset(scene: Scene) -> None:
    (failed,) = events(scene.answers["reset wide"], "failed")
    assert (failed["code"], failed["message"]) == (1, f"THe consumer group <{scene.group('wide')}> not exist")


def test_a_group_that_is_off_line_is_reset_by_the_tool(admin: Client, scene: Scene) -> None:
    group = scene.group("gone")
    (failed,) = events(scene.answers["reset gone"], "failed")
    expected = (
        f"Consumer not online, so can not reset offset, Group: {group} Topic: {scene.topic} Timestamp: {scene.time}"
    )
    assert (failed["code"], failed["message"]) == (206, expected)
    assert events(scene.answers["resetNew gone"], "failed") == []
    stats = admin.only("stats", "Admin", ask="stats", topic=scene.topic, group=group)
    offsets = {event["queue"]: event["consumer"] for event in stats}
    assert offsets["broker-a:0"] == 2
    wanted = numbered(0, 2, EACH + 2) + numbered(1, offsets["broker-a:1"], EACH + 2)
    received = admin.only("received", "PushConcurrent", topic=scene.topic, group=group, count=len(wanted))
    assert bodies(received) == wanted


def test_who_is_on_line(admin: Client, scene: Scene) -> None:
    got = admin.run("Admin", ask="connections", group=scene.group(STEADY))
    (connection,) = events(got, "connection")
    assert connection["clientId"] == scene.client_ids[STEADY]
    assert (connection["language"], connection["version"]) == ("JAVA", 407)
    (group,) = events(got, "group")
    assert (group["consumeType"], group["messageModel"]) == ("CONSUME_PASSIVELY", "CLUSTERING")
    assert group["consumeFromWhere"] == "CONSUME_FROM_FIRST_OFFSET"
    assert set(group["topics"]) == {scene.topic, f"%RETRY%{scene.group(STEADY)}"}
    printed = mqadmin(admin, "consumerConnection", "-g", scene.group(STEADY))
    assert any(scene.client_ids[STEADY] in line and "V4_9_7" in line for line in printed)
    assert "MessageModel: CLUSTERING" in printed


@pytest.mark.parametrize(("name", "orderly"), [(STEADY, "false"), (STRICT, "true")])
def test_how_a_consumer_is_doing(admin: Client, scene: Scene, name: str, orderly: str) -> None:
    who = {"group": scene.group(name), "clientId": scene.client_ids[name]}
    plain, traced = (admin.only("runningInfo", "Admin", who, ask="runningInfo", jstack=jstack)[0] for jstack in (0, 1))
    assert (plain["orderly"], plain["type"]) == (orderly, "CONSUME_PASSIVELY")
    assert (plain["jstack"], traced["jstack"]) == (False, True)
    assert plain["queues"].keys() >= {f"{scene.topic}:0", f"{scene.topic}:1"}
    (failed,) = admin.only("failed", "Admin", who, ask="runningInfo", clientId="nobody@1")
    assert (failed["code"], failed["message"]) == (1, f"The Consumer <{scene.group(name)}> <nobody@1> not online")


@pytest.mark.parametrize(
    ("name", "group"), [(STEADY, STEADY), (STRICT, STRICT), *((each, f"with-{each[0]}") for each in OTHER_VERSIONS)]
)
def test_a_message_is_verified(
    admin: Client, scene: Scene, unique: Callable[[str], str], name: str, group: str
) -> None:
    topic = unique("Verified")  # without subscribers
    admin.run("CreateTopic", topic=topic, queues=1)
    texts = ("good", "later", "null", "throw")
    sent = admin.only("sent", "SendToQueue", topic=topic, message=[Outgoing(body=text, queue=0) for text in texts])
    who = {"group": scene.group(group), "clientId": scene.client_ids[name], "of": topic}
    ids = [*(event["msgId"] for event in sent), sent[0]["offsetMsgId"]]
    results = admin.only("directly", "Admin", who, ask="directly", msgId=ids)
    assert [result["result"] for result in results] == [
        "CR_SUCCESS",
        "CR_LATER",
        "CR_RETURN_NULL",
        "CR_THROW_EXCEPTION",
        "CR_SUCCESS",
    ]
    assert {result["order"] for result in results} == {name == STRICT}
    assert "thrown on purpose" in results[3]["remark"]
    printed = mqadmin(admin, "queryMsgById", "-i", sent[0]["offsetMsgId"], "-g", who["group"], "-d", who["clientId"])
    assert any("consumeResult=CR_SUCCESS" in line for line in printed)


def test_how_far_groups_are(admin: Client, endpoint: Endpoint, scene: Scene) -> None:
    group = scene.group(STEADY)
    ends = {f"broker-a:{queue}": EACH + 2 for queue in (0, 1)}
    admin.run("Collect", name=STEADY, count=4)
    await_commits(endpoint, scene, {STEADY: EACH + 2})
    told = admin.only("stats", "Admin", ask="stats", topic=scene.topic, group=group)
    assert {event["queue"]: event["broker"] for event in told} == ends
    assert {event["queue"]: event["consumer"] for event in told} == ends
    got = admin.run("Admin", ask=["status", "timeSpan", "who", "topicStats"], topic=scene.topic, group=group)
    (status,) = events(got, "offsets")
    assert (status["of"], status["offsets"]) == (scene.client_ids[STEADY], ends)
    stored = {event["queue"]: event["time"] for event in told}
    spans = {event["queue"]: event for event in events(got, "timeSpan")}
    assert {queue: span["consumed"] for queue, span in spans.items()} == stored
    assert {queue: span["max"] for queue, span in spans.items()} == stored
    assert {span["delay"] for span in spans.values()} == {0}
    (who,) = events(got, "who")
    assert {scene.group(name) for name in (STEADY, STRICT, "gone", "wide")} <= set(who["groups"])
    assert {event["queue"]: event["max"] for event in events(got, "topicStats")} == ends
    assert {event["queue"]: event["time"] for event in events(got, "topicStats")} == stored


def test_what_the_tool_prints(admin: Client, scene: Scene, folder: Path) -> None:
    printed = mqadmin(admin, "consumerProgress", "-g", scene.group(STEADY))
    assert any(line.startswith("Consume TPS") for line in printed)
    rows = [line.split() for line in printed if line.startswith(scene.topic)]
    assert sorted((row[2], row[3]) for row in rows) == [("0", str(EACH + 2)), ("1", str(EACH + 2))]
    printed = mqadmin(admin, "consumerStatus", "-g", scene.group(STEADY))
    assert any(scene.client_ids[STEADY] in line for line in printed)
    assert "Same subscription in the same group of consumer" in "\n".join(printed)
    assert [path for path in folder.rglob("*") if scene.client_ids[STEADY] in path.name]


def test_a_groups_configuration(admin: Client, endpoint: Endpoint, unique: Callable[[str], str]) -> None:
    where = {"group": unique("configured"), "broker": endpoint.broker}
    for times in (3, 4):
        got = admin.run("Admin", where, ask=["putGroup", "groupConfig"], retryMaxTimes=times)
        assert [event["retryMaxTimes"] for event in events(got, "groupConfig")] == [times]
    got = admin.run("Admin", where, ask=["removeGroup", "groupConfig"])
    assert [event["retryMaxTimes"] for event in events(got, "groupConfig")] == [None]
    assert events(got, "failed") == []


@pytest.mark.usefixtures("only_rocketwire")  # Apache's broker has no quotas
def test_a_request_of_the_code_215_is_no_answer_of_it(
    admin: Client, endpoint: Endpoint, unique: Callable[[str], str]
) -> None:
    """DELETE_TOPIC_IN_BROKER has the number of FLOW_CONTROL: it is done though sends are refused."""
    topic = unique("Nothing")
    admin.run("CreateTopic", topic=topic, queues=1)
    remoting.request(endpoint.broker, 25, {}, f"topicQuotas={topic}=0/0".encode())
    (refused,) = admin.only("refused", "SendSync", topic=topic, message=[Outgoing(body="m")])
    deleted = remoting.request(endpoint.broker, 215, {"topic": topic})
    remoting.request(endpoint.broker, 25, {}, b"topicQuotas=")
    assert (refused["error"], refused["code"]) == ("MQBrokerException", 215)
    assert deleted.code == 0
