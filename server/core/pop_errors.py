"""Errors of POP; the remarks are those of a 5.5.0 broker. Codes: `server.core.errors`."""

from __future__ import annotations

from rocketwire.server.core.server_error import ServerError


class ParameterInvalid(ServerError):
    """A pop of more messages than one may take, or of a queue that the topic does not have."""


class PopDisabled(ServerError):
    """Check points are timer messages, which the configuration does not allow."""

    def __init__(self, host: str) -> None:
        super().__init__(f"the broker[{host}] pop message is forbidden because timerWheelEnable is false")


class NotInQueue(ServerError):
    """A message that was popped is not in its queue any more, or never was."""


class DeliveryOver(ServerError):
    """A handle that is good no more, or never was: the message was acknowledged or changed, or its time is up."""

    def __init__(self) -> None:
        super().__init__("the delivery is over: it was acknowledged or changed with this handle, or its time is up")
