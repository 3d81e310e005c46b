"""The catalogue. Pull and push: consumers get what was sent."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from compat_tests.cases import cases
from rocketwire.compat.scenario import Scenario


@pytest.mark.parametrize(("scenario", "client_id"), cases("pull", "push", "pop", "broadcast", "batch"))
def test_scenario(scenario: Scenario, client_id: str, run_scenario: Callable[[Scenario, str], None]) -> None:
    run_scenario(scenario, client_id)
