"""What must be true of the files of a release before one of them is installed: their tags, their bytes, their sums."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tools.release.build import ReleaseFailed, ReleaseFile, build, digest

SUMS: Final = "SHA256SUMS"
_MUSL: Final = "libc.so"
"""musl's own name, which its loader knows on every system; auditwheel knows only the name that Alpine gives it."""
_ALWAYS_THERE: Final = frozenset({"libc.so.6", "libpthread.so.0", _MUSL})
"""The libraries that a kernel may be linked to: the C library, whose threads were a separate library."""

_SYSTEMS: Final = b"libnghttp2.so"
"""The name by which a kernel that is not linked with nghttp2 loads it."""


def check_platform(file: ReleaseFile) -> str:
    """Have auditwheel check a wheel's kernel: does it fit every system that the tag promises?

    Returns:
        One line for the user: the tag, and the newest symbol's version that the kernel needs.

    Raises:
        ReleaseFailed: the kernel needs a newer C library, a processor that not all have, or another library.
    """
    # The libraries of this machine prove nothing for others: they are searched where there are none.
    options = ["--json", "--ldpaths", str(file.path.parent.absolute()), str(file.path)]
    command = [sys.executable, "-m", "auditwheel", "show", *options]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise ReleaseFailed(f"{file.path.name}: {done.stderr.strip()}")
    return judged(json.loads(done.stdout), str(file.platform))


def check_linked(file: ReleaseFile) -> None:
    """Check that a wheel's kernel has nghttp2, and the wheel its licence.

    Raises:
        ReleaseFailed: the kernel would load the library of the system, or the licence is missing.
    """
    with zipfile.ZipFile(file.path) as wheel:
        names = wheel.namelist()
        (kernel,) = (wheel.read(name) for name in names if name.endswith(".so"))
    if _SYSTEMS in kernel or not any(name.endswith("/COPYING.nghttp2") for name in names):
        raise ReleaseFailed(f"{file.path.name}: the kernel is not linked with nghttp2")


def judged(found: Mapping[str, Any], platform: str) -> str:
    """Compare auditwheel's JSON with the platform of the wheel's tag; as `check_platform`."""
    tag = found["overall_tag"]
    if platform.startswith("musllinux") and {*found["external_libs"]} == {_MUSL}:
        tag = found["sym_tag"]  # the other one is that of a wheel with an unknown library
    if tag != platform or found["unsupported_isa"]:
        raise ReleaseFailed(f"{found['wheel']}: auditwheel finds {tag}, not {platform}")
    symbols: Mapping[str, Sequence[str]] = found["versioned_symbols"]
    if strange := sorted({*symbols, *found["external_libs"]} - _ALWAYS_THERE):
        raise ReleaseFailed(f"{found['wheel']}: the kernel needs {', '.join(strange)}")
    versions = {version for of_library in symbols.values() for version in of_library}
    newest = max(versions, key=_numbers, default="no symbol with a version")
    return f"{tag}: needs {newest}"


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.rpartition("_")[2].split(".")]


def check_same_bytes(
    files: Sequence[ReleaseFile], root: Path, again: Path, *, epoch: int, platforms: Mapping[str, str], nghttp2: Path
) -> None:
    """Build the release once more into another folder, and compare.

    Raises:
        ReleaseFailed: a file has other bytes, or another name.
    """
    first = {file.path.name: digest(file.path) for file in files}
    built = build(root, again, epoch=epoch, platforms=platforms, nghttp2=nghttp2)
    second = {file.path.name: digest(file.path) for file in built}
    if other := sorted(name for name in first.keys() | second.keys() if first.get(name) != second.get(name)):
        raise ReleaseFailed(f"a second build gives other bytes: {', '.join(other)}")


def write_sums(files: Sequence[Path]) -> Path:
    """Write the SHA-256 of files of one folder beside them, as `sha256sum --check` reads it; return that file."""
    sums = files[0].with_name(SUMS)
    lines = [f"{digest(file)}  {file.name}\n" for file in sorted(files)]
    sums.write_text("".join(lines), encoding="utf-8")
    return sums


def check_sums(sums: Path) -> str:
    """Have sha256sum check the files as a user would; return its output.

    Raises:
        ReleaseFailed: a sum is wrong.
    """
    command = ["sha256sum", "--check", "--strict", sums.name]
    done = subprocess.run(command, cwd=sums.parent, check=False, capture_output=True, text=True)
    if done.returncode:
        raise ReleaseFailed(f"{sums.name}: {done.stdout}{done.stderr}".rstrip())
    return done.stdout
