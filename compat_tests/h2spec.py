"""h2spec, the conformance tests of HTTP/2 servers, built by the go tool."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from rocketwire.compat.environment.artifacts import go, go_environment, run
from rocketwire.compat.environment.cache import cached

VERSION: Final = "2.2.1"
_MODULE: Final = "github.com/summerwind/h2spec"
#: It names no versions itself; these build with the go tool of every supported machine.
_NEEDED: Final = (
    f"{_MODULE} v{VERSION}+incompatible",
    "github.com/fatih/color v1.15.0",
    "github.com/spf13/cobra v1.7.0",
    "golang.org/x/net v0.17.0",
)
_SECONDS: Final = 2
"""How long a test waits for an answer."""

Test = tuple[str, str]
"""The section of its specification, and what it does."""


def h2spec() -> Path:
    """The program. Raises ArtifactError."""
    return cached(f"go/h2spec-{VERSION}", _build) / "h2spec"


def _build(target: Path) -> None:
    required = "".join(f"require {module}\n" for module in _NEEDED)
    (target / "go.mod").write_text(f"module rocketwire/h2spec\n\ngo 1.19\n\n{required}", "utf-8")
    tools = f'//go:build tools\n\npackage tools\n\nimport _ "{_MODULE}/cmd/h2spec"\n'
    (target / "tools.go").write_text(tools, "utf-8")
    run([go(), "mod", "tidy"], cwd=target, env=go_environment())
    run([go(), "build", "-o", target / "h2spec", f"{_MODULE}/cmd/h2spec"], cwd=target, env=go_environment())


def results(address: str, report: Path) -> tuple[set[Test], set[Test]]:
    """Test a server at ``HOST:PORT``, in clear text; the tests that it passes, and those that it fails.

    Skipped tests are in neither. `report` is a file that the program writes.
    """
    host, _, port = address.rpartition(":")
    command: list[str | Path] = [h2spec(), "-h", host, "-p", port, "-o", str(_SECONDS), "-j", report]
    subprocess.run(command, env=os.environ, stdout=subprocess.DEVNULL, timeout=300, check=False)
    passed: set[Test] = set()
    failed: set[Test] = set()
    text = re.sub(rb"[^\t\n -~]", b"?", report.read_bytes())  # it quotes answers, whatever bytes they have
    for case in ET.fromstring(text).iter("testcase"):
        test = case.attrib["package"], case.attrib["classname"]
        if case.find("failure") is not None or case.find("error") is not None:
            failed.add(test)
        elif case.find("skipped") is None:
            passed.add(test)
    return passed, failed
