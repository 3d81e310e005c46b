"""The image of `deploy/container`, built as a user builds it, from this repository's sources.

Theory: the parts that change seldom are fetched or made once. The base is the Debian of `image.py`, the packages are
wheels that pip has brought into the cache, and buildah keeps the layers of both; a change of the sources makes a new
wheel and one new layer. The image's tag holds a digest of all that it is made from.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from compat_tests.readme import ROOT
from rocketwire.compat.environment import image
from rocketwire.compat.environment.artifacts import run
from rocketwire.compat.environment.cache import CACHE, cached, locked

CONTAINERFILE: Final = "deploy/container/Containerfile"

# What the wheel is made from; `rocketwire` has links to the other packages.
_SOURCES: Final = (
    *("rocketwire", "compat_tests/catalogue", "wire", "store", "server", "spark"),
    *("pyspark_rocketmq", "kernel"),
)
_BUILDERS: Final = ("pyproject.toml", "README.md", "LICENSE", "tools/build_kernel.py", "tools/hatch_build.py")
_PYTHON: Final = "3.11"  # Debian 12's
_A_DAY: Final = 24 * 60 * 60.0


def server_image() -> str:
    """The image's name; built when missing. Raises ArtifactError."""
    base = image.debian_image("fresh", image.FRESH_PACKAGES)
    wheel, packages = _wheel(), _packages()
    files = sorted(path for path in (ROOT / CONTAINERFILE).parent.iterdir() if path.is_file())
    contents = b"\0".join(path.read_bytes() for path in (*files, ROOT / ".dockerignore"))
    tag = f"localhost/rocketwire-server:{_digest(base, wheel.parent.name, packages.name, contents.hex())}"
    if tag not in _images():
        with locked("server-image"):
            if tag not in _images():  # another test process may have built it meanwhile
                _build(tag, base, wheel, packages)
    return tag


def _images() -> list[str]:
    return run(["podman", "images", "--format", "{{.Repository}}:{{.Tag}}"]).split()


def _build(tag: str, base: str, wheel: Path, packages: Path) -> None:
    """Build the image from a context that has of the repository only what the Containerfile copies."""
    with tempfile.TemporaryDirectory(prefix=".image-", dir=CACHE) as name:
        context = Path(name)
        (context / "dist").mkdir()
        shutil.copy(wheel, context / "dist")
        shutil.copy(ROOT / ".dockerignore", context)
        # Only what the image takes from it: else each change of it would install all packages again.
        (context / "pyproject.toml").write_text(f"[project]\ndependencies = {_dependencies()}\n", "utf-8")
        shutil.copytree((ROOT / CONTAINERFILE).parent, context / "deploy" / "container")
        arguments = (f"BASE={base}", "PIP_FIND_LINKS=/wheels", "PIP_NO_INDEX=1")
        options = [option for each in arguments for option in ("--build-arg", each)]
        options += ["--volume", f"{packages}:/wheels:ro", "--format", "docker", "--layers"]
        bud = ["buildah", "bud", "--isolation", "chroot", *options, "-t", tag]
        run([*bud, "-f", context / CONTAINERFILE, context], timeout=600)


def _wheel() -> Path:
    """The project's wheel with the C kernel, in the cache. Those of other sources are removed after a day."""
    name = f"server-wheel-{_digest(*_source_parts())}"

    def make(target: Path) -> None:
        for old in CACHE.glob("server-wheel-*/"):
            if old.stat().st_mtime < time.time() - _A_DAY:
                shutil.rmtree(old, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix="wheel-") as folder:
            for source in (*_SOURCES, *_BUILDERS):
                _copy(ROOT / source, Path(folder) / source)
            run(
                [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", target],
                cwd=Path(folder),
                env={**os.environ, "ROCKETWIRE_KERNEL": "native"},
            )

    (wheel,) = cached(name, make).glob("*.whl")
    return wheel


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    else:
        shutil.copy(source, target)


def _source_parts() -> Iterator[str]:
    for source in (*_SOURCES, *_BUILDERS):
        place = ROOT / source
        for path in sorted(place.rglob("*")) if place.is_dir() else (place,):
            if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".so":
                yield f"{path.relative_to(ROOT)} {hashlib.sha256(path.read_bytes()).hexdigest()}"


def _packages() -> Path:
    """The wheels of what the project depends on, for the image's Python, in the cache."""
    needed = _dependencies()
    machine = platform.machine()
    platforms = [f"{kind}_{machine}" for kind in ("manylinux_2_28", "manylinux_2_17", "manylinux2014")] + ["any"]
    options = [option for each in platforms for option in ("--platform", each)]
    options += ["--python-version", _PYTHON, "--only-binary", ":all:"]

    def make(target: Path) -> None:
        run([sys.executable, "-m", "pip", "download", "-q", "-d", target, *options, *needed])

    return cached(f"server-packages-{_digest(*options, *needed)}", make)


def _dependencies() -> list[str]:
    found: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    return found


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
