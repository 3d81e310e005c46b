from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.server.config.apache_keys import APACHE_KEYS_WITHOUT_EFFECT
from rocketwire.server.config.java_properties import format_java_properties, parse_java_properties
from rocketwire.server.config.keys import NEWER, OURS, ConfigError, Key, camel, format_value
from rocketwire.server.configuration import KEYS, ServerConfig, read_settings
from rocketwire.store.settings import DELAY_LEVELS
from rocketwire.wire.addresses import Address


def read(**settings: str) -> ServerConfig:
    config, warnings = read_settings(settings)
    assert warnings == ()
    return config


def test_without_settings_the_defaults_apply() -> None:
    config, warnings = read_settings({})
    assert config == ServerConfig()
    assert warnings == ()
    assert str(config.name_server) == "127.0.0.1:9876"
    assert str(config.broker.address) == "127.0.0.1:10911"
    assert config.store.folder == Path("data")
    assert config.store.commit_log_dir == Path("data/commitlog")
    assert not config.flush.sync_flush


def test_the_settings_of_apaches_sample_file_are_read() -> None:
    sample = """
brokerClusterName = DefaultCluster
brokerName = broker-a
brokerId = 0
deleteWhen = 04
fileReservedTime = 48
brokerRole = ASYNC_MASTER
flushDiskType = SYNC_FLUSH
"""
    config, warnings = read_settings(parse_java_properties(sample))
    assert config.flush.sync_flush
    assert (config.retention.delete_when, config.retention.file_reserved_time) == ("04", 48)
    assert warnings == ("brokerRole: known to Apache, has no effect here",)


def test_each_type_is_read() -> None:
    config = read(
        brokerName=" b ",
        listenPort="0",
        traceOn="FALSE",
        flushDiskType="SYNC_FLUSH",
        checkCRCOnRecover="true",
    )
    assert config.broker.broker_name == "b"
    assert config.broker.address == Address(host="127.0.0.1", port=0)
    assert config.broker.trace_on is False
    assert config.store.check_crc_on_recover is True


@pytest.mark.parametrize("name", ["mapedFileSizeCommitLog", "mappedFileSizeCommitLog"])
def test_both_spellings_of_the_commit_logs_file_size_are_equal(name: str) -> None:
    assert read(**{name: "65536"}).store.mapped_file_size_commit_log == 65536


@pytest.mark.parametrize("name", ["mapedFileSizeConsumeQueue", "mappedFileSizeConsumeQueue"])
def test_a_consume_queue_file_holds_whole_entries(name: str) -> None:
    assert read(**{name: "101"}).store.consume_queue_file_size == 120
    assert read(**{name: "100"}).store.consume_queue_file_size == 100


def test_of_two_spellings_the_later_one_counts() -> None:
    config = read(mapedFileSizeCommitLog="4096", mappedFileSizeCommitLog="8192")
    assert config.store.mapped_file_size_commit_log == 8192


def test_an_unknown_key_is_warned_of_by_name() -> None:
    config, warnings = read_settings({"brokrName": "b"})
    assert config == ServerConfig()
    assert warnings == ("brokrName: unknown key; did you mean brokerName?",)


def test_a_name_server_to_register_with_is_answered_with_an_explanation() -> None:
    _, warnings = read_settings({"namesrvAddr": "10.0.0.1:9876"})
    assert len(warnings) == 1
    assert warnings[0].startswith("namesrvAddr: known to Apache, has no effect here: the broker registers with")


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("listenPort", "65536", "a whole number from 0 to 65535"),
        ("listenPort", "ten", "a whole number from 0 to 65535"),
        ("listenPort", "1_0", "a whole number from 0 to 65535"),
        ("listenPort", "", "a whole number from 0 to 65535"),
        ("maxHashSlotNum", "0", "a whole number from 1 to 2147483647"),
        ("brokerId", "-1", "0: this broker is always a master"),
        ("brokerId", "1", "0: this broker is always a master"),
        ("mapedFileSizeCommitLog", "1", "a whole number from 4096 to 2147483647"),
        ("traceOn", "yes", "true or false"),
        ("flushDiskType", "sync", "ASYNC_FLUSH or SYNC_FLUSH"),
        ("messageDelayLevel", "1s,5s", "delays such as 10s 5m 2h 1d with a blank between two"),
        ("brokerName", "", "any text but an empty one"),
    ],
)
def test_a_bad_value_is_reported_with_key_value_and_allowed_values(key: str, value: str, allowed: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_settings({key: value})
    assert str(caught.value) == f"{key}={value}: expected {allowed}"


def test_an_empty_text_is_allowed_if_it_means_the_default() -> None:
    assert read(brokerIP1="", storePathCommitLog="").broker.advertised_host == "127.0.0.1"


def test_the_address_that_clients_connect_to_is_configurable() -> None:
    assert read(brokerIP1="10.0.0.7").broker.advertised_host == "10.0.0.7"


def test_the_commit_log_may_be_in_another_folder() -> None:
    config = read(storePathRootDir="s", storePathCommitLog="log")
    assert (config.store.folder, config.store.commit_log_dir) == (Path("s"), Path("log"))


def test_delay_levels_are_parsed_in_milliseconds() -> None:
    assert ServerConfig().delay.levels == DELAY_LEVELS
    assert read(messageDelayLevel="2s 1d").delay.levels == (2_000, 86_400_000)


def test_the_properties_have_every_key_and_are_read_as_the_same_configuration() -> None:
    config = read(brokerIP1="10.0.0.7", traceOn="false", mapedFileSizeCommitLog="65536")
    text = format_java_properties(config.properties())
    properties = parse_java_properties(text)
    assert properties.pop("namesrvAddr") == "127.0.0.1:9876"
    assert read(**properties) == config


def test_a_running_broker_accepts_new_values() -> None:
    config = ServerConfig().updated({"autoCreateTopicEnable": "false", "brokerPermission": "4"})
    assert (config.topics.auto_create_topic_enable, config.broker.broker_permission) == (False, 4)


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("listenPort", "read at the start only; restart the server with it"),
        ("brokrName", "unknown key; did you mean brokerName?"),
        ("brokerPermission", "expected a whole number from 2 to 6"),
    ],
)
def test_a_running_broker_refuses_what_it_cannot_change(key: str, reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        ServerConfig().updated({"autoCreateTopicEnable": "false", key: "1"})
    assert str(caught.value) == f"{key}=1: {reason}"


def test_no_name_is_declared_twice() -> None:
    names = [name for key in KEYS for name in (key.name, *key.aliases)]
    assert len(names) == len(set(names))
    assert not APACHE_KEYS_WITHOUT_EFFECT & set(names)


def test_every_field_but_those_of_the_command_line_is_a_key() -> None:
    config = ServerConfig()
    without = {field.name for field in fields(config)} - {key.group for key in KEYS}
    assert without == {
        "name_server",
        "name_servers",
        "has_broker",
        "advertised_port",
        "advertised_networks",
        "http",
        "log_format",
        "json_ready",
        "port_file",
        "end_with",
        "is_member",
    }
    declared: list[Any] = list(config.groups())
    names = [field.name for group in declared for field in fields(group)]
    assert set(names) - {key.attribute for key in KEYS} == {"rules"}
    assert len(set(names)) == len(names)  # tests and the command line may name a key without its group


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
def test_each_default_is_allowed_and_each_description_is_one_line(key: Key) -> None:
    assert key.read(format_value(key.default)) == key.default
    assert key.meaning
    assert "\n" not in key.meaning
    assert len(key.meaning) < 90


@given(st.sampled_from(KEYS), st.text())
def test_any_text_is_a_value_or_one_line_of_error(key: Key, text: str) -> None:
    try:
        value = key.read(text)
    except ConfigError as error:
        line = str(error)
    else:
        line = f"{key.name}=: allowed"
        assert key.read(format_value(value)) == value
    assert line.startswith(f"{key.name}=")
    assert len(line.splitlines()) == 1


def test_names_are_converted_to_camel_case() -> None:
    assert camel("flush_disk_type") == "flushDiskType"


@pytest.mark.parametrize("name", ["maxTransferBytesOnMessageInMemory", "maxTransferBytesOnMessageInDisk"])
def test_an_answer_that_no_frame_can_hold_cannot_be_configured(name: str) -> None:
    read_settings({name: str((16 << 20) - 65536)})
    with pytest.raises(ConfigError, match="1 to 16711680"):
        read_settings({name: str(16 << 20)})


def test_keys_that_apaches_4_9_7_lacks_name_their_origin() -> None:
    guards = {"limits", "throttle", "acl", "tls", "upstream", "faults", "clock", "http_port", "grpc"}
    ours = {key.name for key in KEYS if key.known == OURS and key.group not in guards}
    assert ours == {"fastRemoting", "storeRegion", "enableTopicMessageTypeCheck"}
    newer = {key.name for key in KEYS if key.known == NEWER and key.group not in guards}
    assert newer == {
        "bindAddress",
        "diskSpaceCleanForciblyRatio",
        "diskSpaceWarningLevelRatio",
        "timerWheelEnable",
        "timerPrecisionMs",
        "timerRollWindowSlot",
        "timerMaxDelaySec",
        "mappedFileSizeTimerLog",
        "timerFlushIntervalMs",
        "recallMessageEnable",
        "defaultMessageRequestMode",
        "defaultPopShareQueueNum",
        "serverLoadBalancerEnable",
        "reviveQueueNum",
        "enableRetryTopicV2",
        "retrieveMessageFromPopRetryTopicV1",
        "popFromRetryProbability",
        "popResponseReturnActualRetryTopic",
        "initPopOffsetByCheckMsgInMem",
        "popPollingSize",
        "maxPopPollingSize",
    }
