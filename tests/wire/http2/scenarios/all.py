"""What both implementations of `Http2` do, each scenario with a client of h2."""

from collections.abc import Callable
from typing import Final

import pytest

from tests.wire.http2.client import Make
from tests.wire.http2.scenarios import attacks, calls, ends, rules, windows

Scenario = Callable[[Make], None]

_SLOW: Final = {"a_lively_client_is_no_flood", "ten_thousand_calls_at_once"}


SCENARIOS: Final = [
    pytest.param(scenario, id=name, marks=[pytest.mark.slow] if name in _SLOW else [])
    for module in (calls, ends, windows, rules, attacks)
    for name, scenario in vars(module).items()
    if callable(scenario) and getattr(scenario, "__module__", "") == module.__name__
]
"""The functions of these modules."""
