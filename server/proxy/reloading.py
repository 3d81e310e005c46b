"""The configuration file of a proxy, read again when it changes: connections stay."""

from __future__ import annotations

import logging
from typing import Final

import trio

from rocketwire.server.config.java_properties import JavaPropertiesInvalid, parse_java_properties
from rocketwire.server.config.keys import ConfigError, format_value
from rocketwire.server.configuration import KEYS, LiveConfig, read_settings
from rocketwire.server.core.threads import RunSync
from rocketwire.store.disk.files import FileSystem

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 1.0


class ConfigurationReloader:
    """Puts the keys of a file in force when it changes, those that may change while the proxy runs.

    Args:
        path: The file.
        files: Where it is.
        live: The configuration in force.
        fixed: Keys that were given otherwise, which count before those of the file.
        run_sync: Reads the file.
    """

    def __init__(
        self, path: str, files: FileSystem, live: LiveConfig, *, fixed: frozenset[str], run_sync: RunSync
    ) -> None:
        self._path = path
        self._files = files
        self._live = live
        self._fixed = fixed
        self._run_sync = run_sync
        self._text: bytes | None = None

    async def run(self) -> None:
        """Check the file at intervals; never returns."""
        while True:
            await self.look()
            await trio.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        """Read the file; put it in force if it has changed since the last time."""
        try:
            text = await self._run_sync(self._files.read, self._path)
        except OSError as error:
            text = None
            if self._text is not None:
                log.warning(
                    "-c %(file)s cannot be read; its keys stay: %(reason)s",
                    {"file": self._path, "reason": error.strerror},
                )
        former, self._text = self._text, text
        if former is None or text is None or text == former:
            return
        try:
            self._apply(text)
        except (ConfigError, JavaPropertiesInvalid, UnicodeDecodeError) as error:
            log.warning("-c %(file)s is not put in force: %(reason)s", {"file": self._path, "reason": error})

    def _apply(self, text: bytes) -> None:
        config, _ = read_settings(parse_java_properties(text.decode()))
        changes = {
            key.name: format_value(wanted)
            for key in KEYS
            if key.online
            and (wanted := config.value(key)) != self._live.current.value(key)
            and not self._fixed & {key.name, *key.aliases}
        }
        if changes:
            self._live.update(changes)
            log.info("changed by -c %(file)s: %(keys)s", {"file": self._path, "keys": ", ".join(sorted(changes))})
