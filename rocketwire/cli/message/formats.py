"""The formats of exported messages: one JSON object per line, or CSV as of RFC 4180."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Callable
from typing import IO, Any, Final

import msgspec

Write = Callable[[dict[str, Any]], object]

COLUMNS: Final = (
    "topic",
    "queue_id",
    "queue_offset",
    "message_id",
    "offset_message_id",
    "born_timestamp",
    "store_timestamp",
    "born_host",
    "store_host",
    "tags",
    "keys",
    "body",
    "body_base64",
    "properties",
    "sys_flag",
    "flag",
    "reconsume_times",
    "prepared_transaction_offset",
    "body_crc",
    "physical_offset",
    "store_size",
    "broker",
)
"""The columns of the CSV form: the names of the JSON form."""


def jsonl(output: IO[bytes]) -> Write:
    """A line of JSON for each object."""
    encode = msgspec.json.Encoder().encode
    return lambda found: output.write(encode(found) + b"\n")


def csv_rows(output: IO[bytes]) -> Write:
    """A row for each object, after a header row; keys are joined with blanks, properties are a JSON object."""
    encode = msgspec.json.Encoder().encode
    put = csv.writer(codecs.getwriter("utf-8")(output)).writerow

    def write(found: dict[str, Any]) -> None:
        found["keys"] = " ".join(found["keys"])
        found["properties"] = encode(found["properties"]).decode()
        put([found.get(name) for name in COLUMNS])

    put(COLUMNS)
    return write


FORMATS: Final[dict[str, Callable[[IO[bytes]], Write]]] = {"jsonl": jsonl, "csv": csv_rows}
