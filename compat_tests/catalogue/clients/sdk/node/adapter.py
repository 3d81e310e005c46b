"""The adapter of the client of 5.x for Node.js, `rocketmq-client-nodejs` of npm."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from rocketwire.compat.clients.adapter import Adapter, Engine, Security
from rocketwire.compat.clients.node.adapter import COMMON, installed
from rocketwire.compat.environment import artifacts, cache

_RUNNER: Final = Path(__file__).resolve().parent / "runner"
_PACKAGE: Final = "rocketmq-client-nodejs"
_PROGRAM: Final = re.compile(r"^async function ([A-Z]\w+)\(request\)", re.MULTILINE)

_POLICY: Final = "it reads exponential retry policies only: it tries again every second, in order never"


class NodeSdk(Adapter):
    """Apache's client of 5.x for Node.js."""

    name = "Apache's client of 5.x for Node.js"
    version = json.loads((_RUNNER / "package.json").read_text("utf-8"))["dependencies"][_PACKAGE]
    id = f"node-grpc-{version}"
    language = "JavaScript"
    grpc = True
    programs = frozenset(
        found for path in sorted(_RUNNER.glob("*.js")) for found in _PROGRAM.findall(path.read_text("utf-8"))
    )
    host_needs = ("node", "npm")
    secures = frozenset({Security.ACL})  # with TLS it verifies certificates
    lacks = MappingProxyType(
        {"grpc-push.back-off": _POLICY, "grpc-fifo.failing-keeps-order": _POLICY, "grpc-fifo.given-up": _POLICY}
    )

    def prepare(self, engine: Engine) -> None:
        """Fetch the client with npm, as the lock file pins it."""
        del engine
        installed(_RUNNER, "sdk-node", *COMMON)

    def command(self, engine: Engine, *, env: Mapping[str, str], name: str) -> list[str]:
        """Node with the programs."""
        del engine, name
        home = cache.cached("home", lambda _: None)
        variables = [*(f"{key}={value}" for key, value in env.items()), f"HOME={home}"]
        return ["env", *variables, artifacts.node(), str(installed(_RUNNER, "sdk-node", *COMMON) / "main.js")]
