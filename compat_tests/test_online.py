"""Administration while consumers are connected, with Apache's `mqadmin` of 4.9.7: reset offsets, and consume directly.

What the tool prints is compared with Apache's in test_mqadmin.py; this tests the effect on the consumers. One that gets
new offsets stops for 10 s before it continues, so one scene serves all tests.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from compat_tests import remoting
from compat_tests.admin_tools import VERSION, mqadmin, tools
from compat_tests.waiting import wait_until
from rocketwire.compat.brokers.endpoint import Endpoint
from rocketwire.compat.clients.client import Client, Clients
from rocketwire.compat.messages import Event, Outgoing

EACH = 5  # messages a queue
QUERY_CONSUMER_OFFSET = 14
STEADY = "steady"
STRICT = "strict"
OTHER_VERSIONS = ("4.4.0", "5.5.0")


@pytest.fixture(scope="module")
def admin(endpoint: Endpoint, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """The client with the tools; consumers that stay in it are ended at last."""
    with Clients(tools(tmp_path_factory.mktemp("tools"))) as started:
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
    offsets: dict[str, dict[int, int]] = field(default_factory=dict)
    """The offsets that the tool printed of each group that was reset, by queue."""

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
    join(STEADY, STEADY)
    join(STRICT, STRICT, kind="orderly")
    for version, client in others.items():
        join(version, f"with-{version[0]}", client)
    admin.run("SendNumbered", topic=scene.topic, each=EACH, pause=30)
    first: list[Event] = []
    for name, count in ((STEADY, 2 * EACH), (STRICT, 2 * EACH), ("back 1", EACH), ("back 2", EACH)):
        got = admin.only("received", "Collect", name=name, count=count, settle=50)
        assert len(got) == count
        first = first or got
    for version, client in others.items():
        assert len(client.only("received", "Collect", name=version, count=2 * EACH, settle=50)) == 2 * EACH
    (third,) = [event["storeTimestamp"] for event in first if event["text"] == "0-2"]
    reset = ["back", STRICT, *(f"with-{version[0]}" for version in others)]
    await_commits(endpoint, scene, [*reset, STEADY])
    for name in reset:
        printed = mqadmin(admin, "resetOffsetByTime", "-g", scene.group(name), "-t", scene.topic, "-s", str(third))
        rows = [line.split()[1:3] for line in printed if line.startswith("broker-a ")]
        scene.offsets[name] = {int(queue): int(offset) for queue, offset in rows}
    admin.run("SendNumbered", topic=scene.topic, first=EACH, each=2)
    return scene


def await_commits(endpoint: Endpoint, scene: Scene, groups: list[str]) -> None:
    """Wait until groups have committed the end of both queues: consumers do that one-way."""
    with remoting.Connection(endpoint.broker) as connection:
        for name, queue in itertools.product(groups, (0, 1)):
            where: dict[str, str | int] = {"consumerGroup": scene.group(name), "topic": scene.topic, "queueId": queue}
            wait_until(
                lambda: connection.ask(QUERY_CONSUMER_OFFSET, where).fields.get("offset") == str(EACH),  # noqa: B023
                f"{name} has not committed {EACH} in queue {queue}",
            )


def numbered(queue: int, start: int, end: int) -> list[str]:
    return [f"{queue}-{number}" for number in range(start, end)]


@pytest.mark.parametrize(
    ("group", "members"),
    [("back", ("back 1", "back 2")), (STRICT, (STRICT,)), *((f"with-{each[0]}", (each,)) for each in OTHER_VERSIONS)],
)
def test_members_go_back_together_and_lose_nothing(
    admin: Client, others: dict[str, Client], scene: Scene, group: str, members: tuple[str, ...]
) -> None:
    """Queue 0 continues with its third message, queue 1 with the one stored nearest to that."""
    assert scene.offsets[group][0] == 2
    assert scene.offsets[group][1] in {1, 2, 3}
    wanted = numbered(0, 2, EACH + 2) + numbered(1, scene.offsets[group][1], EACH + 2)
    received = sorted(
        event["text"]
        for name in members
        for event in others.get(name, admin).only(
            "received", "Collect", name=name, count=len(wanted) // len(members), settle=1_000
        )
    )
    assert sorted(set(received)) == wanted
    # What was sent meanwhile may have come before a member was notified as well.
    early = {*numbered(0, EACH, EACH + 2), *numbered(1, EACH, EACH + 2)}
    assert all(received.count(text) == 1 or text in early for text in wanted)


@pytest.mark.parametrize(
    ("name", "group"), [(STEADY, STEADY), (STRICT, STRICT), *((each, f"with-{each[0]}") for each in OTHER_VERSIONS)]
)
def test_a_message_is_consumed_directly(
    admin: Client, scene: Scene, unique: Callable[[str], str], name: str, group: str
) -> None:
    topic = unique("Verified")  # without subscribers
    admin.run("CreateTopic", topic=topic, queues=1)
    texts = ("good", "later", "null", "throw")
    sent = admin.only("sent", "SendToQueue", topic=topic, message=[Outgoing(body=text, queue=0) for text in texts])
    results = ["CR_SUCCESS", "CR_LATER", "CR_RETURN_NULL", "CR_THROW_EXCEPTION"]
    for event, result in zip(sent, results, strict=True):
        who = ("-g", scene.group(group), "-d", scene.client_ids[name])
        printed = "\n".join(mqadmin(admin, "queryMsgById", "-i", event["offsetMsgId"], *who))
        assert f"consumeResult={result}" in printed
        assert f"order={str(name == STRICT).lower()}" in printed
        assert ("thrown on purpose" in printed) == (result == "CR_THROW_EXCEPTION")
