"""Refusals by who is on line: questions to clients, and resets of offsets. Codes: `server.core.errors`."""

from __future__ import annotations

from rocketwire.server.core.server_error import ServerError


class ConsumerGroupOffline(ServerError):
    """Nobody of a consumer group is on line."""

    def __init__(self, group: str) -> None:
        super().__init__(f"the consumer group[{group}] not online")


class ProducerGroupOffline(ServerError):
    """Nobody of a producer group is on line."""

    def __init__(self, group: str) -> None:
        super().__init__(f"the producer group[{group}] not exist")


class GroupEmpty(ServerError):
    """Nobody of a consumer group is on line to be asked for offsets."""

    def __init__(self, group: str) -> None:
        super().__init__(f"No Any Consumer online in the consumer group: [{group}]")


class ClientNotOnline(ServerError):
    """A consumer group has no member with the client id."""

    def __init__(self, group: str, client_id: str) -> None:
        super().__init__(f"The Consumer <{group}> <{client_id}> not online")


class ClientTooOld(ServerError):
    """A client that cannot answer the broker's questions."""

    def __init__(self, client_id: str, version: str) -> None:
        super().__init__(
            f"The Consumer <{client_id}> Version <{version}> too low to finish, please upgrade it to V3_1_8_SNAPSHOT"
        )


class ClientOutdated(ServerError):
    """A client of a group that cannot be reset or asked for its offsets."""

    def __init__(self, version: str) -> None:
        super().__init__(f"the client does not support this feature. version={version}")


class ClientSilent(ServerError):
    """A client did not answer a question that was handed on to it, in time or at all."""

    def __init__(self, group: str, client_id: str, address: str, seconds: float) -> None:
        super().__init__(
            f"consumer <{group}> <{client_id}> Timeout: wait response on the channel <{address}> timeout, "
            f"{seconds * 1000:.0f}(ms)"
        )


class ClientBusy(ServerError):
    """A client is not asked: it does not read, too much that it was asked waits, or it has just left."""

    def __init__(self, group: str, client_id: str, address: str) -> None:
        super().__init__(f"invoke consumer <{group}> <{client_id}> Exception: the channel <{address}> takes no request")


class ResetTopicMissing(ServerError):
    """Offsets of a topic that the broker does not have cannot be reset."""

    def __init__(self, topic: str) -> None:
        super().__init__(f"[reset-offset] reset offset failed, no topic in this broker. topic={topic}")


class GroupWithoutOffsets(ServerError):
    """A group to reset has committed no offset of some queue."""

    def __init__(self, group: str) -> None:
        super().__init__(f"THe consumer group <{group}> not exist")


class OffsetOutOfRange(ServerError):
    """An offset to go on with that is not in its queue."""

    def __init__(self, offset: int, low: int, high: int) -> None:
        super().__init__(f"Target offset {offset} not in consume queue range [{low}-{high}]")


class ResetGroupOffline(ServerError):
    """Nobody of a group to reset is on line; whoever asks commits the offsets itself."""

    def __init__(self, group: str, topic: str, timestamp: int) -> None:
        super().__init__(
            f"Consumer not online, so can not reset offset, Group: {group} Topic: {topic} Timestamp: {timestamp}"
        )
