"""The bill of materials (SBOM) of a release: rocketwire and every package installed with it, in CycloneDX's JSON.

The kernel has no code of others and no library but the C library of the system, so the packages are all there is.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import rocketwire
from tools.release.build import ReleaseFailed


def write_bill(environment: Path, root: Path, bill: Path, *, epoch: int) -> None:
    """Write what is installed in a virtual environment; the file is checked against CycloneDX's schema.

    Args:
        environment: It has rocketwire, what it needs, and nothing else.
        root: The repository, whose pyproject.toml describes rocketwire.
        bill: The file to write.
        epoch: The time that it says, in seconds since 1970.

    Raises:
        ReleaseFailed: the file is against the schema, or an installed package cannot be read.
    """
    with tempfile.TemporaryDirectory(prefix="release-") as folder:
        described = Path(folder) / "pyproject.toml"
        text = (root / "pyproject.toml").read_text(encoding="utf-8")
        described.write_text(with_version(text, rocketwire.__version__), encoding="utf-8")
        options = ["--pyproject", str(described), "--spec-version", "1.6", "--output-reproducible", "--validate"]
        command = [sys.executable, "-m", "cyclonedx_py", "environment", *options, "-o", str(bill)]
        done = subprocess.run(
            [*command, str(environment / "bin" / "python")],
            env={"SOURCE_DATE_EPOCH": str(epoch)},
            check=False,
            capture_output=True,
            text=True,
        )
    if done.returncode:
        raise ReleaseFailed(f"{bill.name}: {done.stderr.strip()}")


def with_version(pyproject: str, version: str) -> str:
    """The text of pyproject.toml with a version where hatchling is to find one."""
    return re.sub(r'^dynamic = \["version"\]$', f'version = "{version}"', pyproject, flags=re.MULTILINE)
