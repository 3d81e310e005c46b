"""A dead letter: where it comes from, and the message that is sent when it is sent again.

A broker stores a message that was tried too often in %DLQ%GROUP, with its properties: RETRY_TOPIC is the topic that it
was first sent to (5.x adds DLQ_ORIGIN_TOPIC), and ORIGIN_MESSAGE_ID its first offset message id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rocketwire.cli.message.incoming import copied_properties
from rocketwire.cli.message.targets import OutgoingMessage
from rocketwire.wire.facts import properties as names
from rocketwire.wire.names import DEAD_LETTER_PREFIX, dead_letter_topic, retry_topic

if TYPE_CHECKING:
    from rocketwire.store.offline.read.selected import SelectedMessage

_ORIGIN_TOPIC: Final = "DLQ_ORIGIN_TOPIC"
"""Of 5.x."""


def topic_of(group: str) -> str:
    """The topic of a group's dead letters; the group may be named by that topic."""
    return dead_letter_topic(group.removeprefix(DEAD_LETTER_PREFIX))


def origin_topic(letter: SelectedMessage) -> str | None:
    """The topic that a dead letter was first sent to; None if it does not have it."""
    return letter.properties.get(_ORIGIN_TOPIC) or letter.properties.get(names.RETRY_TOPIC)


def copy_for_resend(
    letter: SelectedMessage, body: bytes, *, group: str, origin: str, to_retry: bool
) -> OutgoingMessage:
    """The message that is sent: a copy whose tries begin again.

    Args:
        letter: The dead letter.
        body: Its inflated body.
        group: The group that could not process it.
        origin: The topic that it was first sent to.
        to_retry: Whether it goes to the group's retry topic, else to `origin`.
    """
    properties = copied_properties(letter.properties)
    properties[names.ORIGIN_MESSAGE_ID] = letter.properties.get(names.ORIGIN_MESSAGE_ID) or letter.offset_message_id
    if to_retry:
        # By which consumers know the topic to hand it out as.
        properties[names.RETRY_TOPIC] = origin
    topic = retry_topic(group.removeprefix(DEAD_LETTER_PREFIX)) if to_retry else origin
    return OutgoingMessage(topic=topic, body=body, properties=properties, flag=letter.message.flag)
