"""The adapter of the Go client of 5.x, whose programs are one executable."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from rocketwire.compat.clients.adapter import Adapter, Engine, Security
from rocketwire.compat.clients.go.adapter import COMMON, executable
from rocketwire.compat.environment import cache

_RUNNER: Final = Path(__file__).resolve().parent / "runner"
_PROGRAM: Final = re.compile(r'^\t"(\w+)": +\w+,$', re.MULTILINE)
_VERSION: Final = re.compile(r"rocketmq-clients/golang/v5 v(\S+)$", re.MULTILINE)

_CONTINUES: Final = "it continues with a message group while one of its messages waits to be tried again"

_STILL_ANSWERS: Final = "a producer that it has stopped still answers checks"


class GoSdk(Adapter):
    """Apache's Go client of 5.x, the module `github.com/apache/rocketmq-clients/golang/v5`."""

    name = "Apache's Go client of 5.x"
    version = _VERSION.findall((_RUNNER / "go.mod").read_text("utf-8"))[0]
    id = f"go-grpc-{version}"
    language = "Go"
    grpc = True
    programs = frozenset(_PROGRAM.findall((_RUNNER / "main.go").read_text("utf-8")))
    host_needs = ("go",)
    secures = frozenset({Security.TLS, Security.ACL})
    lacks = MappingProxyType(
        {
            "grpc-simple.late-acknowledgement": "it does not check the answer to an acknowledgement",
            "grpc-fifo.failing-keeps-order": _CONTINUES,
            "grpc-fifo.given-up": _CONTINUES,
            "grpc-transaction.another-producer": _STILL_ANSWERS,
            "grpc-mixed.transaction-checked-by-4": _STILL_ANSWERS,
        }
    )

    def prepare(self, engine: Engine) -> None:
        """Build the programs with the go tool."""
        del engine
        executable(_RUNNER, "sdk-go", *COMMON)

    def command(self, engine: Engine, *, env: Mapping[str, str], name: str) -> list[str]:
        """The executable."""
        del engine, name
        logs = cache.cached("home", lambda _: None) / "logs"
        variables = [f"{key}={value}" for key, value in env.items()]
        return ["env", *variables, f"rocketmq.client.logRoot={logs}", str(executable(_RUNNER, "sdk-go", *COMMON))]

    def environment(self, security: frozenset[Security]) -> dict[str, str]:
        """What has it encrypt; any certificate will do."""
        return {"COMPAT_TLS": "1"} if Security.TLS in security else {}
