"""Runs the tests of `java/`, the library for tests in Java, by Maven.

Maven's local repository is in the cache. Once a run has brought all that the library's pom.xml names, further runs need
no registry.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from typing import Final

from compat_tests.readme import ROOT
from rocketwire.compat.environment.artifacts import PACKAGES, ensure_programs
from rocketwire.compat.environment.cache import CACHE, locked

LIBRARY: Final = ROOT / "java"
CLASSES: Final = LIBRARY / "target" / "classes"
_REPORTS: Final = LIBRARY / "target" / "surefire-reports"
_REPOSITORY: Final = CACHE / "maven"
_WITHIN: Final = 900.0  # seconds; the first run fetches a hundred artifacts
_FAST: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # a short life: start fast


class JavaTestsFailed(Exception):
    """The library did not compile, or a test of it failed; the text is what Maven printed."""


def checkout_environment() -> dict[str, str]:
    """The environment in which helpers of other languages start the rocketwire of this checkout."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    command = f"{sys.executable} -m rocketwire"
    return {**os.environ, "ROCKETWIRE_COMMAND": command, "PYTHONPATH": os.pathsep.join(paths)}


def run_tests(*options: str, env: Mapping[str, str] | None = None) -> dict[str, int]:
    """Compile the library and run its tests; the number of tests that passed, by the class's name without package.

    Raises ArtifactError without Maven or Java, and JavaTestsFailed where a test failed or was skipped.
    """
    ensure_programs({name: PACKAGES[name] for name in ("mvn", "java", "javac")})
    with locked("java-library"):
        complete = _REPOSITORY / f"complete-{hashlib.sha256((LIBRARY / 'pom.xml').read_bytes()).hexdigest()[:16]}"
        offline = ["-o"] if complete.exists() else []
        shutil.rmtree(_REPORTS, ignore_errors=True)
        done = subprocess.run(
            ["mvn", "-q", "-B", *offline, f"-Dmaven.repo.local={_REPOSITORY}", *options, "test"],
            cwd=LIBRARY,
            env={**checkout_environment(), "MAVEN_OPTS": f"{os.environ.get('MAVEN_OPTS', '')} {_FAST}", **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=_WITHIN,
            check=False,
        )
        if done.returncode != 0:
            raise JavaTestsFailed(done.stdout)
        complete.touch()
        return _passed(done.stdout)


def _passed(printed: str) -> dict[str, int]:
    passed: dict[str, int] = {}
    for report in _REPORTS.glob("TEST-*.xml"):
        for case in ET.parse(report).getroot().iter("testcase"):
            if len(case) and {"failure", "error", "skipped"} & {child.tag for child in case}:
                raise JavaTestsFailed(f"{case.get('name')} did not pass: {printed}")
            name = case.attrib["classname"].rpartition(".")[2]
            passed[name] = passed.get(name, 0) + 1
    return passed


def classes_with_tests() -> set[str]:
    """The names of the library's classes that hold tests."""
    return {path.stem for path in (LIBRARY / "src" / "test").rglob("*Test.java")}
