"""A broker of topic T whose queue 0 has the records of a test."""

from __future__ import annotations

from collections.abc import Sequence

from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.message import MessageRecord, encode_record
from tests.cli.endpoint import Answers, FakeAnswer

PULL = RequestCode.PULL_MESSAGE


def record(number: int, body: bytes | None = None) -> bytes:
    """A stored message of topic T, with its number in the body."""
    body = b"body %d" % number if body is None else body
    return encode_record(MessageRecord(topic="T", queue_id=0, body=body, queue_offset=number))


def damaged_records() -> list[bytes]:
    """Five records, of which the second and third are none, and the last one's body has another CRC."""
    records = [record(number) for number in range(4)]
    records[1] = records[1][:20] + b"\x7f" + records[1][21:]  # its offset
    records[2] = records[2][:4] + b"\0" * 4 + records[2][8:]  # its magic number
    return [*records, record(4).replace(b"body 4", b"bodY 4")]


class FakeQueue:
    """What a broker has of queue 0 of T; queue 1 is empty."""

    def __init__(self, records: Sequence[bytes], *, at_once: int = 32) -> None:
        self.records = records
        self.at_once = at_once

    def answers(self) -> Answers:
        return {
            RequestCode.GET_MIN_OFFSET: lambda _: FakeAnswer(0, {"offset": "0"}),
            RequestCode.GET_MAX_OFFSET: lambda ext: FakeAnswer(
                0, {"offset": str(len(self.records) if ext["queueId"] == "0" else 0)}
            ),
            PULL: self.pull,
        }

    def pull(self, ext: dict[str, str]) -> FakeAnswer:
        offset, most = int(ext["queueOffset"]), min(int(ext["maxMsgNums"]), self.at_once)
        end = min(offset + most, len(self.records))
        return self.reported(0, end, b"".join(self.records[offset:end]))

    def lossy_pull(self, ext: dict[str, str]) -> FakeAnswer:
        """Of 100 messages the offsets 10 to 19 and those from 90 on are removed."""
        offset = int(ext["queueOffset"])
        if 10 <= offset < 20:
            return self.reported(ResponseCode.PULL_OFFSET_MOVED, 20)
        if offset >= 90:
            return self.reported(ResponseCode.PULL_NOT_FOUND, offset)
        return self.pull({**ext, "maxMsgNums": str(min(int(ext["maxMsgNums"]), (10 if offset < 10 else 90) - offset))})

    def reported(self, code: int, reached: int, body: bytes = b"") -> FakeAnswer:
        fields = {"suggestWhichBrokerId": 0, "nextBeginOffset": reached, "minOffset": 0, "maxOffset": len(self.records)}
        return FakeAnswer(code, {name: str(value) for name, value in fields.items()}, body)
