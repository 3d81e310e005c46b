"""Building the load programs from their sources here, when those have changed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rocketwire.compat.environment import artifacts, cache
from tools import build_kernel

_HERE: Final = Path(__file__).resolve().parent
APACHE_VERSION: Final = "4.9.7"
TIMER_APACHE_VERSION: Final = "5.5.0"  # 4.9.7 has no timer
# gnu11 and _GNU_SOURCE: epoll, memmem.
C_FLAGS: Final = ("-std=gnu11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """The paths of the load programs."""

    load: Path  # the raw load generator
    java: str
    java_classes: Path
    client_jars: Path


def _digest(files: list[Path]) -> str:
    return hashlib.sha256(b"".join(file.name.encode() + file.read_bytes() for file in files)).hexdigest()[:12]


def build_load() -> Path:
    """The raw load generator's executable. Raises ArtifactError with the compiler's first complaint."""
    files = sorted((_HERE / "load").glob("*.[ch]"))
    sources = [file for file in files if file.suffix == ".c"]

    def compile_into(target: Path) -> None:
        artifacts.ensure_programs({"cc": "build-essential"})
        artifacts.run(["cc", *C_FLAGS, "-o", target / "load", *sources])

    return cache.cached(f"bench/load-{_digest(files)}", compile_into) / "load"


def build_java(client_jars: Path) -> Path:
    """The directory of the Java benchmark's classes.

    Raises ArtifactError with the compiler's first complaint.
    """
    sources = sorted((_HERE / "java").glob("*.java"))

    def compile_into(target: Path) -> None:
        command = [
            artifacts.javac(),
            "-nowarn",
            "-encoding",
            "UTF-8",
            "-cp",
            artifacts.classpath(client_jars),
        ]
        artifacts.run([*command, "-d", target, *sources])

    return cache.cached(f"bench/java-{_digest(sources)}", compile_into)


def build_server() -> None:
    """Bring this tree's kernel up to date: an older one may not fit the Python beside it. Raises ArtifactError."""
    try:
        build_kernel.build()
    except build_kernel.BuildFailed as failed:
        raise artifacts.ArtifactError(f"no kernel: {str(failed).splitlines()[0]}") from failed


def build() -> Tools:
    """Fetch and build what drives the servers, and our server's kernel. Raises ArtifactError."""
    build_server()
    jars = artifacts.jars(APACHE_VERSION, kind="client")
    return Tools(load=build_load(), java=artifacts.java(), java_classes=build_java(jars), client_jars=jars)
