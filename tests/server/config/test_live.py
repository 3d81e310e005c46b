from __future__ import annotations

from pathlib import Path

import pytest

from rocketwire.server.config.config import ConfigError
from rocketwire.server.config.live import LiveConfig
from rocketwire.wire.bodies.topic import DataVersion
from tests.server.harness import NOW, Clock, small_config


def test_a_change_has_a_new_version() -> None:
    clock = Clock()
    live = LiveConfig(small_config(Path()), clock)
    told: list[int] = []
    live.changed.subscribe(lambda: told.append(live.current.max_message_size))
    assert live.version == DataVersion(counter=0, timestamp=NOW)
    clock.now += 7
    live.update({"maxMessageSize": "5"})
    assert live.current.max_message_size == 5
    assert told == [5]
    assert live.version == DataVersion(counter=1, timestamp=NOW + 7)


def test_a_bad_change_changes_nothing() -> None:
    live = LiveConfig(small_config(Path()), Clock())
    before = live.current
    with pytest.raises(ConfigError, match=r"^brokerPermission=9: allowed is "):
        live.update({"maxMessageSize": "5", "brokerPermission": "9"})
    assert live.current is before
    assert live.version.counter == 0
