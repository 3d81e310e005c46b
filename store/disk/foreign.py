"""Files in a store's folders that no broker made: `lost+found` of a fresh file system, `.DS_Store`, an editor's copies.

Apache's brokers of 5.x skip directories in the folders of the log and of queues. Here every name that no broker gives
is skipped, and one line of the log names what was skipped.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Final

log = logging.getLogger(__name__)

LOST_AND_FOUND: Final = "lost+found"
"""The directory that ext file systems have at their root; its name could be a topic's."""
OFFSET_DIGITS: Final = 20
"""Digits in the name of a file of a row: the offset of its first byte (Apache: UtilAll.offset2FileName)."""
TIME_DIGITS: Final = 17
"""Digits in the name of an index file: when it was made, to the ms (Apache: UtilAll.timeMillisToHumanString)."""
IGNORED_FILE_REMARK: Final = "not a file of a store; ignored"
"""The text by which commands report such a file."""
_MOST_NAMED: Final = 5


def is_number_of(name: str, digits: int) -> bool:
    """Whether a name consists of so many decimal digits, as the names of log files, queue files and index files do."""
    return len(name) == digits and name.isascii() and name.isdigit()


def store_names(directory: str, names: Iterable[str], digits: int) -> list[str]:
    """The names that consist of so many digits; what else is in the directory is logged in one line."""
    found: list[str] = []
    foreign: list[str] = []
    for name in names:
        (found if is_number_of(name, digits) else foreign).append(name)
    log_ignored(directory, foreign)
    return found


def log_ignored(directory: str, names: Sequence[str]) -> None:
    """Log in one line what is ignored in a directory, if anything is."""
    if names:
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        log.warning(
            "%(directory)s: ignored %(names)s: not files of a store",
            {"directory": directory, "names": ", ".join(names[:_MOST_NAMED]) + more},
        )
