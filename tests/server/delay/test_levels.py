"""How delayed messages wait: as in the golden store of a 4.9.7 broker."""

from __future__ import annotations

import pytest

from rocketwire.server.core.errors import MessageIllegal
from rocketwire.server.delay import delay_level, scheduled_draft
from rocketwire.server.delay.levels import warn_of_lost_levels
from rocketwire.store.append.drafts import Draft
from rocketwire.wire.properties import decode_properties
from tests.server.messages.test_stored_message import golden_messages

SCHEDULE = "SCHEDULE_TOPIC_XXXX"


@pytest.mark.parametrize(
    ("text", "level"), [(None, 0), ("0", 0), ("-3", 0), ("1", 1), ("+2", 2), ("18", 18), ("19", 18), ("2147483647", 18)]
)
def test_a_level_above_the_last_means_the_last(text: str | None, level: int) -> None:
    assert delay_level({} if text is None else {"DELAY": text}, 18) == level


@pytest.mark.parametrize("text", ["x", "1.5", " 1", "1_0", "\u0663", "99999999999"])
def test_a_level_that_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(MessageIllegal, match=r"^property DELAY: .* is no delay level$"):
        delay_level({"DELAY": text}, 18)


def test_messages_wait_as_apaches_do() -> None:
    """Except for the order of their properties, which stays that of the send."""
    waiting = [(message, row) for message, row in golden_messages() if row["topic"] == SCHEDULE]
    assert len(waiting) == 10
    for message, row in waiting:
        properties = message.decoded_properties()
        topic, queue_id = properties.pop("REAL_TOPIC"), int(properties.pop("REAL_QID"))
        draft = scheduled_draft(message.draft(topic, queue_id, properties), delay_level(properties, 18))
        assert (draft.topic, draft.queue_id) == (SCHEDULE, row["queueId"])
        assert decode_properties(draft.properties.decode()) == row["properties"]
        assert len(draft.properties) == len(row["propertiesAsStored"].encode())


def test_a_message_that_waits_a_second_time_has_its_new_queue() -> None:
    text = b"REAL_TOPIC\x01T\x02REAL_QID\x017\x02DELAY\x014\x02TAGS\x01A"
    draft = scheduled_draft(Draft("%RETRY%G", 0, b"", text, 0, 0, 0, bytes(8)), 4)
    assert draft.properties == b"REAL_TOPIC\x01%RETRY%G\x02REAL_QID\x010\x02DELAY\x014\x02TAGS\x01A"


def test_levels_longer_than_the_retention_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    warn_of_lost_levels((1000, 72 * 3_600_000), 72)
    assert not caplog.records
    warn_of_lost_levels((1000, 73 * 3_600_000, 1), 72)
    assert [record.message for record in caplog.records] == [
        "delay level 2: its messages are lost while they wait, see fileReservedTime (72 h)"
    ]
