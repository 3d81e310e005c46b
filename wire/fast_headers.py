"""Decoding the JSON headers of frequent requests at once into their fields, without the general header.

Property tests prove it equal to the general decoder (`wire.header`, `wire.headers`). Headers of any other form are left
to that one: a code that does not come first, numbers or booleans that Java reads in another way than msgspec, large
headers, and those that are wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, Generic, TypeVar

import msgspec

from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.header import UNCHECKED_HEADER_BYTES, Header, is_within_limits
from rocketwire.wire.headers.send import ConsumerSendMsgBackRequestHeader
from rocketwire.wire.headers.transaction import EndTransactionRequestHeader
from rocketwire.wire.java import Int32, Int64

FieldsT = TypeVar("FieldsT")

#: A text that msgspec reads as a number, and Java does not: `1e0`, `1.0`, `null`.
_odd_number: Final = re.compile(rb':\s*+"(?:[-0-9][0-9]*+[.eE]|null")').search


class FastHeader(Header, Generic[FieldsT], kw_only=True, gc=False, frozen=True):
    """A header whose extFields were decoded into `fields`; `ext` is None."""

    fields: FieldsT = msgspec.field(name="extFields")
    ext: None = msgspec.field(name="", default=None)


class FastHeaders(Generic[FieldsT]):
    """Decodes the headers of some codes with the same fields.

    Attributes:
        codes: The codes.
    """

    __slots__ = ("_decode", "_is_one", "_truth", "codes")

    def __init__(
        self,
        fields: type[FieldsT],
        *codes: RequestCode,
        truths: tuple[str, ...],
        truth: Callable[[FieldsT], bool | None],
    ) -> None:
        """Make the decoder.

        Args:
            fields: The type of the fields.
            codes: The request codes.
            truths: The wire names of the booleans among the fields. msgspec takes `1` for true, Java does not.
            truth: Whether one of them is true.
        """
        self.codes = frozenset(map(int, codes))
        self._decode = msgspec.json.Decoder(FastHeader[fields], strict=False).decode  # type: ignore[valid-type]
        self._is_one = re.compile(rf'"(?:{"|".join(map(re.escape, truths))})"\s*:\s*"1"'.encode()).search
        self._truth = truth

    def decode(self, header: memoryview) -> FastHeader[FieldsT] | None:
        """The header with its fields; None: it needs the general decoder."""
        if len(header) > UNCHECKED_HEADER_BYTES and not is_within_limits(header):
            return None
        data = bytes(header)
        try:
            found: FastHeader[FieldsT] = self._decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):  # the general decoder reports the error
            return None
        if found.code not in self.codes:  # of a duplicate key the last one counts
            return None
        return None if self.is_odd(data, true=bool(self._truth(found.fields))) else found

    def is_odd(self, header: bytes, *, true: bool) -> bool:
        """Whether a header has a text that only looks like a number or, with `true`, like a boolean.

        So has a topic named `1.0`; such headers are rare.
        """
        return _odd_number(header) is not None or (true and self._is_one(header) is not None)


class SendFields(msgspec.Struct, gc=False, frozen=True):
    """The extension fields of a V2 send header, under the names of `SendMessageRequestHeader`."""

    producer_group: str = msgspec.field(name="a")
    topic: str = msgspec.field(name="b")
    default_topic: str = msgspec.field(name="c")
    default_topic_queue_nums: Int32 = msgspec.field(name="d")
    queue_id: Int32 = msgspec.field(name="e")
    sys_flag: Int32 = msgspec.field(name="f")
    born_timestamp: Int64 = msgspec.field(name="g")
    flag: Int32 = msgspec.field(name="h")
    properties: str | None = msgspec.field(name="i", default=None)
    reconsume_times: Int32 | None = msgspec.field(name="j", default=None)
    unit_mode: bool | None = msgspec.field(name="k", default=None)
    max_reconsume_times: Int32 | None = msgspec.field(name="l", default=None)
    batch: bool = msgspec.field(name="m", default=False)


SEND: Final = FastHeaders(
    SendFields,
    RequestCode.SEND_MESSAGE_V2,
    RequestCode.SEND_BATCH_MESSAGE,
    truths=("k", "m"),
    truth=lambda fields: fields.batch or fields.unit_mode,
)
SEND_BACK: Final = FastHeaders(
    ConsumerSendMsgBackRequestHeader,
    RequestCode.CONSUMER_SEND_MSG_BACK,
    truths=("unitMode",),
    truth=lambda fields: fields.unit_mode,
)
END: Final = FastHeaders(
    EndTransactionRequestHeader,
    RequestCode.END_TRANSACTION,
    truths=("fromTransactionCheck",),
    truth=lambda fields: fields.from_transaction_check,
)
