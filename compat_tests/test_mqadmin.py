"""Each command of the official `mqadmin` says of this endpoint what it says of Apache's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from compat_tests import admin_tools
from compat_tests.endpoints import Rocketwire
from compat_tests.mqadmin.catalogue import COMMANDS
from compat_tests.mqadmin.driver import Scene
from rocketwire.compat.brokers.endpoint import Apache, Endpoint, running
from rocketwire.compat.clients.client import Client, Clients

pytestmark = pytest.mark.usefixtures("only_rocketwire")
CASES = [
    (version, place)
    for version in admin_tools.VERSIONS
    for place, command in enumerate(COMMANDS)
    if version in command.versions
]


@dataclass(slots=True)
class Outputs:
    """What each command printed, by endpoint, version and place in the catalogue."""

    endpoints: Mapping[str, Endpoint]
    folder: Path
    found: dict[tuple[str, str, int], list[str]] = field(default_factory=dict)

    def of(self, endpoint: str, version: str, place: int) -> list[str]:
        """What one command printed."""
        if not self.found:  # all in one order, whatever the order of the tests
            for each in admin_tools.VERSIONS:
                self._run(each)
        return self.found[endpoint, version, place]

    def _run(self, version: str) -> None:
        folder = self.folder / version
        folder.mkdir()
        with Clients(admin_tools.tools(folder, version)) as clients:
            for name, endpoint in self.endpoints.items():
                if name == "apache-5.5.0" and version != "5.5.0":
                    continue
                own = folder / name
                own.mkdir()
                client = Client(clients=clients, id=f"java-{version}", namesrv=endpoint.namesrv)
                scene = Scene(endpoint=endpoint, client=client, folder=own)
                for place, lines in scene.outputs():
                    self.found[name, version, place] = lines


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outputs]:
    folder = tmp_path_factory.mktemp("mqadmin")
    settings = {"brokerName": "broker-a"}
    with (
        running(Apache(folder / "apache", settings=settings)) as theirs,
        running(Apache(folder / "newer", version="5.5.0", settings=settings)) as newer,
        running(Rocketwire(folder / "ours", settings=settings)) as ours,
    ):
        yield Outputs({"apache-4.9.7": theirs, "apache-5.5.0": newer, "rocketwire": ours}, folder)


@pytest.mark.parametrize(("version", "place"), CASES, ids=[f"{version} {COMMANDS[at].line}" for version, at in CASES])
def test_says_the_same(outputs: Outputs, version: str, place: int) -> None:
    theirs = outputs.of(f"apache-{COMMANDS[place].broker}", version, place)
    ours = outputs.of("rocketwire", version, place)
    if COMMANDS[place].differs:
        assert ours != theirs, f"they agree now, though {COMMANDS[place].differs}"
    else:
        assert ours == theirs
