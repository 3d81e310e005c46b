"""A program in JavaScript starts an endpoint as the manual shows it, moves its clock and ends."""

from __future__ import annotations

import json
import os
import shlex
import socket
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from compat_tests import java_library, readme
from compat_tests.waiting import wait_until
from rocketwire.compat.brokers.ports import port_of
from rocketwire.compat.environment import artifacts

pytestmark = pytest.mark.usefixtures("only_rocketwire")

MANUAL: Final = readme.blocks((readme.ROOT / "docs" / "testing-other-languages.md").read_text("utf-8"))
USE: Final = """
startRocketmq(process.argv[2]).then(async (rocketmq) => {
  const advance = { method: "POST", body: JSON.stringify({ advance: 3600000 }) };
  const answer = await fetch(`http://${rocketmq.http}/clock`, advance);
  console.log(JSON.stringify({ ...rocketmq, ...(await answer.json()) }));
  process.kill(process.pid, "SIGKILL");
});
"""


def test_the_manuals_example_in_javascript(tmp_path: Path) -> None:
    artifacts.ensure_programs({"node": "nodejs"})
    (tmp_path / "start.js").write_text(MANUAL["Other languages 1"] + USE, "utf-8")
    command = tmp_path / "rocketwire"
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m rocketwire "$@"\n', "utf-8")
    command.chmod(0o755)
    environment = java_library.checkout_environment()
    ran = subprocess.run(
        ["node", tmp_path / "start.js", tmp_path / "store"],
        env={**environment, "PATH": f"{tmp_path}{os.pathsep}{environment['PATH']}"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.stdout, ran.stderr
    reported = json.loads(ran.stdout)
    assert (reported["advanced"], reported["store"]) == (3_600_000, str(tmp_path / "store"))
    wait_until(lambda: not _serves(reported["namesrv"]), "the server outlives the program that started it", within=60)


def _serves(address: str) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port_of(address))).close()
    except ConnectionRefusedError:
        return False
    return True
