"""The config files of the golden stores."""

import pytest

from rocketwire.wire.bodies._codec import decode_body
from rocketwire.wire.bodies.fastjson import dumps_pretty, loads
from rocketwire.wire.bodies.group import SubscriptionGroupWrapper
from rocketwire.wire.bodies.topic import TopicConfigSerializeWrapper
from tests.wire import golden

BINARY = {"timercheck"}


@pytest.mark.parametrize("name", sorted(golden.store_files("4.9.7", "config")))
def test_files_of_4_9_7_are_written_byte_for_byte(name: str) -> None:
    text = golden.store_files("4.9.7", "config")[name]
    assert dumps_pretty(loads(text)) == text


@pytest.mark.parametrize("version", golden.VERSIONS)
@pytest.mark.parametrize(
    ("name", "cls"),
    [("topics.json", TopicConfigSerializeWrapper), ("subscriptionGroup.json", SubscriptionGroupWrapper)],
)
def test_tables_are_written_byte_for_byte_from_their_classes(version: str, name: str, cls: type) -> None:
    text = golden.store_files(version, "config")[name]
    assert dumps_pretty(decode_body(cls, text)) == text


@pytest.mark.parametrize("name", sorted(set(golden.store_files("5.5.0", "config")) - BINARY))
def test_files_of_5_5_0_are_read(name: str) -> None:
    value = loads(golden.store_files("5.5.0", "config")[name])
    assert loads(dumps_pretty(value)) == value
