"""config/messageRequestMode.json of 5.x: which groups pop a topic's messages instead of pulling them."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Final

from rocketwire.store.disk.files import FileSystem
from rocketwire.store.tables.saved_table import SavedTable
from rocketwire.store.tables.unknown_fields import load_body
from rocketwire.wire.bodies._shapes import to_builtins
from rocketwire.wire.bodies.assignment import MessageRequestModes, SetMessageRequestModeRequestBody
from rocketwire.wire.bodies.fastjson import encode_in_steps

_TABLE: Final = "messageRequestModeMap"


class RequestModeTable(SavedTable):
    """Modes by (topic, group)."""

    def __init__(self, path: str, files: FileSystem) -> None:
        super().__init__(path, files)
        saved, self._unknown = load_body(path, files, MessageRequestModes)
        self._topics = {topic: dict(groups) for topic, groups in saved.message_request_mode_map.items()}

    def get(self, topic: str, group: str) -> SetMessageRequestModeRequestBody | None:
        """How a group requests a topic's messages, None when it is not set."""
        return self._topics.get(topic, {}).get(group)

    def put(self, mode: SetMessageRequestModeRequestBody) -> None:
        """Set how a group requests a topic's messages."""
        groups = self._topics.setdefault(mode.topic, {})
        if groups.get(mode.consumer_group) != mode:
            groups[mode.consumer_group] = mode
            self._changed()

    def __len__(self) -> int:
        return sum(map(len, self._topics.values()))

    @property
    def modes(self) -> MessageRequestModes:
        """The whole table as it is now."""
        return MessageRequestModes(
            message_request_mode_map={topic: dict(groups) for topic, groups in self._topics.items()}
        )

    def _document(self) -> dict[str, Any]:
        if not self._unknown:  # then each is encoded alone, step by step
            return {_TABLE: self._topics}
        return self._unknown.restore(to_builtins(self.modes))

    def _text(self) -> Generator[None, None, bytes]:
        return encode_in_steps(self._document(), newer=True)
