"""Building the files of a release: the sdist, and from it one wheel a platform with the C kernel and one without.

Theory: a wheel's kernel is C for the limited API, so it needs no Python of its platform: zig, which PyPI has as a
package, compiles it for any of them on any machine, against the oldest C library that the wheel's tag names. The
headers of the Python that runs this serve for all, since every platform here has the same sizes of types (LP64).
The same sources give the same bytes: hatchling takes times from SOURCE_DATE_EPOCH, and no folder's path is compiled in.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from tools import build_spark_jar

BUILD_SECONDS: Final = 900


def _zig(target: str) -> str:
    return f"{sys.executable} -m ziglang cc -target {target} -s"


PLATFORMS: Final = {
    "manylinux_2_17_x86_64": _zig("x86_64-linux-gnu.2.17"),
    "manylinux_2_17_aarch64": _zig("aarch64-linux-gnu.2.17"),
    "musllinux_1_2_x86_64": _zig("x86_64-linux-musl"),
    "musllinux_1_2_aarch64": _zig("aarch64-linux-musl"),
}
"""The platform of a wheel's tag, and the C compiler for it."""


class ReleaseFailed(Exception):
    """A file of the release does not do what it must."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseFile:
    """An sdist or a wheel.

    Attributes:
        path: Where it is.
        kernel: Which kernel the program has that is installed from it.
        platform: The platform of a wheel with a kernel, from its tag; None: it fits all.
    """

    path: Path
    kernel: Literal["native", "python"]
    platform: str | None = None


def settings_of_the_caller() -> dict[str, str]:
    """The environment without the variables about the kernel."""
    ours = ("ROCKETWIRE_KERNEL", "ROCKETWIRE_NGHTTP2", "ROCKETWIRE_SPARK_JAR", "ROCKETWIRE_WHEEL_PLATFORM")
    return {key: value for key, value in os.environ.items() if key not in ours}


def hatchling(where: Path, *options: str, **environment: str) -> str:
    """Build the project in a folder, with the kernel's variables from `environment`, not the caller's.

    Returns:
        The output for the user.

    Raises:
        subprocess.CalledProcessError: it cannot be built.
    """
    command = [sys.executable, "-m", "hatchling", "build", *options]
    done = subprocess.run(
        command,
        cwd=where,
        env=settings_of_the_caller() | environment,
        check=True,
        capture_output=True,
        text=True,
        timeout=BUILD_SECONDS,
    )
    return done.stdout + done.stderr


def build(
    root: Path, out: Path, *, epoch: int, platforms: Mapping[str, str], nghttp2: Path | None
) -> list[ReleaseFile]:
    """Build the release into a folder, of which everything else is removed.

    Args:
        root: The repository.
        out: The folder.
        epoch: The time that all files get, in seconds since 1970; zip files begin in 1980.
        platforms: Of each wheel with a kernel the platform's tag, and the C compiler.
        nghttp2: The sources of nghttp2, which these kernels are linked with; None: they use the system's library.

    Returns:
        The sdist, the wheels with a kernel, and the wheel without one.

    Raises:
        subprocess.CalledProcessError: one cannot be built; for example, there is no C compiler.
    """
    shutil.rmtree(out, ignore_errors=True)
    time, into = {"SOURCE_DATE_EPOCH": str(epoch)}, ("-d", str(out.absolute()))
    hatchling(root, "-t", "sdist", *into, **time)
    (sdist,) = out.glob("*.tar.gz")
    files = [ReleaseFile(path=sdist, kernel="native")]
    jar = _spark_jar()

    def add_wheel(source: Path, kernel: Literal["native", "python"], platform: str | None, **settings: str) -> None:
        hatchling(source, "-t", "wheel", *into, ROCKETWIRE_KERNEL=kernel, **jar, **settings, **time)
        (wheel,) = set(out.glob("*.whl")) - {file.path for file in files}
        files.append(ReleaseFile(path=wheel, kernel=kernel, platform=platform))

    with tempfile.TemporaryDirectory(prefix="release-") as folder:
        with tarfile.open(sdist) as archive:
            archive.extractall(folder, filter="data")
        source = Path(folder) / sdist.name.removesuffix(".tar.gz")
        for platform, compiler in platforms.items():
            settings = {"ROCKETWIRE_WHEEL_PLATFORM": platform, "CC": compiler}
            if nghttp2 is not None:
                settings["ROCKETWIRE_NGHTTP2"] = str(nghttp2.absolute())
            add_wheel(source, "native", platform, **settings)
        add_wheel(source, "python", None)
    return files


def _spark_jar() -> dict[str, str]:
    """What puts the jar of the Spark data source into a wheel; without Maven a warning, and nothing."""
    try:
        return {"ROCKETWIRE_SPARK_JAR": str(build_spark_jar.build())}
    except build_spark_jar.BuildFailed as failed:
        sys.stderr.write(f"The wheels have no jar for Spark: {failed}\n")
        return {}


def time_of_the_commit(root: Path) -> int:
    """When the last commit of a repository was made, in seconds since 1970; SOURCE_DATE_EPOCH if that is set."""
    if said := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(said)
    command = ["git", "log", "-1", "--format=%ct"]
    return int(subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout)


def digest(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
