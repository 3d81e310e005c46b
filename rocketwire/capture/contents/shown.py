"""The events of a recording as items to print."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from rocketwire.capture.contents.bodies import body_value, properties_value
from rocketwire.capture.contents.frames import RecordedFrame, decoded, response_name
from rocketwire.capture.file.events import (
    ConnectionOpened,
    CutParts,
    Event,
    FrameSent,
    RecordingStarted,
    RecordingStopped,
    Role,
    StreamEnded,
    StreamSource,
    UnreadableBytes,
)
from rocketwire.wire.facts.codes import SerializeType, version_name

ARROWS: Final = {StreamSource.CLIENT: "->", StreamSource.SERVER: "<-"}
"""Who sent: `->` a client, `<-` a server."""
_LEFT: Final = {CutParts.ACCOUNT: "account masked", CutParts.SECRETS: "secrets masked", CutParts.BODY: "body left out"}
_ROLES: Final = {Role.NAME_SERVER: "name server", Role.BROKER: "broker"}

_EVENT_NAMES: Final[Mapping[type, str]] = {
    RecordingStarted: "started",
    ConnectionOpened: "opened",
    RecordedFrame: "frame",
    UnreadableBytes: "unreadable",
    StreamEnded: "ended",
    RecordingStopped: "stopped",
}
"""The names of events in `rocketwire show --json`, which programs read."""


@dataclass(frozen=True, slots=True)
class Item:
    """One event.

    Attributes:
        event: The event, decoded where it is a frame.
        started: The time of the recording's start, ms since 1970; None if it is not known.
    """

    event: Event | RecordedFrame
    started: int | None

    @property
    def _raw(self) -> Event:
        return self.event.sent if isinstance(self.event, RecordedFrame) else self.event

    @property
    def time(self) -> int:
        """Microseconds since the start."""
        return self._raw.time

    @property
    def wall(self) -> int | None:
        """Milliseconds since 1970; None if the recording's start is not known."""
        return None if self.started is None else self.started + self.time // 1000

    @property
    def connection(self) -> int | None:
        """The connection's number; None for the start and the stop of the recording."""
        return None if isinstance(self._raw, RecordingStarted | RecordingStopped) else self._raw.connection

    @property
    def direction(self) -> str:
        """`->` to the server, `<-` to the client; empty for what is neither."""
        return ARROWS[self._raw.source] if isinstance(self._raw, FrameSent | UnreadableBytes | StreamEnded) else ""

    @property
    def code(self) -> int | None:
        """The code of a frame's request."""
        return self.event.code if isinstance(self.event, RecordedFrame) else None

    @property
    def what(self) -> str:
        """The name of the code of a frame's request, or what happened."""
        match self.event:
            case RecordedFrame() as frame:
                return frame.code_name
            case RecordingStarted() as started:
                return f"recording of {started.upstream}"
            case RecordingStopped():
                return "recording stopped"
            case ConnectionOpened() as opened:
                return f"{opened.client} connects to {_ROLES[opened.role]} {opened.server}"
            case StreamEnded() as ended:
                return "end" + (f": {ended.reason}" if ended.reason else "")
            case _:
                return "no frame"

    @property
    def opaque(self) -> int | None:
        """The opaque of a frame."""
        return self.event.header.opaque if isinstance(self.event, RecordedFrame) else None

    @property
    def topic(self) -> str:
        """The topic of a frame's request."""
        return self.event.topic if isinstance(self.event, RecordedFrame) else ""

    @property
    def group(self) -> str:
        """The group of a frame's request."""
        return self.event.group if isinstance(self.event, RecordedFrame) else ""

    @property
    def size(self) -> int | None:
        """The bytes that were sent."""
        return self._raw.size if isinstance(self._raw, FrameSent | UnreadableBytes) else None

    @property
    def answer(self) -> int | None:
        """The response code of an answer."""
        return (
            self.event.header.code if isinstance(self.event, RecordedFrame) and self.event.header.is_response else None
        )

    @property
    def latency(self) -> int | None:
        """Of an answer: microseconds since its request."""
        return self.event.latency if isinstance(self.event, RecordedFrame) else None

    def json(self) -> dict[str, Any]:
        """Everything, for a line of JSON."""
        found: dict[str, Any] = {
            "event": _EVENT_NAMES[type(self.event)],
            "time": self.time,
            "wall": self.wall,
            "connection": self.connection,
        }
        if isinstance(self._raw, FrameSent | UnreadableBytes | StreamEnded):
            found["source"] = self._raw.source.name.lower()
        if isinstance(self.event, RecordedFrame):
            found |= {
                "code": self.event.code,
                "name": self.event.code_name,
                "topic": self.topic,
                "group": self.group,
                "size": self.size,
                "answer": self.answer,
                "latency": self.latency,
            }
        return found | self.detail()

    def detail(self) -> dict[str, Any]:
        """The fields of a frame's header with its decoded body, or those of another event."""
        match self.event:
            case RecordedFrame() as frame:
                return _frame(frame)
            case RecordingStarted() as each:
                return {
                    "upstream": each.upstream,
                    "program": each.program,
                    "bodies": each.bodies,
                    "secrets": each.secrets,
                }
            case ConnectionOpened() as each:
                return {"role": _ROLES[each.role], "client": each.client, "server": each.server}
            case StreamEnded() as each:
                return {"reason": each.reason}
            case FrameSent() | UnreadableBytes() as each:
                return {"size": each.size, "hex": each.data.hex()}
            case _:
                return {}


def _frame(frame: RecordedFrame) -> dict[str, Any]:
    header = frame.header
    found: dict[str, Any] = {
        "frame": frame.number,
        "header": {
            "form": SerializeType(frame.serialize_type).name,
            "language": header.language,
            "version": version_name(header.version),
            "opaque": header.opaque,
            "flag": " ".join(
                ["answer"] * header.is_response + ["oneway"] * header.is_oneway or ["request"],
            ),
        },
    }
    if header.is_response:
        found["header"]["code"] = f"{header.code} {response_name(header.code)}"
        found["header"]["remark"] = header.remark
    found["fields"] = properties_value(frame.fields)
    if frame.sent.left:
        found["missing"] = [text for bit, text in _LEFT.items() if frame.sent.left & bit]
    found["body"] = body_value(frame.body, frame.code, response=header.is_response)
    return found


def items_of(events: Iterable[Event]) -> Iterator[Item]:
    """The items of a recording."""
    started = None
    for event in decoded(events):
        if isinstance(event, RecordingStarted):
            started = event.wall
        yield Item(event, started)
