"""Doing the same at several servers."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from rocketwire.cli.attempts import ServerAttempts
from rocketwire.cli.errors import CommandFailed
from rocketwire.remoting.admin.brokers import RegisteredBroker
from rocketwire.remoting.errors import AccessDenied, NotReached, Refused
from rocketwire.wire.errors import BodyInvalid

UNREACHED = NotReached("broker h:1", "cannot be reached")
REFUSED = Refused("broker h:1", 1, "no")


def fail(error: Exception | None) -> None:
    if error is not None:
        raise error


@pytest.mark.parametrize(
    ("errors", "found", "code"),
    [
        ([None, None], True, 0),
        ([None, None], False, 1),
        ([None, UNREACHED], True, 1),
        ([UNREACHED, UNREACHED], False, 3),
        ([UNREACHED, REFUSED], False, 1),
        ([REFUSED], False, 1),
        ([BodyInvalid("not a body")], True, 1),
        ([CommandFailed("not there")], True, 1),
    ],
)
def test_exit_codes(
    capsys: pytest.CaptureFixture[str], errors: Sequence[Exception | None], found: bool, code: int
) -> None:
    attempts = ServerAttempts()
    for number, error in enumerate(errors):
        with attempts.at(f"broker {number}"):
            fail(error)
    assert attempts.code(found=found) == code
    wanted = [f"rocketwire: broker {number}: {error}" for number, error in enumerate(errors) if error is not None]
    assert capsys.readouterr().err.splitlines() == wanted


def test_a_server_is_named_once(capsys: pytest.CaptureFixture[str]) -> None:
    with ServerAttempts().at("name server h:1"):
        fail(NotReached("name server h:1", "cannot be reached"))
    assert capsys.readouterr().err == "rocketwire: name server h:1: cannot be reached\n"


def test_servers_that_failed_are_skipped(capsys: pytest.CaptureFixture[str]) -> None:
    attempts = ServerAttempts()
    brokers = [RegisteredBroker(cluster="C", name=name, broker_id=0, address="h:1") for name in ("a", "b")]
    with attempts.at("broker a"):
        fail(UNREACHED)
    assert [each.name for each in attempts.left(brokers)] == ["b"]
    assert capsys.readouterr().err


@pytest.mark.parametrize("error", [AccessDenied("broker h:1", 1, "AclException: no"), KeyError("a bug")])
def test_other_errors_end_the_command(error: Exception) -> None:
    attempts = ServerAttempts()
    with pytest.raises(type(error)), attempts.at("broker a"):
        fail(error)
