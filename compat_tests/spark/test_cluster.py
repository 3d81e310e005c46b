"""The data source on a cluster of several processes, submitted with the commands of docs/spark-guide.md.

The executors' own Python has what those commands presume, and nothing of rocketwire.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import Distribution
from pathlib import Path
from typing import Any, Final

import pytest
from pyspark.sql import SparkSession

from compat_tests.spark import cluster_job, object_store
from compat_tests.spark.cluster import Cluster
from tests.store.support import draft, open_store, small

ROOT: Final = Path(__file__).parents[2]
MESSAGES: Final = 600
_NONE: Final[Mapping[str, str]] = {}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The working folder of the commands: with the job, and constraints that make pip install this rocketwire."""
    made = tmp_path_factory.mktemp("cluster")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(made / "dist")]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "ROCKETWIRE_KERNEL": "native"}, check=True, timeout=400)
    (wheel,) = (made / "dist").iterdir()
    (made / "constraints.txt").write_text(f"rocketwire @ {wheel.as_uri()}\n", "utf-8")
    shutil.copy(cluster_job.__file__, made / "job.py")
    return made


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store whose log has many files."""
    root = tmp_path_factory.mktemp("stored") / "store"
    with_many_files = open_store(small(root, commit_log_file_size=1 << 14))
    for number in range(MESSAGES):
        with_many_files.append([draft(number, topic=f"Topic{number % 3}", queue_id=number % 4)])
    with_many_files.close()
    return root


@pytest.fixture(scope="module")
def rows(spark: SparkSession, store: Path) -> list[str]:
    """The store's rows as a session without a cluster reads them."""
    return sorted(row.row for row in cluster_job.rows_of(spark, str(store), {}).collect())


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The cluster."""
    with Cluster(tmp_path_factory.mktemp("workers")) as started:
        yield started


@pytest.fixture(scope="module")
def environment(cluster: Cluster, folder: Path) -> Path:
    """The environment that the page has packed, and beside it the archive."""
    cluster.shell(commands("venv-pack"), cwd=folder)
    return folder / "environment"


@pytest.fixture(scope="module")
def with_the_rest(environment: Path, folder: Path) -> Path:
    """A Python with no packages but those that the page presumes of workers that are sent the package alone."""
    bare = make_venv(folder / "with_the_rest")
    (presumed,) = re.findall(r"`pip install ([^`]*construct[^`]*)`", section())
    (source,) = environment.glob("lib/python*/site-packages")
    (target,) = bare.glob("lib/python*/site-packages")
    for name in required_by(re.findall(r"(?:^|[\s'])([a-z]\w*)", presumed), source):
        for part in {file.parts[0] for file in distribution(name, source).files or [] if file.parts[0] != ".."}:
            (target / part).symlink_to(source / part)
    return bare / "bin" / "python"


@pytest.fixture(scope="module")
def bare(folder: Path) -> Path:
    """A Python without packages."""
    return make_venv(folder / "bare") / "bin" / "python"


def make_venv(folder: Path) -> Path:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    return folder


def distribution(name: str, folder: Path) -> Distribution:
    """The package of this name among those of a folder."""
    (found,) = Distribution.discover(name=name, path=[str(folder)])
    return found


def required_by(names: list[str], folder: Path) -> set[str]:
    """These packages and what they require."""
    found: set[str] = set()
    while names:
        found.add(name := names.pop())
        required = [line for line in distribution(name, folder).requires or [] if "extra ==" not in line]
        names += {re.split(r"[^\w-]", line)[0] for line in required if "python_version <" not in line} - found
    return found


def section() -> str:
    """The section of docs/spark-guide.md about clusters."""
    page = (ROOT / "docs" / "spark-guide.md").read_text("utf-8")
    return page.partition("\n## On a cluster\n")[2].partition("\n## ")[0]


def commands(containing: str) -> str:
    """The one listing of commands there that contains this."""
    listings: list[str] = re.findall(r"```sh\n(.*?)```", section(), re.DOTALL)
    (found,) = [text for text in listings if containing in text]
    return found


def report_of(
    cluster: Cluster, script: str, folder: Path, store: Path | str, python: Path, options: Mapping[str, str] = _NONE
) -> dict[str, Any]:
    """The report of the job that these commands submit, with this cluster, this store and the workers' Python."""
    job = shlex.join(["job.py", str(store), json.dumps(dict(options))])
    script = script.replace("spark://HOST:7077", cluster.url).replace("job.py", job)
    report: dict[str, Any] = json.loads(cluster.shell(script, cwd=folder, python=python).splitlines()[-1])
    return report


@pytest.mark.usefixtures("environment")
def test_a_packed_environment_brings_the_kernel(
    cluster: Cluster, folder: Path, bare: Path, store: Path, rows: list[str]
) -> None:
    report = report_of(cluster, commands("--archives"), folder, store, bare)
    assert report["kernels"] == ["native"]
    assert len(report["executors"]) == 2
    assert report["rows"] == rows
    assert len(rows) == MESSAGES


@pytest.mark.usefixtures("environment")
def test_executors_read_an_object_store(
    cluster: Cluster, folder: Path, bare: Path, store: Path, rows: list[str]
) -> None:
    with object_store.running() as objects:
        options = {name: str(value) for name, value in objects.options.items()}
        report = report_of(cluster, commands("--archives"), folder, objects.put(store, "store"), bare, options)
        logs = {requested.path.partition("?")[0] for requested in objects.reads() if "/commitlog/" in requested.path}
    assert report["rows"] == rows
    assert len(report["executors"]) == 2
    assert len(logs) == len(list((store / "commitlog").iterdir()))


def test_a_zip_of_the_package_alone_runs_without_the_kernel(
    cluster: Cluster, folder: Path, with_the_rest: Path, store: Path, rows: list[str]
) -> None:
    report = report_of(cluster, commands("--py-files"), folder, store, with_the_rest)
    assert report["kernels"] == ["python"]
    assert len(report["executors"]) == 2
    assert report["rows"] == rows
