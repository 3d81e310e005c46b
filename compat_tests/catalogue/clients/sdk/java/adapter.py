"""The adapter of the Java client of 5.x: one instance a version."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from rocketwire.compat.clients.adapter import Security
from rocketwire.compat.clients.java import build
from rocketwire.compat.clients.java.adapter import programs_of
from rocketwire.compat.clients.maven import MavenClient
from rocketwire.compat.environment import artifacts

VERSIONS: Final = ("5.0.7", "5.2.0")
_COMMON: Final = ("Runner", "Request", "Lines", "Bodies")
_WITH_RECALL: Final = "5.0.8"


class JavaSdk(MavenClient):
    """Apache's Java client of 5.x, `rocketmq-client-java`."""

    name = "Apache's Java client of 5.x"
    grpc = True
    folder = Path(__file__).resolve().parent
    settings = MappingProxyType({})

    def __init__(self, version: str) -> None:
        """Take the version, one of `VERSIONS`."""
        self.id = f"java-grpc-{version}"
        self.version = version
        self.programs = programs_of(self._own())

    def environment(self, security: frozenset[Security]) -> dict[str, str]:
        """What has it encrypt; any certificate will do."""
        return {"COMPAT_TLS": "1"} if Security.TLS in security else {}

    def _jars(self) -> Path:
        return artifacts.jars(self.version, kind="sdk")

    def _own(self) -> list[Path]:
        folders = ("common", "with-recall" if self.version >= _WITH_RECALL else "without-recall")
        return [path for each in folders for path in sorted((self.folder / "sources" / each).glob("*.java"))]

    def _sources(self) -> Sequence[Path]:
        return [*(build.SOURCES / "common" / f"{name}.java" for name in _COMMON), *self._own()]
