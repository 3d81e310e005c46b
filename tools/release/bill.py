"""The bill of materials (SBOM) of a release: rocketwire and every package installed with it, in CycloneDX's JSON.

The kernel has no code of others but nghttp2's, and no library but the C library of the system; so the packages and
nghttp2 are all there is.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import rocketwire
from tools.release import nghttp2
from tools.release.build import ReleaseFailed


def write_bill(environment: Path, root: Path, bill: Path, *, epoch: int) -> None:
    """Write what is installed in a virtual environment; the file is checked against CycloneDX's schema.

    Args:
        environment: It has rocketwire, what it needs, and nothing else.
        root: The repository, whose pyproject.toml describes rocketwire.
        bill: The file to write.
        epoch: Its time, in seconds since 1970.

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
    text = json.dumps(with_nghttp2(json.loads(bill.read_text(encoding="utf-8"))), indent=2, ensure_ascii=False) + "\n"
    check_schema(text, bill.name)
    bill.write_text(text, encoding="utf-8")


def with_nghttp2(bill: dict[str, Any]) -> dict[str, Any]:
    """A bill of materials in JSON with the library that the kernel is linked with, as a part of rocketwire."""
    reference = f"nghttp2=={nghttp2.VERSION}"
    component = {
        "bom-ref": reference,
        "type": "library",
        "name": "nghttp2",
        "version": nghttp2.VERSION,
        "description": "HTTP/2 library in C, linked with the kernels of the wheels",
        "licenses": [{"license": {"id": "MIT"}}],
        "cpe": f"cpe:2.3:a:nghttp2:nghttp2:{nghttp2.VERSION}:*:*:*:*:*:*:*",
    }
    ours = bill["metadata"]["component"]["bom-ref"]
    dependencies = [
        {**each, "dependsOn": sorted([*each.get("dependsOn", ()), reference])} if each["ref"] == ours else each
        for each in bill["dependencies"]
    ]
    return {
        **bill,
        "components": [*bill["components"], component],
        "dependencies": [*dependencies, {"ref": reference}],
    }


def check_schema(text: str, name: str) -> None:
    """Compare a bill of materials with CycloneDX's schema.

    Raises:
        ReleaseFailed: it is against it.
    """
    from cyclonedx.schema import SchemaVersion  # noqa: PLC0415 - only the environment of releases has it
    from cyclonedx.validation.json import JsonStrictValidator  # noqa: PLC0415 - as above

    if error := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        raise ReleaseFailed(f"{name}: {error}")


def with_version(pyproject: str, version: str) -> str:
    """The text of pyproject.toml with a version where hatchling is to find one."""
    return re.sub(r'^dynamic = \["version"\]$', f'version = "{version}"', pyproject, flags=re.MULTILINE)
