"""What is made of a broker's settings."""

import pytest

from rocketwire.compat.engine import probe
from rocketwire.compat.engine.reference import names, settings_for
from rocketwire.compat.scenario import Need
from rocketwire.server.config.java_properties import parse_java_properties

SHORT = "1s 2s 1s 1s 1s 1s 1s 1s 1s 1s 1s 1s 1s 1s 1s 1s 1s 3s"
DEFAULT = "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"


def offers(**configuration: str) -> dict[Need, bool]:
    delays = probe._delays(configuration.get("messageDelayLevel", ""))
    return probe._offers(configuration, delays, version="4.9.7", ours=False)


def test_properties_are_read() -> None:
    assert parse_java_properties("#c\na=b\nurl=http\\://x\n\nempty=\n") == {"a": "b", "url": "http://x", "empty": ""}


@pytest.mark.parametrize(
    ("text", "levels"), [("1s 5m", (1000, 300_000)), ("2h 1d", (7_200_000, 86_400_000)), ("", ()), ("1s soon", ())]
)
def test_delay_levels_are_read(text: str, levels: tuple[int, ...]) -> None:
    assert probe._delays(text) == levels


def test_short_delays_are_those_of_tests_only() -> None:
    assert offers(messageDelayLevel=SHORT)[Need.SHORT_DELAYS]
    default = offers(messageDelayLevel=DEFAULT)
    assert not default[Need.SHORT_DELAYS]
    assert default[Need.DELAYS_KNOWN]
    assert default[Need.QUICK_RETRY]
    assert not offers()[Need.DELAYS_KNOWN]


def test_settings_that_are_not_reported_are_not_known() -> None:
    assert Need.SQL not in offers()
    assert offers(enablePropertyFilter="false")[Need.SQL] is False
    assert offers()[Need.TIMER] is False  # a broker of 4.x has none


def test_transactions_must_be_as_short_as_scenarios_expect() -> None:
    times = {"transactionTimeOut": "2000", "transactionCheckInterval": "2000"}
    assert offers(**times, transactionCheckMax="3")[Need.SHORT_TRANSACTIONS]
    assert not offers(**times, transactionCheckMax="15")[Need.SHORT_TRANSACTIONS]


def test_a_reference_gets_what_scenarios_depend_on_and_no_paths() -> None:
    reported = {"messageDelayLevel": SHORT, "storePathRootDir": "/x", "listenPort": "1", "maxMessageSize": ""}
    assert settings_for(reported) == {"messageDelayLevel": SHORT}
    assert names() == ["apache-4.9.7", "apache-5.5.0"]
