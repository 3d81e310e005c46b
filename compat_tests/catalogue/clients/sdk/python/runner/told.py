"""What programs print: events as JSON lines, with the fields of ../java/sources/common/Out.java."""

from __future__ import annotations

import hashlib
import json
import sys
import threading
import time
from typing import Any, Final

from rocketmq import Message

_SHORT: Final = 4096  # bytes of a body that is shown
_PRINTING: Final = threading.Lock()


def event(name: str, **fields: object) -> None:
    """Print an event; threads may do so at once."""
    show({"event": name, **fields})


def show(fields: dict[str, Any]) -> None:
    """Print an event that is put together."""
    line = json.dumps(fields, ensure_ascii=True)
    with _PRINTING:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


def message(name: str, told: Message) -> dict[str, Any]:
    """The event of a message that came."""
    body = bytes(told.body)
    return {
        "event": name,
        "topic": told.topic,
        "msgId": told.message_id,
        "tags": told.tag,
        "keys": " ".join(told.keys) or None,
        "properties": dict(told.properties),
        "messageGroup": told.message_group,
        "due": told.delivery_timestamp,
        "bornTimestamp": told.born_timestamp,
        "bornHost": told.born_host,
        "attempt": told.delivery_attempt,
        "length": len(body),
        "sha256": hashlib.sha256(body).hexdigest(),
        "text": body.decode("utf-8", "replace") if len(body) <= _SHORT else None,
        "at": time.time_ns() // 1_000_000,
    }


def failure(name: str, problem: BaseException) -> None:
    """Print an error; the client's have a code where the endpoint answered one. That of gRPC is a method."""
    code = getattr(problem, "code", None)
    event(name, error=type(problem).__name__, text=str(problem), code=code if isinstance(code, int) else None)
