"""Building the load programs from their sources here, when those have changed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rocketwire.compat.environment import artifacts, cache
from tools import build_kernel

_HERE: Final = Path(__file__).resolve().parent
APACHE_VERSION: Final = "4.9.7"
TIMER_APACHE_VERSION: Final = "5.5.0"  # 4.9.7 has no timer
PROXY_VERSION: Final = "5.5.0"
SDK_VERSION: Final = "5.2.0"  # of the Java client of 5.x
# What the load programs for 5.x share with the others.
_SHARED_C: Final = ("connection", "answer", "measure", "command_line")
_SHARED_JAVA: Final = ("Latencies", "Orders", "Result", "Settings", "Timed")
_FACTS: Final = build_kernel.SOURCES / "core" / "facts.h"  # the protocol's constants, which both include
# gnu11 and _GNU_SOURCE: epoll, memmem.
C_FLAGS: Final = ("-std=gnu11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror")


@dataclass(frozen=True, slots=True, kw_only=True)
class JavaProgram:
    """A benchmark of an official client: its compiled classes, the jars it needs, and its main class."""

    java: str
    classes: Path
    jars: Path
    main: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """The load programs."""

    load: Path  # the raw load generator
    client: JavaProgram


@dataclass(frozen=True, slots=True, kw_only=True)
class GrpcTools:
    """The load programs for the protocol of 5.x."""

    load: Path
    sdk: JavaProgram


def _digest(files: Sequence[Path]) -> str:
    return hashlib.sha256(b"".join(file.name.encode() + file.read_bytes() for file in files)).hexdigest()[:12]


def build_load() -> Path:
    """The raw load generator's executable. Raises ArtifactError with the compiler's first complaint."""
    return _build_c("load", sorted((_HERE / "load").glob("*.[ch]")))


def build_grpc_load() -> Path:
    """The same for the protocol of 5.x; it shares some of the other's files."""
    shared = [_HERE / "load" / f"{name}.{kind}" for name in _SHARED_C for kind in "ch"]
    return _build_c("load-grpc", [*sorted((_HERE / "load_grpc").glob("*.[ch]")), *shared])


def _build_c(name: str, files: Sequence[Path]) -> Path:
    sources = [file for file in files if file.suffix == ".c"]

    def compile_into(target: Path) -> None:
        artifacts.ensure_programs({"cc": "build-essential"})
        artifacts.run(
            ["cc", *C_FLAGS, "-I", _HERE / "load", "-iquote", build_kernel.SOURCES, "-o", target / "load", *sources]
        )

    return cache.cached(f"bench/{name}-{_digest([*files, _FACTS])}", compile_into) / "load"


def build_java(client_jars: Path) -> Path:
    """The directory of the Java benchmark's classes.

    Raises ArtifactError with the compiler's first complaint.
    """
    return _build_java("java", sorted((_HERE / "java").glob("*.java")), client_jars)


def build_sdk(jars: Path) -> Path:
    """The same for the Java client of 5.x; it shares some of the other's files."""
    shared = [_HERE / "java" / f"{name}.java" for name in _SHARED_JAVA]
    return _build_java("sdk", [*sorted((_HERE / "java_sdk").glob("*.java")), *shared], jars)


def _build_java(name: str, sources: Sequence[Path], jars: Path) -> Path:

    def compile_into(target: Path) -> None:
        command = [
            artifacts.javac(),
            "-nowarn",
            "-encoding",
            "UTF-8",
            "-cp",
            artifacts.classpath(jars),
        ]
        artifacts.run([*command, "-d", target, *sources])

    return cache.cached(f"bench/{name}-{_digest(sources)}", compile_into)


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
    client = JavaProgram(java=artifacts.java(), classes=build_java(jars), jars=jars, main="Bench")
    return Tools(load=build_load(), client=client)


def build_grpc() -> GrpcTools:
    """The same for what drives the fronts for 5.x. Raises ArtifactError."""
    artifacts.fetch_jars([("proxy", PROXY_VERSION), ("sdk", SDK_VERSION)])
    jars = artifacts.jars(SDK_VERSION, kind="sdk")
    sdk = JavaProgram(java=artifacts.java(), classes=build_sdk(jars), jars=jars, main="SdkBench")
    return GrpcTools(load=build_grpc_load(), sdk=sdk)
