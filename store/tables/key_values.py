"""config/kvConfig.json: the name server's key-value configuration, in the format of Apache's name server.

Apache keeps the file in the home directory of the name server's user; here it is in the store.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Final

from rocketwire.store.disk.files import FileSystem
from rocketwire.store.tables import config
from rocketwire.wire.bodies.fastjson import encode_in_steps, loads
from rocketwire.wire.errors import BodyInvalid

_TABLE: Final = "configTable"


class KeyValueFile:
    """One such file."""

    def __init__(self, path: str | Path, files: FileSystem | None = None) -> None:
        self._path = str(path)
        self._files = files or FileSystem()

    def load(self) -> dict[str, dict[str, str]]:
        """Values by namespace and key; empty when there is no file.

        Raises:
            ConfigInvalid: the file and its .bak are unreadable.
        """
        return config.load(self._path, self._files, _decode) or {}

    def encode(self, tables: dict[str, dict[str, str]]) -> Generator[None, None, bytes]:
        """Encode the file's text, in steps between which values may change: each has its value of some moment."""
        return encode_in_steps({_TABLE: tables})

    def write(self, text: bytes) -> None:
        """Replace the file's text. Blocking; safe in a thread.

        Raises:
            StoreNotWritable: it could not be written.
        """
        config.save(self._path, self._files, text)


def _decode(data: bytes) -> dict[str, dict[str, str]]:
    document = loads(data)
    tables = document.get(_TABLE, {}) if isinstance(document, dict) else None
    if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
        raise BodyInvalid("it holds no configuration table")
    return {str(name): {str(key): str(value) for key, value in table.items()} for name, table in tables.items()}
