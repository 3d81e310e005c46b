"""The errors of the protocol's codecs.

All are ``WireError``; each ``str()`` is one line that a user understands without knowing this code.
"""


class WireError(Exception):
    """Bytes or values that break the protocol."""


class FrameError(WireError):
    """A frame that cannot be read; the connection it came from can only be closed."""


class FrameTooLong(FrameError):
    """A frame beyond the limit."""

    def __init__(self, length: int, limit: int) -> None:
        """Take the frame's length and the limit in bytes, both with the 4-byte length prefix."""
        super().__init__(f"frame of {length} bytes is longer than the limit of {limit} bytes")
        self.length = length
        self.limit = limit


class FrameLengthInvalid(FrameError):
    """A length prefix that no frame can have, or that does not fit the bytes at hand."""

    def __init__(self, length: int, reason: str) -> None:
        """Take the value of the length prefix and what is wrong with it."""
        super().__init__(f"frame length {length} is invalid: {reason}")
        self.length = length


class HeaderLengthInvalid(FrameError):
    """A header length that reaches beyond its frame."""

    def __init__(self, header_length: int, available: int) -> None:
        """Take the header length and the bytes that the frame has for it."""
        super().__init__(f"header length {header_length} is beyond the {available} bytes of its frame")
        self.header_length = header_length


class HeaderInvalid(FrameError):
    """A header that is no JSON object or no ROCKETMQ header, or one that cannot be written."""


class HeaderTooLarge(HeaderInvalid):
    """A header that is too long, or has too many fields. Its code, opaque and flag are known nevertheless.

    Attributes:
        limit: ``headerBytes`` or ``headerFields``.
        most: How much there may be.
    """

    def __init__(self, limit: str, most: int, *, code: int, opaque: int, flag: int) -> None:
        """Take the limit and what the header begins with."""
        super().__init__(f"header of request {code} is too large, {limit}={most}")
        self.limit = limit
        self.most = most
        self.code = code
        self.opaque = opaque
        self.flag = flag


class SerializeTypeUnknown(FrameError):
    """A header of neither the JSON nor the ROCKETMQ type."""

    def __init__(self, serialize_type: int) -> None:
        """Take the type byte of the frame."""
        super().__init__(f"serialize type {serialize_type} is unknown, only 0 (JSON) and 1 (ROCKETMQ) exist")
        self.serialize_type = serialize_type


class HeaderFieldMissing(WireError):
    """A request or response without a field it needs."""

    def __init__(self, header: str, field: str) -> None:
        """Take the header's class name and the field's wire name."""
        super().__init__(f"the field {field} of {header} is missing")
        self.header = header
        self.field = field


class HeaderFieldInvalid(WireError):
    """A field whose text is not of the field's type."""

    def __init__(self, header: str, field: str, value: str) -> None:
        """Take the header's class name, the field's wire name and the text found."""
        super().__init__(f"the field {field} of {header} is invalid: {value[:100]!r}")
        self.header = header
        self.field = field
        self.value = value


class BodyInvalid(WireError):
    """A body that is not of the type of its request code."""


class EntriesTooMany(BodyInvalid):
    """A body with too many entries."""

    def __init__(self, most: int) -> None:
        """Take how many there may be."""
        super().__init__(f"JSON has more entries than {most}")
        self.most = most


class RegistrationTooLarge(BodyInvalid):
    """A broker's registration that is too long or names too many topics."""


class RecordInvalid(WireError):
    """Bytes that are no message record."""


class RecordTruncated(RecordInvalid):
    """A record that is shorter than its size."""

    def __init__(self, size: int, available: int) -> None:
        """Take the size the record claims (or the least it could have) and the bytes there are."""
        super().__init__(f"message record of {size} bytes is cut short: only {available} bytes are there")
        self.size = size
        self.available = available


class RecordMagicUnknown(RecordInvalid):
    """A record whose magic number is none of the known ones."""

    def __init__(self, magic: int) -> None:
        """Take the signed magic number."""
        super().__init__(f"message record has the unknown magic number 0x{magic & 0xFFFFFFFF:08X}")
        self.magic = magic


class RecordBlank(RecordInvalid):
    """Not a record: the blank that fills the end of a commit log file."""

    def __init__(self, size: int) -> None:
        """Take the number of bytes that the blank covers."""
        super().__init__(f"end of file: a blank of {size} bytes, not a message record")
        self.size = size


class RecordUnwritten(RecordInvalid):
    """Not a record: a size of zero, space that was never written."""

    def __init__(self) -> None:
        """Nothing more is known of such bytes."""
        super().__init__("no message record: the space was never written")


class RecordCrcMismatch(RecordInvalid):
    """A record whose body is not the one that was stored."""

    def __init__(self, stored: int, computed: int) -> None:
        """Take the record's body CRC and that of the bytes found."""
        super().__init__(
            f"message body is damaged: its CRC is 0x{computed:08X}, stored was 0x{stored & 0xFFFFFFFF:08X}"
        )
        self.stored = stored
        self.computed = computed


class CompressionUnknown(WireError):
    """A compression type that no version of RocketMQ has."""

    def __init__(self, kind: int) -> None:
        """Take the number in the sysFlag's three compression bits."""
        super().__init__(f"compression type {kind} is unknown, only LZ4 (1), ZSTD (2) and ZLIB (3 or 0) exist")
        self.kind = kind


class CompressionUnavailable(WireError):
    """A compression whose optional package is not installed."""

    def __init__(self, name: str, package: str) -> None:
        """Take the compression's name and the package that reads it."""
        super().__init__(f"message body is compressed with {name}: install the package {package} to read it")
        self.name = name
        self.package = package


class CompressedBodyInvalid(WireError):
    """A compressed body that cannot be inflated, or would become too large."""


class PropertiesInvalid(WireError):
    """Message properties that cannot be written, or are too long."""


class BatchInvalid(WireError):
    """The body of a batch send that is no row of messages."""


class BatchTooLarge(BatchInvalid):
    """A batch of too many messages, or with too many properties in all.

    Attributes:
        limit: ``batchMessages`` or ``batchProperties``.
        most: How many there may be.
    """

    def __init__(self, limit: str, most: int) -> None:
        """Take the limit."""
        super().__init__(f"batch is too large, {limit}={most}")
        self.limit = limit
        self.most = most


class TraceInvalid(WireError):
    """The body of a trace message that is none."""


class MessageIdInvalid(WireError):
    """A text that is no message id."""

    def __init__(self, text: str, reason: str) -> None:
        """Take the text and what is wrong with it."""
        super().__init__(f"message id {text[:100]!r} is invalid: {reason}")
        self.text = text


class HostInvalid(WireError):
    """An address that cannot be stored: not an IPv4 or IPv6 address, or no port."""


class RecallHandleInvalid(WireError):
    """A recall handle that names no message."""

    def __init__(self) -> None:
        """Use Apache's text."""
        super().__init__("recall handle is invalid")


class PopHandleInvalid(WireError):
    """A text that is no handle of a popped message, or no list of such."""

    def __init__(self) -> None:
        """Take nothing: the text is the client's own."""
        super().__init__("the handle of the popped message is invalid")


class PopRecordInvalid(WireError):
    """The body of a record in the revive topic that is neither a check point nor an acknowledgement."""
