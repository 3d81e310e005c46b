"""Runs the catalogue's commands on one endpoint with the tools of one version."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from compat_tests import admin_tools, remoting
from compat_tests.mqadmin.catalogue import COMMANDS, MAKING, Command
from compat_tests.mqadmin.masks import masked
from rocketwire.compat.brokers.endpoint import Endpoint
from rocketwire.compat.clients.client import Client, Clients
from rocketwire.compat.messages import Outgoing

EACH: Final = 3
QUEUES: Final = 4
_UPDATE_CONSUMER_OFFSET: Final = 15


@dataclass(slots=True, kw_only=True)
class Scene:
    """An endpoint, the tools of a version, and what the commands' lines may name."""

    endpoint: Endpoint
    client: Client
    folder: Path
    values: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Enter the names; those of two versions differ, so that both find an endpoint without them."""
        mark = self.client.version[0]
        self.values |= {
            "broker": self.endpoint.broker,
            "namesrv": self.endpoint.namesrv,
            "topic": f"Mqadmin{mark}",
            "group": f"mqadmin{mark}",
            "folder": str(self.folder),
            "topics": str(self.folder / "topics.in"),
            "groups": str(self.folder / "groups.in"),
        }
        topics = [
            {"topicName": f"{self.values['topic']}Listed{number}", "readQueueNums": number, "writeQueueNums": number}
            for number in (1, 2)
        ]
        groups = [{"groupName": f"{self.values['group']}Listed{number}", "retryMaxTimes": number} for number in (1, 2)]
        Path(self.values["topics"]).write_text(json.dumps(topics), "utf-8")
        Path(self.values["groups"]).write_text(json.dumps(groups), "utf-8")

    def outputs(self) -> Iterator[tuple[int, list[str]]]:
        """Run all commands of the version in their order: the place in the catalogue and the output of each.

        The state is prepared when its topics exist. Its clients stay until their JVM ends: one that is being reset, as
        one of the commands does, leaves late.
        """
        for place, command in enumerate(COMMANDS):
            if place == len(MAKING):
                self._prepare()
            if self.client.version in command.versions:
                yield place, self._output(command)

    def _output(self, command: Command) -> list[str]:
        args = command.line.format(**self.values).split()
        lines = admin_tools.output_of(self.client, *args)
        written = self.folder / command.writes
        if written.is_file():
            lines += _texts(json.loads(written.read_text("utf-8")))
            written.unlink()
        names = {
            str(self.folder): "FOLDER",
            self.endpoint.broker: "BROKER",
            self.endpoint.namesrv: "NAMESRV",
        }
        return masked(lines, names, command.varies)

    def _prepare(self) -> None:
        """Send messages, commit offsets of a group, and start a consumer and a producer that stay."""
        topic, group = self.values["topic"], self.values["group"]
        messages = [
            Outgoing(body=f"{queue}-{number}", tags=f"tag-{number}", keys=f"key-{queue}", queue=queue)
            for number in range(EACH)
            for queue in range(QUEUES)
        ]
        sent = self.client.only("sent", "SendToQueue", topic=topic, message=messages)
        self.values |= {"unique_id": sent[5]["msgId"], "offset_id": sent[5]["offsetMsgId"]}
        self.values["missing_id"] = sent[5]["offsetMsgId"][:-8] + "7FFFFFFF"
        for queue in range(QUEUES):
            self._commit(group, queue, queue % EACH)
        (started,) = self.client.only("started", "Join", name="live", topic=topic, group=f"{group}Live")
        self.values["client_id"] = started["clientId"]
        self.client.run("Collect", name="live", count=EACH * QUEUES, settle=50)
        self.client.run("StayProducer", topic=f"{topic}Unit", producerGroup=f"{group}Producer")
        for queue in range(QUEUES):  # as the consumer itself does some seconds later
            self._commit(f"{group}Live", queue, EACH)

    def _commit(self, group: str, queue: int, offset: int) -> None:
        requested: dict[str, str | int] = {
            "consumerGroup": group,
            "topic": self.values["topic"],
            "queueId": queue,
            "commitOffset": offset,
        }
        answer = remoting.request(self.endpoint.broker, _UPDATE_CONSUMER_OFFSET, requested)
        assert answer.code == 0, answer


def outputs_of(endpoint: Endpoint, version: str, folder: Path) -> dict[int, list[str]]:
    """What each command of a version's tool prints of an endpoint, by its place in the catalogue.

    The folder, which is made, gets what the tool writes.
    """
    folder.mkdir(parents=True)
    with Clients(admin_tools.tools(folder, version)) as clients:
        client = Client(clients=clients, id=f"java-{version}", namesrv=endpoint.namesrv)
        return dict(Scene(endpoint=endpoint, client=client, folder=folder).outputs())


def _texts(value: Any, path: str = "") -> list[str]:  # noqa: ANN401 - JSON
    """Every value of a JSON document as one line with its path."""
    if isinstance(value, dict):
        return [line for key, each in value.items() for line in _texts(each, f"{path}/{key}")]
    if isinstance(value, list):
        return [line for number, each in enumerate(value) for line in _texts(each, f"{path}/{number}")]
    return [f"{path} = {json.dumps(value)}"]
