"""The contract of the jar with other versions of Spark: test_jar.py and its siblings run in a process that has them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

import pytest

from compat_tests.spark import other_spark
from tests.server.processes import ROOT

pytestmark = pytest.mark.usefixtures("jar")

_FILES: Final = ("test_jar.py", "test_jar_client.py", "test_jar_endpoint.py", "test_endpoint.py")
#: What is not run: tests of the Python source alone, and one more kind of endpoint.
_WHICH: Final = "jar and not apache"


@pytest.mark.parametrize("version", ["3.5.9", "4.0.5"])
def test_the_contract_of_the_jar(version: str, tmp_path: Path) -> None:
    results = tmp_path / "results.xml"
    # Their clients leave sockets open.
    options = ["-p", "no:xdist", "-q", "-W", "ignore::ResourceWarning", "-m", "wide or not wide", "-k", _WHICH]
    files = [f"compat_tests/spark/{name}" for name in _FILES]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, f"--junit-xml={results}", *files],
        cwd=ROOT,
        env=os.environ | other_spark.environment(version),
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-20_000:]
    (suite,) = ET.parse(results).getroot()
    assert int(suite.attrib["skipped"]) == 0
    assert int(suite.attrib["tests"]) > 120
