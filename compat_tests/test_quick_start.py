"""The official quick start: its producer and its consumer, configured by NAMESRV_ADDR only."""

from __future__ import annotations

import os
import subprocess
import uuid

from compat_tests.programs import Programs
from compat_tests.readme import ROOT
from rocketwire.compat.brokers.endpoint import Endpoint
from rocketwire.compat.brokers.processes import Process

COUNT = 100


def test_quick_start(own_endpoint: Endpoint, programs: Programs, version: str) -> None:
    env = {"NAMESRV_ADDR": own_endpoint.namesrv}
    producer = programs.java(version, "quickstart.Producer", str(COUNT), env=env)
    done = subprocess.run(producer, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.count("sendStatus=SEND_OK") == COUNT

    command = programs.java(version, "quickstart.Consumer", env=env, name=f"rocketwire-{uuid.uuid4().hex[:12]}")
    consumer = Process("consumer", command, cwd=ROOT, env=os.environ)
    try:
        consumer.wait_for("Consumer Started.", within=240)
        for _ in range(COUNT):
            consumer.wait_for("received: ", within=240)
    finally:
        consumer.stop()
    received = [line.removeprefix("received: ") for line in consumer.output if line.startswith("received: ")]
    assert sorted(received) == sorted(f"Hello RocketMQ {i}" for i in range(COUNT))
