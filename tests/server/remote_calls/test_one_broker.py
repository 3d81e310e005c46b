"""Before one broker, 5.x clients see what they see of the broker: the same tests run."""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Final

from tests.server.grpc import test_routing, test_sending, test_telemetry
from tests.server.grpc.consuming import test_receiving

OTHERWISE: Final = {
    "test_calls_of_one_read_are_one_group": "the broker sees no calls",
    "test_types_are_not_checked_if_that_is_switched_off": "the key is the proxy's",
    "test_each_delivery_is_answered_whether_its_queue_has_it": "several acknowledgements get one answer",
    "test_a_cancelled_call_takes_nothing": "its pop takes a message, which is returned: see test_two_brokers",
    "test_an_orphaned_transaction_is_recovered_by_any_producer_of_its_topic": "it has connections to the broker",
}
"""Tests of the broker that do not apply to a proxy, and why."""


def same_tests(*modules: ModuleType) -> dict[str, object]:
    """The tests of these modules that have one client, which is connected to the proxy here."""
    return {
        name: test
        for module in modules
        for name, test in vars(module).items()
        if name.startswith("test_") and name not in OTHERWISE and "sdk" in inspect.signature(test).parameters
    }


globals().update(same_tests(test_receiving, test_routing, test_sending, test_telemetry))
