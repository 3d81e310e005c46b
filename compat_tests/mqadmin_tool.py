"""Apache's `mqadmin` of any version: a script of commands in one JVM of the host.

What it prints of one endpoint is compared with what it prints of another: so `Mqadmin.run` masks what differs from run
to run, which is addresses and paths, and leaves of an exception's stack only the causes.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from compat_tests import artifacts, image

_LOGBACK: Final = "<configuration/>"
_LONGEST: Final = 300.0
_NEXT: Final = "--- next ---"
_MASKS: Final = (
    (re.compile(r"127\.0\.0\.1:[0-9]+"), "ADDRESS"),
    (re.compile(r"= +/.*"), "= PATH"),
    (re.compile(r"^(listenPort += +)[0-9]+"), r"\1PORT"),
)
_OF_A_STACK: Final = re.compile(r"^\s+at |^\s+\.\.\. [0-9]+ (common frames|more)")


class Mqadmin:
    """The tool of one version; what it writes goes into `folder`."""

    def __init__(self, version: str, folder: Path) -> None:
        (folder / "conf").mkdir(parents=True, exist_ok=True)
        logback = folder / "conf" / "logback_tools.xml"  # without it nothing runs
        logback.write_text(_LOGBACK, "utf-8")
        self._folder = folder
        self._command = [
            artifacts.java(),
            *artifacts.JAVA_FLAGS,
            "-Xmx256m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            f"-Duser.home={folder}",
            f"-Drocketmq.home.dir={folder}",
            f"-Drmq.logback.configurationFile={logback}",
            "-cp",
            artifacts.classpath(artifacts.jars(version, kind="server")),
            str(image.HERE / "java" / "mqadmin" / "Script.java"),
        ]

    def run(self, namesrv: str, script: Sequence[Sequence[str]]) -> list[list[str]]:
        """The lines that each command prints, masked."""
        commands = self._folder / "script"
        commands.write_text("".join("\t".join((*each, "-n", namesrv)) + "\n" for each in script), "utf-8")
        done = subprocess.run(
            [*self._command, str(commands), _NEXT],
            capture_output=True,
            check=True,
            cwd=self._folder,
            text=True,
            timeout=_LONGEST,
        )
        _, *printed = done.stdout.split(f"{_NEXT}\n")
        return [_masked(each) for each in printed]


def _masked(text: str) -> list[str]:
    lines = [line.rstrip() for line in text.splitlines()]
    lines = [line for line in lines if line and not _OF_A_STACK.match(line)]
    for pattern, mask in _MASKS:
        lines = [pattern.sub(mask, line) for line in lines]
    return lines
