"""How much a call may ask for. The defaults are those of Apache's proxy, less its one day for `delay_ms`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CallLimits:
    """What the checks of calls compare with; 0 is no limit.

    Attributes:
        body_bytes: Of a message's body, as sent.
        user_properties: Of a message.
        property_bytes: Of the names and values of the user properties, the tag and the keys.
        message_group_bytes: A message group is shorter than this.
        delay_ms: How far ahead a message may be delivered; with 0 the broker decides.
        recovery_seconds: Until a transaction is checked first.
        least_invisible_ms: Of a receive; a change of the invisible time has no least one.
        most_invisible_ms: Of both.
    """

    body_bytes: int = 4 * 1024 * 1024
    user_properties: int = 128
    property_bytes: int = 16 * 1024
    message_group_bytes: int = 64
    delay_ms: int = 0
    recovery_seconds: int = 60 * 60
    least_invisible_ms: int = 10 * 1000
    most_invisible_ms: int = 12 * 60 * 60 * 1000
