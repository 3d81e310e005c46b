"""Each command of the official `mqadmin` prints at this endpoint what it prints at Apache's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

from compat_tests import admin_tools
from compat_tests.endpoints import Rocketwire
from compat_tests.mqadmin.catalogue import COMMANDS
from compat_tests.mqadmin.driver import outputs_of
from rocketwire.compat.brokers.endpoint import Apache, Endpoint, running

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

    start: Callable[[str], Endpoint]
    folder: Path
    found: dict[tuple[str, str], dict[int, list[str]]] = field(default_factory=dict)

    def of(self, endpoint: str, version: str, place: int) -> list[str]:
        """What one command printed."""
        if (endpoint, version) not in self.found:  # all commands in their order, whatever the order of the tests
            own = self.folder / version / endpoint
            self.found[endpoint, version] = outputs_of(self.start(endpoint), version, own)
        return self.found[endpoint, version][place]


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outputs]:
    folder = tmp_path_factory.mktemp("mqadmin")
    settings = {"brokerName": "broker-a"}
    made: dict[str, Callable[[], Endpoint]] = {
        "apache-4.9.7": lambda: Apache(folder / "apache", settings=settings),
        "apache-5.5.0": lambda: Apache(folder / "newer", version="5.5.0", settings=settings),
        # Without a region records are those of 4.9.7 to the byte, and so are the places that the tools print.
        "rocketwire": lambda: Rocketwire(folder / "ours", settings={**settings, "storeRegion": "false"}),
    }
    with ExitStack() as stack:

        @cache
        def start(name: str) -> Endpoint:
            return stack.enter_context(running(made[name]()))

        yield Outputs(start, folder)


@pytest.mark.parametrize(("version", "place"), CASES, ids=[f"{version} {COMMANDS[at].line}" for version, at in CASES])
def test_prints_the_same(outputs: Outputs, version: str, place: int) -> None:
    theirs = outputs.of(f"apache-{COMMANDS[place].broker}", version, place)
    ours = outputs.of("rocketwire", version, place)
    if COMMANDS[place].differs:
        assert ours != theirs, f"they agree now, though {COMMANDS[place].differs}"
    else:
        assert ours == theirs
