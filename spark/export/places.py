"""Paths of exported files: in folders that Spark and Hive read as partitions, with the span in the file's name."""

from __future__ import annotations

import hashlib
import re
from typing import Final

from rocketwire.spark.errors import ExportImpossible

#: Characters that Hive escapes in the name of a folder as % and two hexadecimal digits, and Spark unescapes.
_ESCAPED: Final = frozenset("\"#%'*/:=?\\\x7f{[]^") | {chr(code) for code in range(32)}
_ESCAPE: Final = re.compile("%([0-9A-F]{2})")
#: Longest name of a file in bytes.
_LONGEST: Final = 255
#: Spark's name for a null value.
NO_VALUE: Final = "__HIVE_DEFAULT_PARTITION__"


def folder(topic: str, day: str) -> str:
    """The folder of a topic and day, below that of the export.

    Raises:
        ExportImpossible: the topic's name is too long for a folder's.
    """
    name = "topic=" + "".join(f"%{ord(letter):02X}" if letter in _ESCAPED else letter for letter in topic)
    if len(name.encode()) > _LONGEST:
        what = f"topic {topic[:40]}… has a name too long for a folder"
        raise ExportImpossible(what, "Name the other topics with --topic")
    return f"{name}/day={day}"


def values(place: str) -> tuple[str, str | None]:
    """The topic and the day of a file by its place; None for a day that Spark cannot read."""
    topic, day = (part.partition("=")[2] for part in place.split("/")[:2])
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), topic), None if day == NO_VALUE else day


def file_name(broker: str, start: int, end: int, part: int) -> str:
    """The name of a file with the messages of a topic and day from a span of a broker's log, or from a part of it."""
    digest = hashlib.sha256(broker.encode(errors="surrogateescape")).hexdigest()[:12]
    return f"{digest}-{start:020d}-{end:020d}-{part}.parquet"
