"""The place of `rocketwire.store.offline` until 0.1.0: its documented modules, with the names that they had."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any, Final

_FORMER: Final[Mapping[str, Mapping[str, str]]] = {
    "read": {},
    "read.by_queue": {},
    "read.config": {"Committed": "CommittedOffset", "Times": "CheckpointTimes", "committed": "committed_offsets"},
    "read.directory": {"Directory": "StoreDirectory", "State": "StoreState", "Strange": "UnexpectedFile"},
    "read.index_files": {"Covered": "IndexedPart"},
    "read.log": {"Block": "RecordBlock", "Log": "CommitLogReader", "LogFile": "LogFileReader", "Place": "RecordPlace"},
    "read.opening": {},
    "read.queues": {"Queue": "QueueReader"},
    "read.salvage": {"Lost": "LostPart", "Tail": "LogFileTail"},
    "read.scan": {"Report": "ReportProblem", "Trouble": "ReadProblem"},
    "read.selected": {"Selected": "SelectedMessage"},
}
"""Of each module, its former names and what they are called now."""


class _Former(ModuleType):
    """A module by its former name."""

    def __init__(self, name: str, module: ModuleType, names: Mapping[str, str]) -> None:
        super().__init__(name, module.__doc__)
        self._module, self._names = module, names

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the module has
        return getattr(self._module, self._names.get(name, name))


for _name, _names in _FORMER.items():
    _full = f"{__name__}.{_name}"
    sys.modules[_full] = _Former(_full, import_module(f"rocketwire.store.offline.{_name}"), _names)
read: Final = sys.modules[f"{__name__}.read"]
