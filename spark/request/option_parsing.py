"""Parses the options of Spark, texts with case-insensitive names, into those of a read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from pyspark.sql.types import StringType, StructType

from rocketwire.spark.errors import OptionInvalid
from rocketwire.spark.files.far import PREFETCH
from rocketwire.spark.request import values
from rocketwire.spark.request.options import DamageMode, ReadOptions
from rocketwire.spark.request.values import RequestedOffsets
from rocketwire.spark.schema import COLUMNS, CORRUPT_RECORD, DEFAULT_COLUMNS
from rocketwire.wire.java import INT32_MAX

#: Every option that a read may have, as documentation spells them.
NAMES: Final = (
    "path",
    "paths",
    "namesrv",
    "table",
    "topic",
    "topics",
    "topicPattern",
    "queues",
    "startingOffsets",
    "endingOffsets",
    "startingTimestamp",
    "endingTimestamp",
    "columns",
    "columnCache",
    "pushFilters",
    "includeSystemTopics",
    "minPartitions",
    "maxBytesPerPartition",
    "maxOffsetsPerTrigger",
    "maxBytesPerTrigger",
    "mode",
    "failOnDataLoss",
    "decompress",
    "verifyChecksums",
    "brokers",
    "prefetchBytes",
    # Of endpoints alone: spark/endpoint reads them.
    "accessKey",
    "secretKey",
    "endpointTimeoutMs",
    "consumerGroup",
)
MESSAGES: Final = "messages"
TABLES: Final = (MESSAGES, "queues", "counts")
_FILES_PREFIX: Final = "fs."
#: Options that Spark passes to each source.
_OF_SPARK: Final = ("__", "spark.")
_LEAST_BYTES: Final = 1 << 10


def read_options(options: Mapping[str, str]) -> ReadOptions:
    """The options of a read, of messages from stores or from an endpoint.

    Raises:
        OptionInvalid: an option is unknown, missing or contradicts another, or a value is invalid.
    """
    given = _known(options)
    paths, namesrv = _paths(given), given.get("namesrv", "").strip()
    if bool(paths) == bool(namesrv):
        what = "both options path and namesrv are given" if paths else "neither option path nor namesrv is given"
        raise OptionInvalid(what, "Give load() the directory of a store, or the option namesrv for a running endpoint")
    pattern = given.get("topicPattern")
    topics = tuple(name for key in ("topic", "topics") if key in given for name in values.words(key, given[key]))
    if pattern is not None:
        _check_pattern(pattern, given)
    since = values.moment("startingTimestamp", given["startingTimestamp"]) if "startingTimestamp" in given else None
    until = values.moment("endingTimestamp", given["endingTimestamp"]) if "endingTimestamp" in given else None
    return ReadOptions(
        paths=paths,
        namesrv=namesrv,
        topics=tuple(dict.fromkeys(topics)),
        topic_pattern=pattern,
        queues=_queues(given),
        starting_offsets=_offsets(given, "startingOffsets"),
        ending_offsets=_offsets(given, "endingOffsets"),
        starting_timestamp=since,
        ending_timestamp=until,
        columns=_columns(given.get("columns")),
        push_filters=_boolean(given, "pushFilters", default=False),
        include_system_topics=_boolean(given, "includeSystemTopics", default=False),
        min_partitions=values.whole("minPartitions", given.get("minPartitions", "1"), least=1, most=1 << 20),
        max_bytes_per_partition=max(
            _LEAST_BYTES, values.size("maxBytesPerPartition", given.get("maxBytesPerPartition", "128m"))
        ),
        max_offsets_per_trigger=(
            values.whole("maxOffsetsPerTrigger", given["maxOffsetsPerTrigger"], least=1)
            if "maxOffsetsPerTrigger" in given
            else None
        ),
        max_bytes_per_trigger=(
            values.size("maxBytesPerTrigger", given["maxBytesPerTrigger"]) if "maxBytesPerTrigger" in given else None
        ),
        column_cache=values.words("columnCache", given["columnCache"]) if "columnCache" in given else (),
        mode=_mode(given.get("mode", DamageMode.PERMISSIVE.name)),
        fail_on_data_loss=_boolean(given, "failOnDataLoss", default=True),
        decompress=_boolean(given, "decompress", default=True),
        verify_checksums=_boolean(given, "verifyChecksums", default=True),
        brokers=values.names_of_brokers("brokers", given["brokers"]) if "brokers" in given else {},
        files={name[len(_FILES_PREFIX) :]: text for name, text in given.items() if name.startswith(_FILES_PREFIX)},
        prefetch_bytes=values.size("prefetchBytes", given["prefetchBytes"]) if "prefetchBytes" in given else PREFETCH,
    )


def options_for(options: Mapping[str, str], schema: StructType) -> ReadOptions:
    """The options of a read whose columns are those of a schema: the source's own, or one that the user gave.

    Raises:
        OptionInvalid: as `read_options`; or the schema has a column that does not exist, not of that type or not
            nullable, or has one twice.
    """
    found = read_options(options)
    for column in schema.fields:
        known = COLUMNS.get(column.name) if column.name != CORRUPT_RECORD else StringType()
        if known is None:
            hint = values.nearest(column.name, list(COLUMNS)) or f"The columns are {', '.join(COLUMNS)}"
            raise OptionInvalid(f"there is no column {column.name}, which schema() names", hint.strip())
        if column.dataType != known:
            what = f"column {column.name} cannot be {column.dataType.simpleString()}, as schema() has it"
            raise OptionInvalid(what, f"It is {known.simpleString()}; use the option columns instead of schema()")
        if not column.nullable:
            what = f"column {column.name} cannot be NOT NULL, as schema() has it: damaged records have nulls"
            raise OptionInvalid(what, "Let it be nullable, or use the option columns instead of schema()")
    twice = next((name for name in schema.names if schema.names.count(name) > 1), None)
    if twice is not None:
        raise OptionInvalid(f"schema() names the column {twice} twice", "Name each column once")
    return replace(found, columns=tuple(schema.names))


def stream_options_for(options: Mapping[str, str], schema: StructType) -> ReadOptions:
    """The options of a stream, as `options_for`.

    Raises:
        OptionInvalid: as `options_for`; or an option has an end, or selects a table other than messages.
    """
    table = requested_table(options)
    if table != MESSAGES:
        raise OptionInvalid(f"table={table} cannot be read as a stream", "Use spark.read in place of readStream")
    found = options_for(options, schema)
    for name, given in (("endingOffsets", found.ending_offsets), ("endingTimestamp", found.ending_timestamp)):
        if given is not None:
            raise OptionInvalid(
                f"a stream has no option {name}", "Leave it out, or use spark.read in place of readStream"
            )
    return found


def requested_table(options: Mapping[str, str]) -> str:
    """What the option `table` selects, one of `TABLES`: a row per message, per queue, or counts of messages.

    Raises:
        OptionInvalid: it has another value.
    """
    given = values.text_of(options, "table")
    text = MESSAGES if given is None else given
    found = text.strip().lower()
    if found not in TABLES:
        values.invalid("table", text, f"It is {', '.join(TABLES[:-1])} or {TABLES[-1]}")
    return found


def is_of_endpoint(options: Mapping[str, str]) -> bool:
    """Whether messages come from a running endpoint, not from stores."""
    return any(name.lower() == "namesrv" and text.strip() for name, text in options.items())


def _known(options: Mapping[str, str]) -> dict[str, str]:
    """The options by their documented names."""
    proper = {name.lower(): name for name in NAMES}
    given: dict[str, str] = {}
    for name, text in options.items():
        lower = name.lower()
        if lower.startswith(_FILES_PREFIX):
            given[lower] = text
        elif lower in proper:
            given[proper[lower]] = text
        elif not lower.startswith(_OF_SPARK):
            hint = values.nearest(name, NAMES) or "docs/spark.md lists the options"
            raise OptionInvalid(f"there is no option {name}", hint.strip())
    return given


def _paths(given: Mapping[str, str]) -> tuple[str, ...]:
    """The option path, and paths, by which Spark hands over a list that load() was given."""
    one = given.get("path", "").strip()
    if "paths" not in given:
        return (one,) if one else ()
    try:
        found = json.loads(given["paths"])
    except ValueError:
        found = None
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        values.invalid("paths", given["paths"], "Give load() a list of directories")
    return (*found, one) if one else tuple(found)


def _check_pattern(pattern: str, given: Mapping[str, str]) -> None:
    if "topic" in given or "topics" in given:
        raise OptionInvalid("topics are given by topicPattern and by name", "Use topicPattern, or topic and topics")
    try:
        re.compile(pattern)
    except re.error as error:
        values.invalid("topicPattern", pattern, f"It is a regular expression of Python: {error}")


def _queues(given: Mapping[str, str]) -> frozenset[int] | None:
    if "queues" not in given:
        return None
    return frozenset(values.whole("queues", text, most=INT32_MAX) for text in values.words("queues", given["queues"]))


def _offsets(given: Mapping[str, str], name: str) -> str | RequestedOffsets | None:
    return values.offsets(name, given[name]) if name in given else None


def _boolean(given: Mapping[str, str], name: str, *, default: bool) -> bool:
    return values.boolean(name, given[name]) if name in given else default


def _mode(text: str) -> DamageMode:
    try:
        return DamageMode[text.strip().upper()]
    except KeyError:
        values.invalid("mode", text, f"It is {', '.join(DamageMode.__members__)}")


def _columns(text: str | None) -> tuple[str, ...]:
    if text is None:
        return DEFAULT_COLUMNS
    known = {name.lower(): name for name in (*COLUMNS, CORRUPT_RECORD)}
    names: list[str] = []
    for word in values.words("columns", text):
        if word == "*":
            names.extend(COLUMNS)
        elif word.lower() in known:
            names.append(known[word.lower()])
        else:
            hint = values.nearest(word, list(known)) or f"The columns are {', '.join(known)}"
            raise OptionInvalid(f"there is no column {word} (option columns)", hint.strip())
    if len(set(names)) < len(names):
        values.invalid("columns", text, "Name each column once")
    return tuple(names)
