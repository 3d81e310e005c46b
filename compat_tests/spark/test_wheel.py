"""A wheel with the jar, installed outside the repository: `rocketwire.spark.session()` reads a store with the jar."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from compat_tests.spark.sources import of_python
from rocketwire.compat.brokers.ports import LOOPBACK
from rocketwire.spark.schema import COLUMNS
from tests.server.processes import ROOT
from tests.store.support import Golden
from tools import build_spark_jar
from tools.release.build import hatchling

_PROGRAM: Final = """
import json, sys
import rocketwire
from rocketwire import spark
session = spark.session({"spark.master": "local[1]", "spark.ui.enabled": "false"})
found = session.read.format("rocketmq").load(sys.argv[1])
counted = found.groupBy().count()
plan = counted._jdf.queryExecution().toString()
print(json.dumps([rocketwire.__file__, str(spark.jar()), found.columns, counted.first()[0], plan]))
"""


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The Python of an environment with the wheel; it has what rocketwire depends on from this one's environment."""
    hatchling(ROOT, "-t", "wheel", "-d", str(tmp_path / "dist"), ROCKETWIRE_SPARK_JAR=str(build_spark_jar.build()))
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    # A path in such a file is not looked through for others, which would name this clone.
    (packages / "others.pth").write_text("\n".join(path for path in sys.path if path.endswith("site-packages")))
    (file,) = (tmp_path / "dist").iterdir()
    python = environment / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", str(file)]
    subprocess.run(install, check=True, timeout=400)
    return python


@pytest.mark.usefixtures("jar")
def test_an_installed_wheel_brings_the_jar(installed: Path, tmp_path: Path) -> None:
    store = Golden("5.5.0", tmp_path / "golden").untouched
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [installed, "-c", _PROGRAM, store],
        cwd=tmp_path,
        env=variables | {"SPARK_LOCAL_IP": LOOPBACK},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    package, jar, columns, count, plan = json.loads(done.stdout.splitlines()[-1])
    own = installed.parents[1]
    assert Path(package).is_relative_to(own)
    assert Path(jar).is_relative_to(own)
    assert columns == list(COLUMNS)
    assert "aggregated from consume queues" in plan
    assert count == len(of_python(store, columns="topic"))
