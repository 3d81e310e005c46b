from __future__ import annotations

from pathlib import Path

import pytest

from rocketwire.server.config.keys import ConfigError
from rocketwire.server.configuration import LiveConfig
from rocketwire.server.send.keys import SendKeys
from rocketwire.server.topics.keys import TopicKeys
from rocketwire.wire.bodies.topic import DataVersion
from tests.server.harness import NOW, Clock, small_config


def test_a_change_has_a_new_version() -> None:
    clock = Clock()
    live = LiveConfig(small_config(Path()), clock)
    sizes: list[int] = []
    live.changed.subscribe(lambda: sizes.append(live[SendKeys].current.max_message_size))
    assert live.version == DataVersion(counter=0, timestamp=NOW)
    clock.now += 7
    live.update({"maxMessageSize": "5"})
    assert live[SendKeys].current.max_message_size == 5
    assert sizes == [5]
    assert live.version == DataVersion(counter=1, timestamp=NOW + 7)


def test_an_invalid_change_changes_nothing() -> None:
    live = LiveConfig(small_config(Path()), Clock())
    before = live.current
    with pytest.raises(ConfigError, match=r"^brokerPermission=9: expected "):
        live.update({"maxMessageSize": "5", "brokerPermission": "9"})
    assert live.current is before
    assert live.version.counter == 0


def test_a_change_of_one_group_leaves_the_others_as_they_are() -> None:
    live = LiveConfig(small_config(Path()), Clock())
    sends, topics = live[SendKeys], live[TopicKeys]
    before = topics.current
    live.update({"maxMessageSize": "5"})
    assert live[SendKeys] is sends
    assert sends.current == SendKeys(max_message_size=5) == live.current.send
    assert topics.current is before is live.current.topics
