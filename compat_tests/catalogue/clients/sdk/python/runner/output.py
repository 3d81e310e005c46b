"""What programs print: the fields of ../java/sources/common/Out.java."""

from __future__ import annotations

from typing import Any

from rocketmq import Message
from runner.shared import body_fields, event


def message(received: Message) -> dict[str, Any]:
    """The fields of a message."""
    return {
        "topic": received.topic,
        "msgId": received.message_id,
        "tags": received.tag,
        "keys": " ".join(received.keys) or None,
        "properties": dict(received.properties),
        "messageGroup": received.message_group,
        "due": received.delivery_timestamp,
        "bornTimestamp": received.born_timestamp,
        "bornHost": received.born_host,
        "attempt": received.delivery_attempt,
        **body_fields(bytes(received.body)),
    }


def failure(name: str, problem: BaseException) -> None:
    """Print an error; the client's have a code where the endpoint answered one. That of gRPC is a method."""
    code = getattr(problem, "code", None)
    event(name, error=type(problem).__name__, text=str(problem), code=code if isinstance(code, int) else None)
