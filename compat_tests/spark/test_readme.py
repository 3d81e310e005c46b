"""The README's section on Spark, as it is printed: the wheel in a new environment, and the example."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

from compat_tests.readme import ROOT, commands, printed
from tests.store.support import Golden


def run(command: list[str], folder: Path, environment: Path) -> str:
    variables = {**os.environ, "PATH": f"{environment}/bin:{os.environ['PATH']}", "SPARK_LOCAL_IP": "127.0.0.1"}
    for name in ("VIRTUAL_ENV", "PYTHONPATH", "PYSPARK_PYTHON"):
        variables.pop(name, None)
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def test_the_wheel_and_the_example(tmp_path: Path) -> None:
    clone, environment = tmp_path / "rocketwire", tmp_path / "environment"
    run(["git", "clone", "--quiet", str(ROOT), str(clone)], tmp_path, environment)
    run([sys.executable, "-m", "venv", str(environment)], tmp_path, environment)
    for command in commands(printed("Read it with Spark 1")):
        run(["bash", "-c", command], clone, environment)

    golden = Golden("5.5.0", tmp_path / "golden")
    (tmp_path / "data").symlink_to(golden.untouched)
    (tmp_path / "example.py").write_text(printed("Read it with Spark 2"), encoding="utf-8")
    shown = run(["python", "example.py"], tmp_path, environment)
    rows = (line.split("|")[1:3] for line in shown.splitlines() if line.startswith("|"))
    found = {topic.strip(): count.strip() for topic, count in rows}
    lines = golden.lines("expected.jsonl")
    wanted = Counter(line["topic"] for line in lines if line["type"] == "message" and line["topic"] in found)
    assert len(wanted) > 5
    assert {topic: str(count) for topic, count in wanted.items()}.items() <= found.items()
