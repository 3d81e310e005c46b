"""The twin; `tests/kernel/http2` has the same scenarios for the kernel."""

import pytest

from rocketwire.wire.http2.connection import Connection
from tests.wire.http2.scenarios.all import SCENARIOS, Scenario


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_scenario(scenario: Scenario) -> None:
    scenario(Connection)
