"""The adapter of the Rust client of 5.x, whose programs are one executable."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from rocketwire.compat.clients import sources
from rocketwire.compat.clients.adapter import Adapter, Engine, Security
from rocketwire.compat.environment import artifacts, cache

_RUNNER: Final = Path(__file__).resolve().parent / "runner"
_PROGRAM: Final = re.compile(r'^        "(\w+)" => ', re.MULTILINE)
_VERSION: Final = re.compile(r'^rocketmq = "=(\S+)"$', re.MULTILINE)


class RustSdk(Adapter):
    """Apache's Rust client of 5.x, the crate `rocketmq`."""

    name = "Apache's Rust client of 5.x"
    version = _VERSION.findall((_RUNNER / "Cargo.toml").read_text("utf-8"))[0]
    id = f"rust-grpc-{version}"
    language = "Rust"
    grpc = True
    programs = frozenset(_PROGRAM.findall((_RUNNER / "src" / "main.rs").read_text("utf-8")))
    host_needs = ("cargo",)
    secures = frozenset({Security.ACL})  # with TLS it verifies certificates
    lacks = MappingProxyType({})

    def prepare(self, engine: Engine) -> None:
        """Build the programs with cargo, as the lock file pins the crates."""
        del engine
        _executable()

    def command(self, engine: Engine, *, env: Mapping[str, str], name: str) -> list[str]:
        """The executable."""
        del engine, name
        return ["env", *(f"{key}={value}" for key, value in env.items()), str(_executable())]


def _executable() -> Path:
    files = sources.files_of(_RUNNER, (".rs", ".toml", ".lock"))
    return cache.cached(f"clients/sdk-rust-{sources.digest(files)}", _build) / "runner"


def _build(target: Path) -> None:
    """Build it in a copy of its sources: cargo writes beside them."""
    shutil.copytree(_RUNNER, target / "sources")
    env = {**os.environ, "CARGO_TARGET_DIR": str(target / "built")}
    artifacts.run([artifacts.cargo(), "build", "--quiet", "--locked"], cwd=target / "sources", env=env, timeout=1800)
    shutil.move(target / "built" / "debug" / "runner", target / "runner")
    for folder in ("sources", "built"):
        shutil.rmtree(target / folder)
