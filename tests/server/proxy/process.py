"""`rocketwire proxy` as a process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.server.processes import ROOT


class ProxyProcess:
    """`rocketwire proxy` as a process.

    Attributes:
        pid: Of the process.
        names: Its address as a name server.
        broker: Its address of the only broker.
    """

    def __init__(self, upstream: str) -> None:
        command = [sys.executable, "-m", "rocketwire", "proxy", "--upstream", upstream, "--json-ready"]
        command += ["--listen", "127.0.0.1:0", "--broker-ports", "0", "--advertise", "127.0.0.1"]
        command += ["--set", "fastRemoting=false"]
        self._process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        self.pid = self._process.pid
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"the proxy ended with exit code {self._process.wait(60)}"
        ready = json.loads(line)
        self.names: str = ready["namesrv"]
        (self.broker,) = ready["brokers"].values()

    def rss(self) -> int:
        """Resident bytes."""
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def stop(self) -> None:
        """Stop it."""
        self._process.send_signal(signal.SIGTERM)
        self._process.communicate(timeout=60)
