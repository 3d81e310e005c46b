"""Long waits are reported on stderr."""

from __future__ import annotations

import socket
import time

import pytest

from rocketwire.cli.waiting import WaitReporter
from rocketwire.remoting.cluster import BlockingCluster
from rocketwire.remoting.errors import NotReached


@pytest.fixture
def waits() -> WaitReporter:
    made = WaitReporter()
    made.seconds = 0.3
    return made


def test_a_long_wait_is_reported_once(waits: WaitReporter, capsys: pytest.CaptureFixture[str]) -> None:
    with waits.during("reading everything"):
        with waits.during("waiting for an answer"):
            time.sleep(1.2)
        with waits.during("waiting for an answer"):
            time.sleep(0.8)
    assert capsys.readouterr().err == "rocketwire: waiting for an answer …\n"


def test_short_waits_are_not(waits: WaitReporter, capsys: pytest.CaptureFixture[str]) -> None:
    waits.seconds = 60
    for _ in range(3):
        with waits.during("waiting for an answer"):
            time.sleep(0.3)
    assert capsys.readouterr().err == ""


def test_an_endpoint_that_does_not_answer_is_named(waits: WaitReporter, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = "{}:{}".format(*silent.getsockname())
        with (
            BlockingCluster(address, timeout=1.5, during=waits.during) as cluster,
            pytest.raises(NotReached, match="no answer"),
        ):
            cluster.topics()
    said = capsys.readouterr().err
    assert f"rocketwire: waiting for an answer of name server {address} …\n" in said
