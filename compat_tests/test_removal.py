"""Deletion of topics and groups, and the name server's administration: `mqadmin` prints the same as of Apache's 4.9.7.

One script runs with the tools of 4.9.7 and 5.5.0 on rocketwire and on Apache's name server and broker of 4.9.7.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from compat_tests import admin_tools
from compat_tests.endpoints import Rocketwire
from rocketwire.compat.brokers.endpoint import Apache, Endpoint, running
from rocketwire.compat.clients.client import Client, Clients

_CLUSTER: Final = ("-c", "DefaultCluster")
_CONFIG: Final = "getNamesrvConfig"
_SCRIPT: Final = (
    # First: Apache's broker registers all of its topics again within 30 s of a deletion, and when it has run for 60 s.
    ("wipeWritePerm", "-b", "broker-a"),
    ("topicRoute", "-t", "TBW102"),
    ("addWritePerm", "-b", "broker-a"),
    ("topicRoute", "-t", "TBW102"),
    ("wipeWritePerm", "-b", "nobody"),
    # Apache's default is false.
    ("updateNamesrvConfig", "-k", "orderMessageEnable", "-v", "false"),
    ("updateTopic", *_CLUSTER, "-t", "Doomed"),
    ("deleteTopic", *_CLUSTER, "-t", "Doomed"),
    ("topicRoute", "-t", "Doomed"),
    ("deleteTopic", *_CLUSTER, "-t", "Doomed"),
    ("deleteTopic", *_CLUSTER, "-t", "TBW102"),
    ("updateSubGroup", *_CLUSTER, "-g", "G"),
    ("updateTopic", *_CLUSTER, "-t", "%RETRY%G"),
    ("deleteSubGroup", *_CLUSTER, "-g", "G"),
    ("topicList",),
    (_CONFIG,),
    ("updateNamesrvConfig", "-k", "serverWorkerThreads", "-v", "9"),
    (_CONFIG,),
    ("updateNamesrvConfig", "-k", "unknownKey", "-v", "9"),
    ("updateNamesrvConfig", "-k", "kvConfigPath", "-v", "/elsewhere"),
)
_MANY: Final = re.compile("OK, [1-9][0-9]*")
_SORTED: Final = {"topicList", _CONFIG}
"""Commands that print in the order of a hash table."""

_MASKS: Final = (
    (re.compile(r"127\.0\.0\.1:[0-9]+"), "ADDRESS"),
    (re.compile(r"= +/.*"), "= PATH"),
    (re.compile(r"^(listenPort += +)[0-9]+"), r"\1PORT"),
)
"""What differs from run to run."""


def masked(line: str) -> str:
    """A line without addresses and paths."""
    for pattern, mask in _MASKS:
        line = pattern.sub(mask, line)
    return line.rstrip()


def printed(clients: Clients, version: str, endpoint: Endpoint) -> list[tuple[tuple[str, ...], list[str]]]:
    """What each command of the script prints."""
    client = Client(clients=clients, id=f"java-{version}", namesrv=endpoint.namesrv)
    found: list[tuple[tuple[str, ...], list[str]]] = []
    for command in _SCRIPT:
        lines = [
            masked(line) for line in admin_tools.output_of(client, *command, "-n", endpoint.namesrv) if line.strip()
        ]
        # A broker that has run for a minute has the topics of transactions.
        shown = [_MANY.sub("OK, MANY", line) for line in lines if not line.startswith("RMQ_SYS_TRANS_")]
        found.append((command, sorted(shown) if command[0] in _SORTED else shown))
    return found


@pytest.fixture
def both(tmp_path: Path) -> Iterator[tuple[Endpoint, Endpoint]]:
    """Rocketwire, and Apache's of 4.9.7."""
    with (
        running(Rocketwire(tmp_path / "ours")) as ours,
        running(Apache(tmp_path / "apache", version="4.9.7")) as apache,
    ):
        yield ours, apache


@pytest.mark.parametrize("version", ["4.9.7", "5.5.0"])
def test_mqadmin_prints_the_same(both: tuple[Endpoint, Endpoint], version: str, tmp_path: Path) -> None:
    ours, apache = both
    folder = tmp_path / "tool"
    folder.mkdir()
    with Clients(admin_tools.tools(folder, version)) as clients:
        expected = printed(clients, version, apache)
        assert any("delete topic [Doomed] from NameServer success." in lines for _, lines in expected)
        assert printed(clients, version, ours) == expected
