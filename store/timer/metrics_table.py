"""config/timermetrics of 5.x: how many messages of each topic wait for their time, and when that changed last.

The file is written for other readers; the broker itself uses the counts of the timer index.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any, Final

from rocketwire.store.disk.files import FileSystem
from rocketwire.store.tables import config
from rocketwire.store.tables.saved_table import SavedTable
from rocketwire.wire.bodies.fastjson import dumps, encode_in_steps, loads
from rocketwire.wire.errors import BodyInvalid

_VERSION: Final = "dataVersion"
_TABLE: Final = "timingCount"
_STATE_VERSION: Final = "stateVersion"
_COUNTER: Final = "counter"
_COUNT: Final = "count"
_TIME: Final = "timeStamp"
_MODIFIED: Final = "timestamp"


class TimerMetricsTable(SavedTable):
    """Counts by topic."""

    def __init__(self, path: str, files: FileSystem) -> None:
        super().__init__(path, files)
        document = config.load(path, files, _decode) or {}
        self._version: dict[str, int] = document.get(_VERSION, {})
        self._counts: dict[str, dict[str, int]] = document.get(_TABLE, {})

    def put(self, counts: Mapping[str, int], now: int) -> None:
        """Set how many messages of each topic wait, at a time in ms; a topic that is not named has none."""
        changed = {
            topic: count
            for topic, count in {**dict.fromkeys(self._counts, 0), **counts}.items()
            if self.count(topic) != count
        }
        if not changed:
            return
        for topic, count in changed.items():
            self._counts[topic] = {_COUNT: count, _TIME: now}
        self._version = {
            _COUNTER: self._version.get(_COUNTER, 0) + 1,
            _STATE_VERSION: self._version.get(_STATE_VERSION, 0),
            _MODIFIED: now,
        }
        self._changed()

    def count(self, topic: str) -> int:
        """How many messages of a topic waited at the last `put`."""
        return self._counts.get(topic, {}).get(_COUNT, 0)

    def text(self) -> bytes:
        """The whole table, as JSON on one line."""
        return dumps(self._document())

    def _text(self) -> Generator[None, None, bytes]:
        return encode_in_steps(self._document(), pretty=False)

    def _document(self) -> dict[str, Any]:
        return {_VERSION: self._version, _TABLE: self._counts}


def _decode(data: bytes) -> dict[str, Any]:
    document = loads(data)
    if not isinstance(document, dict):
        raise BodyInvalid("it holds no counts")
    version, table = document.get(_VERSION, {}), document.get(_TABLE, {})
    if not isinstance(version, dict) or not isinstance(table, dict) or not all(map(_is_count, table.values())):
        raise BodyInvalid("it holds no counts")
    return {_VERSION: {name: value for name, value in version.items() if isinstance(value, int)}, _TABLE: table}


def _is_count(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(value.get(name), int) for name in (_COUNT, _TIME))
