"""deploy/systemd: systemd takes the unit without complaint, it is confined, and its command runs as in the unit."""

from __future__ import annotations

import configparser
import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Final

import pytest

from compat_tests.readme import ROOT
from rocketwire.compat.brokers.ports import free_ports
from rocketwire.compat.brokers.processes import READY_WITHIN, Process
from rocketwire.compat.clients.client import Client, Clients
from rocketwire.compat.environment.artifacts import ensure_programs, run
from rocketwire.compat.messages import Outgoing

pytestmark = pytest.mark.usefixtures("only_rocketwire")

FILE: Final = ROOT / "deploy" / "systemd" / "rocketwire.service"
PROGRAM: Final = "/opt/rocketwire/bin/rocketwire"
MOST_EXPOSED: Final = 15  # tenths of systemd's scale up to 10; a service without settings has 96


class _Unit(configparser.RawConfigParser):
    """The unit's sections; names of settings have capitals, and of several the last counts."""

    def __init__(self, text: str) -> None:
        super().__init__(strict=False)
        self.read_string(text)

    def optionxform(self, optionstr: str) -> str:
        return optionstr


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """The unit with an existing program."""
    ensure_programs({"systemd-analyze": "systemd"})
    text = FILE.read_text("utf-8")
    assert text.count(PROGRAM) == 1
    program = tmp_path / "bin" / "rocketwire"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m rocketwire "$@"\n')
    program.chmod(0o755)
    path = tmp_path / FILE.name
    path.write_text(text.replace(PROGRAM, str(program)))
    return path


def test_systemd_takes_it(unit: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    assert analyze is not None
    run([analyze, "verify", "--man=no", unit])
    run([analyze, "security", "--offline=yes", f"--threshold={MOST_EXPOSED}", "--no-pager", unit])


def test_its_command_serves_and_stops_with_code_0(unit: Path, clients: Clients, tmp_path: Path) -> None:
    service = _Unit(unit.read_text())["Service"]
    variables = dict(
        line.removeprefix("Environment=").replace("%S", str(tmp_path)).split("=", 1)
        for line in unit.read_text().splitlines()
        if line.startswith("Environment=")
    )
    assert variables.keys() == {"ROCKETWIRE_SERVE_STORE", "ROCKETWIRE_SERVE_HTTP"}
    namesrv, broker = free_ports()
    # As /etc/default/rocketwire would: ports that are free here.
    variables |= {"ROCKETWIRE_SERVE_NAMESRV": f"127.0.0.1:{namesrv}", "ROCKETWIRE_SERVE_BROKER": f"127.0.0.1:{broker}"}
    variables |= {"ROCKETWIRE_SERVE_HTTP": f"127.0.0.1:{broker + 1}"}
    env = {**os.environ, **variables, "PYTHONPATH": str(ROOT)}
    process = Process("the unit", shlex.split(service["ExecStart"]), cwd=Path("/"), env=env)
    try:
        process.wait_for("rocketwire ready", within=READY_WITHIN)
        client = Client(clients=clients, id="java-4.9.7", namesrv=f"127.0.0.1:{namesrv}")
        client.run("CreateTopic", topic="Unit", queues=1)
        client.run("SendSync", topic="Unit", message=[Outgoing(body="stored")])
    finally:
        code = process.stop()
    assert code == 0
    assert (tmp_path / "rocketwire" / "commitlog").is_dir(), "StateDirectory=rocketwire is below %S"
