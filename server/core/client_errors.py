"""Errors of requests that the broker forwards to clients, of offset resets, and of POP. Codes: `server.core.errors`."""

from __future__ import annotations

from rocketwire.server.core.server_error import ServerError


class ConsumerGroupOffline(ServerError):
    """No member of a consumer group is connected."""

    def __init__(self, group: str) -> None:
        super().__init__(f"the consumer group[{group}] not online")


class ProducerGroupOffline(ServerError):
    """No member of a producer group is connected."""

    def __init__(self, group: str) -> None:
        super().__init__(f"the producer group[{group}] not exist")


class GroupEmpty(ServerError):
    """No member of a consumer group is connected that could report its offsets."""

    def __init__(self, group: str) -> None:
        super().__init__(f"No Any Consumer online in the consumer group: [{group}]")


class ClientNotOnline(ServerError):
    """A consumer group has no member with the client id."""

    def __init__(self, group: str, client_id: str) -> None:
        super().__init__(f"The Consumer <{group}> <{client_id}> not online")


class ClientTooOld(ServerError):
    """A client's version does not support requests from the broker."""

    def __init__(self, client_id: str, version: str) -> None:
        super().__init__(
            f"The Consumer <{client_id}> Version <{version}> too low to finish, please upgrade it to V3_1_8_SNAPSHOT"
        )


class ClientOutdated(ServerError):
    """A client's version supports neither resetting nor reporting offsets."""

    def __init__(self, version: str) -> None:
        super().__init__(f"the client does not support this feature. version={version}")


class ClientSilent(ServerError):
    """A client did not answer a request of the broker in time, or at all."""

    def __init__(self, group: str, client_id: str, address: str, seconds: float) -> None:
        super().__init__(
            f"consumer <{group}> <{client_id}> Timeout: wait response on the channel <{address}> timeout, "
            f"{seconds * 1000:.0f}(ms)"
        )


class ClientBusy(ServerError):
    """A client takes no request: it does not read, has too many to answer, or has just disconnected."""

    def __init__(self, group: str, client_id: str, address: str) -> None:
        super().__init__(f"invoke consumer <{group}> <{client_id}> Exception: the channel <{address}> takes no request")


class ResetTopicMissing(ServerError):
    """The topic of an offset reset does not exist on the broker."""

    def __init__(self, topic: str) -> None:
        super().__init__(f"[reset-offset] reset offset failed, no topic in this broker. topic={topic}")


class GroupWithoutOffsets(ServerError):
    """The group of an offset reset has no committed offset of some queue."""

    def __init__(self, group: str) -> None:
        super().__init__(f"THe consumer group <{group}> not exist")


class OffsetOutOfRange(ServerError):
    """The target of an offset reset is outside its queue."""

    def __init__(self, offset: int, low: int, high: int) -> None:
        super().__init__(f"Target offset {offset} not in consume queue range [{low}-{high}]")


class ResetGroupOffline(ServerError):
    """No member of the group of an offset reset is connected; the caller then commits the offsets itself."""

    def __init__(self, group: str, topic: str, timestamp: int) -> None:
        super().__init__(
            f"Consumer not online, so can not reset offset, Group: {group} Topic: {topic} Timestamp: {timestamp}"
        )


# --- POP: the remarks are those of a 5.5.0 broker


class ParameterInvalid(ServerError):
    """A pop of more messages than one may take, or of a queue that the topic does not have."""


class PopDisabled(ServerError):
    """Check points are timer messages, which the configuration does not allow."""

    def __init__(self, host: str) -> None:
        super().__init__(f"the broker[{host}] pop message is forbidden because timerWheelEnable is false")


class NotInQueue(ServerError):
    """A message that was popped is not in its queue any more, or never was."""


class DeliveryOver(ServerError):
    """A receipt handle that is not valid: its message was acknowledged or changed, or its invisible time passed."""

    def __init__(self) -> None:
        super().__init__("the delivery is over: it was acknowledged or changed with this handle, or its time is up")
