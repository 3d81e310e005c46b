"""The adapter of the client for Node.js, `ali-ons` of npm."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from rocketwire.compat.clients import sources
from rocketwire.compat.clients.adapter import Adapter, Engine, Security
from rocketwire.compat.environment import artifacts, cache

_RUNNER: Final = Path(__file__).resolve().parent / "runner"
COMMON: Final = (_RUNNER / "request.js", _RUNNER / "runtime.js")
"""Read requests and run programs, of whatever client."""
_PACKAGE: Final = "ali-ons"
_NO_LENGTH: Final = "it does not check a body's length"


class NodeClient(Adapter):
    """`ali-ons`, the client for Node.js."""

    id = "node"
    name = "ali-ons for Node.js"
    version = json.loads((_RUNNER / "package.json").read_text("utf-8"))["dependencies"][_PACKAGE]
    language = "JavaScript"
    programs = frozenset(
        {
            "SendSync",
            "SendAsync",
            "PushConcurrent",
            "PushBroadcast",
            "PushFailing",
            "PushSql",
            "PushWhileSending",
        }
    )
    host_needs = ("node", "npm")
    secures = frozenset({Security.ACL})
    lacks = MappingProxyType(
        {
            "send.auto-created-topic": "it sends to existing topics only",
            "send.too-long-for-client": _NO_LENGTH,
            "retry.comes-again": "it requests no delay level",
            "filter.sql-refused": "it continues when the broker refuses its expression",
            "retry.orderly": "it has no orderly consumer",
            "retry.orderly-at-least-10-ms": "it has no orderly consumer",
        }
    )

    def prepare(self, engine: Engine) -> None:
        """Fetch the client with npm, as the lock file pins it."""
        del engine
        installed(_RUNNER, "node")

    def command(self, engine: Engine, *, env: Mapping[str, str], name: str) -> list[str]:
        """Node with the programs."""
        del engine, name
        variables = [f"{key}={value}" for key, value in env.items()]
        return ["env", *variables, artifacts.node(), str(installed(_RUNNER, "node") / "main.js")]


def installed(runner: Path, name: str, *more: Path) -> Path:
    """The folder of the programs in a folder and in `more` files, with the client among its node_modules.

    It has this name in the cache. Raises ArtifactError.
    """
    files = [*sources.files_of(runner, (".js", ".json")), *more]
    return cache.cached(f"clients/{name}-{sources.digest(files)}", lambda target: _install(runner, more, target))


def _install(runner: Path, more: Sequence[Path], target: Path) -> None:
    shutil.copytree(runner, target, dirs_exist_ok=True)
    for path in more:
        shutil.copy(path, target)
    quiet = ["--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund"]
    artifacts.run([artifacts.npm(), "ci", *quiet], cwd=target)
