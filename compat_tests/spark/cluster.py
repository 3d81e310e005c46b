"""Spark's own standalone cluster on loopback: a master, workers of one core each, and jobs submitted to it.

Theory: pyspark's package has Spark whole, but for the scripts that start masters and workers; `spark-class` starts
their classes nevertheless. Everything binds to loopback and to free ports; the master prints which it got.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self

import pyspark

from rocketwire.compat.brokers.ports import LOOPBACK
from rocketwire.compat.brokers.processes import READY_WITHIN, Process

SPARK_HOME: Final = Path(pyspark.__file__).parent
#: As the session's: short lives on busy cores.
JAVA_OPTIONS: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_DEPLOY: Final = "org.apache.spark.deploy"
_WITHIN: Final = 400.0
#: What the cluster's keeper sets for all jobs.
_DEFAULTS: Final = {
    "spark.driver.extraJavaOptions": JAVA_OPTIONS,
    "spark.executor.extraJavaOptions": JAVA_OPTIONS,
    "spark.executor.memory": "512m",
    # No task begins before both workers can take one, however long they take for their start.
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "300s",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
}


class Cluster:
    """A master and workers, while the context is entered.

    Args:
        folder: where they keep their logs and what executors are given.
    """

    def __init__(self, folder: Path, *, workers: int = 2) -> None:
        self._folder = folder
        self._workers = workers
        self._processes: list[Process] = []
        self.url = ""

    def __enter__(self) -> Self:
        settings = "".join(f"{key} {value}\n" for key, value in _DEFAULTS.items())
        (self._folder / "spark-defaults.conf").write_text(settings, "utf-8")
        try:
            master = self._start("master", ["master.Master", "--host", LOOPBACK, "--port", "0"])
            line = master.wait_for("Starting Spark master at", within=READY_WITHIN)
            self.url = re.findall(r"spark://\S+", line)[0]
            for number in range(self._workers):
                options = ["--host", LOOPBACK, "--cores", "1", "--memory", "512m"]
                folder = ["--work-dir", str(self._folder / f"worker-{number}")]
                self._start(f"worker-{number}", ["worker.Worker", *options, *folder, self.url])
            for worker in self._processes[1:]:
                worker.wait_for("Successfully registered with master", within=READY_WITHIN)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._processes):
            process.stop()

    def _start(self, name: str, command: Sequence[str]) -> Process:
        environment = {
            **self._environment(),
            "SPARK_DAEMON_JAVA_OPTS": JAVA_OPTIONS,
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_LOCAL_DIRS": str(self._folder / f"{name}-local"),
        }
        program = SPARK_HOME / "bin" / "spark-class"
        line = [str(program), f"{_DEPLOY}.{command[0]}", "--webui-port", "0", *command[1:]]
        process = Process(name, line, cwd=self._folder, env=environment)
        self._processes.append(process)
        return process

    def _environment(self) -> dict[str, str]:
        """This process's environment, less the variables about this process's Python."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "PYSPARK", "ROCKET"))}
        return {
            **kept,
            "SPARK_CONF_DIR": str(self._folder),
            "SPARK_HOME": str(SPARK_HOME),
            "SPARK_LOCAL_IP": LOOPBACK,
        }

    def shell(self, script: str, *, cwd: Path, python: Path | None = None) -> str:
        """What commands print that are given to a shell here; pip and Spark's programs are those of this Python.

        Args:
            script: the commands.
            cwd: where they are given; pip keeps to the constraints.txt there.
            python: what workers run as their own Python, unless the commands choose another one.

        Raises:
            AssertionError: one of them failed.
        """
        environment = {
            **self._environment(),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PIP_CONSTRAINT": str(cwd / "constraints.txt"),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_NO_COMPILE": "1",
            "PYSPARK_PYTHON": str(python or ""),
        }
        command = ["bash", "-euc", script]
        done = subprocess.run(
            command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=_WITHIN, check=False
        )
        assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-8000:]}"
        return done.stdout
