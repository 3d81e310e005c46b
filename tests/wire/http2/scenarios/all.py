"""What both implementations of `Http2` do, each scenario with a client of h2."""

from collections.abc import Callable
from typing import Final

import pytest

from tests.wire.http2.client import Make
from tests.wire.http2.scenarios import attacks, calls, ends, rules, windows

Scenario = Callable[[Make], None]

_SLOW: Final = {"a_lively_client_is_no_flood", "ten_thousand_calls_at_once"}
_COSTLY: Final = {
    "floods_fail",
    "long_messages_come_through",
    "many_long_messages_are_let_in_one_after_the_other",
    "padding_counts",
    "rapid_resets_fail",
    "resets_made_by_the_server_count",
    "zero_windows_hold_answers",
}


def _marks(name: str) -> list[pytest.MarkDecorator]:
    return [pytest.mark.slow] if name in _SLOW else [pytest.mark.costly] if name in _COSTLY else []


SCENARIOS: Final = [
    pytest.param(scenario, id=name, marks=_marks(name))
    for module in (calls, ends, windows, rules, attacks)
    for name, scenario in vars(module).items()
    if callable(scenario) and getattr(scenario, "__module__", "") == module.__name__
]
"""The functions of these modules."""
