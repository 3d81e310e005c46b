"""The adapter of rocketwire's own client, `rocketwire.remoting`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import rocketwire
from rocketwire.compat.clients.adapter import Adapter, Engine, Security
from rocketwire.compat.clients.python.programs import PROGRAMS

_FLAGS: Final = "its messages have no flag, and always wait until they are stored"
_NOT_ORDERLY: Final = "it has no orderly consumer"


class PythonClient(Adapter):
    """`rocketwire.remoting`, the blocking front end."""

    id = "python"
    name = "rocketwire.remoting"
    version = rocketwire.__version__
    language = "Python"
    programs = frozenset(PROGRAMS)
    secures = frozenset({Security.ACL})
    lacks = MappingProxyType(
        {
            "send.sync": _FLAGS,
            "send.to-missing-queue": "it refuses a queue that the topic lacks itself, without a code",
            "send.too-long-for-client": "it refuses with another error, without a code",
            "send.compressed": "it compresses no bodies",
            "retry.not-of-broadcast": "it does not broadcast",
            "retry.orderly": _NOT_ORDERLY,
            "retry.orderly-at-least-10-ms": _NOT_ORDERLY,
        }
    )

    def prepare(self, engine: Engine) -> None:
        """Nothing: it is a part of rocketwire."""

    def command(self, engine: Engine, *, env: Mapping[str, str], name: str) -> list[str]:
        """Python with the programs."""
        del engine, name
        variables = [f"{key}={value}" for key, value in env.items()]
        return ["env", *variables, sys.executable, "-m", "rocketwire.compat.clients.python.runner"]
