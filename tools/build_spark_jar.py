"""Builds the jar of the Spark data source (`java/spark`) with Maven, and prints where it is.

    python -m tools.build_spark_jar

It is built again only where a source is newer. Without Maven nothing is printed but a warning: wheels have no jar then,
and Spark reads with the Python source. Maven fetches Spark's own jars into its repository the first time, some 300 MB.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
PROJECT: Final = ROOT / "java" / "spark"
JAR: Final = PROJECT / "target" / "rocketwire-spark.jar"
_SECONDS: Final = 900
#: What gives the jar's source its short name.
_REGISTERED: Final = "META-INF/services/"


class BuildFailed(Exception):
    """Maven is missing, or it failed; the text has the end of its output."""


def build(*, tests: bool = False) -> Path:
    """Build the jar unless it is newer than its sources, and return its path.

    Args:
        tests: Whether its own tests run, too; then it is always built.

    Raises:
        BuildFailed: there is no jar now, or an old one.
    """
    sources = [PROJECT / "pom.xml", *(path for path in (PROJECT / "src").rglob("*") if path.is_file())]
    if not tests and JAR.exists() and JAR.stat().st_mtime >= max(path.stat().st_mtime for path in sources):
        return JAR
    maven = shutil.which("mvn")
    if maven is None:
        raise BuildFailed("there is no Maven (mvn) in the PATH")
    options = [] if tests else ["-DskipTests"]
    try:
        done = subprocess.run(
            [maven, "--quiet", "--batch-mode", *options, "package"],
            cwd=PROJECT,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise BuildFailed(f"Maven needs more than {_SECONDS} seconds") from error
    if done.returncode or not JAR.exists():
        raise BuildFailed(f"Maven failed: {(done.stdout + done.stderr)[-2000:].strip()}")
    return JAR


def unnamed(to: Path) -> Path:
    """Write the jar without its registration; the file's path.

    In a session with it `rocketmq` is the Python source, and the jar's is named by its class.

    Raises:
        BuildFailed: as `build`.
    """
    with zipfile.ZipFile(build()) as whole, zipfile.ZipFile(to, "w") as copy:
        for entry in whole.infolist():
            if not entry.filename.startswith(_REGISTERED):
                copy.writestr(entry, whole.read(entry))
    return to


def main() -> int:
    """Build it, and print its path."""
    try:
        sys.stdout.write(f"{build()}\n")
    except BuildFailed as failed:
        sys.stderr.write(f"rocketwire is built without the jar for Spark: {failed}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
