"""Each command of the official `mqadmin` prints the same through `rocketwire proxy` as at the broker behind it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest

from compat_tests.endpoints import Rocketwire
from compat_tests.mqadmin.catalogue import COMMANDS
from compat_tests.mqadmin.driver import outputs_of
from compat_tests.proxied import APACHE_4, APACHE_5, OURS, Proxied
from rocketwire.compat.brokers.endpoint import Apache, Endpoint, running

pytestmark = pytest.mark.usefixtures("only_rocketwire")

_RUNS: Final = ((APACHE_4, "4.9.7"), (APACHE_5, "5.5.0"), (OURS, "5.5.0"))
"""The brokers, and the version of the tool."""

_OF_ONE_BROKER: Final = re.compile(
    r"\b(BROKER|NAMESRV)\b|(?<=Port = )\d+|(?<= = )/\S+|(?<=Addr = )\S+|(?<=Fetch )\d .+"
)
"""Addresses, which the proxy replaces, and what two runs have different: ports, paths, and how soon a broker removes a
consumer."""

_TRACKED: Final = re.compile(r"trackType=\w+")
"""The tool queries the consumer's offset at the broker whose address is in the message, and does not find it."""

CASES = [
    (kind, version, place)
    for kind, version in _RUNS
    for place, command in enumerate(COMMANDS)
    if version in command.versions
]


def _direct(kind: str, folder: Path) -> Endpoint:
    settings = {"brokerName": "broker-a"}
    if kind == OURS:
        return Rocketwire(folder, settings=settings)
    return Apache(folder, version=kind, settings=settings)


def compared(lines: Iterable[str]) -> list[str]:
    """What of an output must be equal."""
    return [_TRACKED.sub("trackType=*", _OF_ONE_BROKER.sub("ADDRESS", line)) for line in lines]


@dataclass(slots=True)
class Outputs:
    """What each command printed, by kind of broker and place in the catalogue: without the proxy, and through it."""

    folder: Path
    found: dict[str, tuple[Mapping[int, list[str]], Mapping[int, list[str]]]] = field(default_factory=dict)

    def of(self, kind: str, version: str, place: int) -> tuple[list[str], list[str]]:
        """What one command printed."""
        if kind not in self.found:
            folder = self.folder / kind
            with running(_direct(kind, folder / "direct")) as endpoint:
                without = outputs_of(endpoint, version, folder / "tools-direct")
            with running(Proxied(folder / "proxied", kind=kind, brokers=1)) as endpoint:
                self.found[kind] = without, outputs_of(endpoint, version, folder / "tools-proxied")
        direct, proxied = self.found[kind]
        return direct[place], proxied[place]


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Outputs:
    return Outputs(tmp_path_factory.mktemp("mqadmin-proxy"))


@pytest.mark.parametrize(
    ("kind", "version", "place"), CASES, ids=[f"{kind} {version} {COMMANDS[at].line}" for kind, version, at in CASES]
)
def test_prints_the_same(outputs: Outputs, kind: str, version: str, place: int) -> None:
    direct, proxied = outputs.of(kind, version, place)
    assert compared(proxied) == compared(direct)
