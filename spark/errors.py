"""The errors of reads and writes, one class a cause.

Spark shows a user the text of an error that a Python data source raises. So the text has everything: the error class in
brackets, as in Spark's own errors, what is wrong, and what helps.
"""

from __future__ import annotations

from typing import ClassVar


class SparkSourceError(Exception):
    """Base of all errors of the data source.

    Attributes:
        error_class: Its name for programs, as Spark's error classes are.
        what: What is wrong.
        remedy: What helps; a whole sentence.
    """

    error_class: ClassVar[str] = "ROCKETMQ_ERROR"

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what, remedy)
        self.what = what
        self.remedy = remedy

    def __str__(self) -> str:
        """The one line that Spark shows."""
        return f"[{self.error_class}] {self.what}. {self.remedy}"


class OptionInvalid(SparkSourceError):
    """An option that does not exist, that is missing, or that has a value it cannot have."""

    error_class = "ROCKETMQ_OPTION_INVALID"


class NotAStore(SparkSourceError):
    """A path that is not a RocketMQ store, or one of an unknown version."""

    error_class = "ROCKETMQ_NOT_A_STORE"


class PathUnreadable(SparkSourceError):
    """A path that is not there, or may not be read."""

    error_class = "ROCKETMQ_PATH_UNREADABLE"


class PackageMissing(SparkSourceError):
    """A package that is needed for a kind of path, or of compression, is not installed."""

    error_class = "ROCKETMQ_PACKAGE_MISSING"


class TopicUnknown(SparkSourceError):
    """A topic or queue that is not there."""

    error_class = "ROCKETMQ_TOPIC_UNKNOWN"


class DataLost(SparkSourceError):
    """Requested messages are missing: removed by their broker, or never stored."""

    error_class = "ROCKETMQ_DATA_LOST"


class RecordMalformed(SparkSourceError):
    """A place of the log without a valid message."""

    error_class = "ROCKETMQ_RECORD_MALFORMED"


class EndpointUnreachable(SparkSourceError):
    """No name server or broker answers, or not in time."""

    error_class = "ROCKETMQ_ENDPOINT_UNREACHABLE"


class EndpointRefused(SparkSourceError):
    """A name server or broker refuses a request."""

    error_class = "ROCKETMQ_ENDPOINT_REFUSED"


class WriteUnsupported(SparkSourceError):
    """A frame that cannot be written as messages: its mode, its columns or their types."""

    error_class = "ROCKETMQ_WRITE_UNSUPPORTED"


class RowInvalid(SparkSourceError):
    """A row that cannot be sent as a message."""

    error_class = "ROCKETMQ_MESSAGE_INVALID"


class SendFailed(SparkSourceError):
    """Messages that were not acknowledged, however often they were sent."""

    error_class = "ROCKETMQ_SEND_FAILED"


class ExportImpossible(SparkSourceError):
    """An export that is impossible with these options, or into that folder."""

    error_class = "ROCKETMQ_EXPORT_IMPOSSIBLE"


class ImportImpossible(SparkSourceError):
    """A table that cannot be read, or cannot be continued from the checkpoint."""

    error_class = "ROCKETMQ_IMPORT_IMPOSSIBLE"


class BodyMalformed(SparkSourceError):
    """A body that is none of its format or schema."""

    error_class = "ROCKETMQ_BODY_MALFORMED"


class RegistryFailed(SparkSourceError):
    """A schema registry that does not answer, or refuses."""

    error_class = "ROCKETMQ_REGISTRY_FAILED"
