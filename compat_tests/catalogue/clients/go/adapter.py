"""The adapter of Apache's Go client, whose programs are one executable."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from rocketwire.compat.clients import sources
from rocketwire.compat.clients.adapter import Adapter, Engine, Security
from rocketwire.compat.environment import artifacts, cache

_RUNNER: Final = Path(__file__).resolve().parent / "runner"
COMMON: Final = (_RUNNER / "request.go", _RUNNER / "runtime.go")
"""Read requests and run programs, of whatever client."""
_PROGRAM: Final = re.compile(r'^\t"(\w+)": +\w+,$', re.MULTILINE)
_BATCH: Final = "it leaves a field of batches empty that brokers need"
_CODE: Final = "it reports a broker's remark, not its code"
_ORDERLY: Final = "it forgets a message whose orderly consumer suspends the queue, until it starts again"
_RETRY_TOPIC: Final = "it reports the group's retry topic as the topic of a retried message"


class GoClient(Adapter):
    """Apache's Go client."""

    id = "go-2.1"
    name = "Apache's Go client"
    version = artifacts.GO_VERSION.removeprefix("v")
    language = "Go"
    programs = frozenset(_PROGRAM.findall((_RUNNER / "main.go").read_text("utf-8")))
    host_needs = ("go",)
    secures = frozenset({Security.ACL})
    lacks = MappingProxyType(
        {
            "push.tags": "it hashes a tag's bytes, brokers its characters: only tags in ASCII match",
            "pull.by-tag": "it pulls from an offset without an expression only",
            "send.batch": _BATCH,
            "send.to-missing-queue": _CODE,
            "send.too-long-for-client": "it does not check a body's length",
            "send.too-long-for-broker": _CODE,
            "filter.tags-of-one-hash-code": "it does not compare the tags of what it pulled",
            "filter.sql-refused": "it does not check the answer to its heartbeat",
            "order.queues-handed-on": "it keeps its locks when it leaves, so that others wait until they end",
            "type.mismatch-refused": _CODE,
            "type.not-checked": _BATCH,
            "retry.comes-again": _RETRY_TOPIC,
            "retry.first-try": _RETRY_TOPIC,
            "retry.orderly": _ORDERLY,
            "retry.orderly-at-least-10-ms": _ORDERLY,
        }
    )

    def prepare(self, engine: Engine) -> None:
        """Build the programs with the go tool."""
        del engine
        executable(_RUNNER, "go")

    def command(self, engine: Engine, *, env: Mapping[str, str], name: str) -> list[str]:
        """The executable."""
        del engine, name
        return ["env", *(f"{key}={value}" for key, value in env.items()), str(executable(_RUNNER, "go"))]


def executable(runner: Path, name: str, *more: Path) -> Path:
    """The executable of the programs in a folder and in `more` files. It has this name in the cache.

    Raises ArtifactError.
    """
    files = [*sources.files_of(runner, (".go", ".mod", ".sum")), *more]
    entry = f"clients/{name}-{sources.digest(files)}"
    return cache.cached(entry, lambda target: _build(runner, more, target)) / "runner"


def _build(runner: Path, more: Sequence[Path], target: Path) -> None:
    """Build it in a copy of its sources, which the go tool must not change."""
    shutil.copytree(runner, target / "sources")
    for path in more:
        shutil.copy(path, target / "sources")
    # Whatever module settings the machine has, the tool is never replaced by another.
    env = {**os.environ, "GOTOOLCHAIN": "local", "GOWORK": "off", "GOFLAGS": "-mod=readonly -trimpath"}
    artifacts.run([artifacts.go(), "build", "-o", target / "runner", "."], cwd=target / "sources", env=env)
    shutil.rmtree(target / "sources")
