"""Running the load programs: one order in, one outcome out."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from bench.fronts import create_group
from bench.sides import BROKER_NAME, Side
from bench.statistics import Failure, Sample, read_result
from bench.timers import TimerLoad, TimerSample, read_timer_result
from bench.tools import JavaProgram
from bench.workloads import QUEUES, Workload
from rocketwire.compat.environment import artifacts
from rocketwire.remoting.errors import RemotingError

# Workload options that are switches of the load generator, not numbers.
_SWITCHES: Final[Mapping[str, list[object]]] = {"keys": ["--keys", "--tags", "TagA"], "patient": ["--patient"]}
_NO_RESULT: Final[Mapping[str, object]] = {"errors": 1, "error": "the load program printed no result"}
_PATIENCE_SECONDS = 120.0  # beyond the requested time


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Seconds not counted, seconds counted, and the number of messages that a drain finds."""

    warmup: float
    seconds: float
    filled: int


class Driver(Protocol):
    """A load program."""

    def run(self, side: Side, workload: Workload, timing: Timing) -> Sample | Failure:
        """Run a workload once."""
        ...

    def stop(self) -> None:
        """End what of the program runs between workloads."""
        ...


class LoadFailedError(Exception):
    """A load program failed in the set-up; one line."""


def _result(output: bytes) -> Mapping[str, object]:
    """The result in a load program's output: its last line that is a JSON object."""
    lines = [line for line in output.decode("utf-8", "replace").splitlines() if line.startswith("{")]
    found: Mapping[str, object] = json.loads(lines[-1]) if lines else _NO_RESULT
    return found


def _ran(command: Sequence[object], timeout: float) -> Mapping[str, object]:
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, check=False, timeout=timeout)
    except subprocess.TimeoutExpired:
        return {"errors": 1, "error": f"load {command[1]}: not done after {timeout:.0f} s"}
    return _result(done.stdout)


class RawLoad:
    """The C load generator, a process an order."""

    def __init__(self, program: Path) -> None:
        self._program = program

    def _run(
        self, side: Side, mode: str, topic: str, *options: object, timeout: float = _PATIENCE_SECONDS
    ) -> Mapping[str, object]:
        """The result that the load program printed; "errors" and "error" show a failure."""
        command = [
            self._program, mode, "--port", side.broker_port, "--topic", topic, "--queues", QUEUES,
            "--broker-name", BROKER_NAME, *options,
        ]  # fmt: skip
        return _ran(command, timeout)

    def create_topic(self, side: Side, topic: str) -> None:
        """Create a topic of QUEUES queues. Raises LoadFailedError."""
        self._must(self._run(side, "topic", topic), f"{side.name}: topic {topic}")

    def fill(self, side: Side, topic: str, messages: int, *more: str) -> None:
        """Send `messages` of 100 B, spread over all queues, with `more` options. Raises LoadFailedError."""
        options = ["--count", messages, "--connections", 8, "--window", 32, "--patient", *more]
        outcome = self._run(side, "send", topic, *options, timeout=3600)
        self._must(outcome, f"{side.name}: filling {topic}")

    @contextlib.contextmanager
    def held(self, side: Side, connections: int) -> Iterator[None]:
        """Keep so many idle connections open, each of which has sent one message. Raises LoadFailedError."""
        self.create_topic(side, "BenchIdle")
        command = [self._program, "idle", "--port", side.broker_port, "--topic", "BenchIdle"]
        command += ["--broker-name", BROKER_NAME, "--connections", connections]
        with subprocess.Popen(
            [str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as holder:
            try:
                # It reports when all are open, or that one could not be opened.
                said = holder.stdout.readline() if holder.stdout else b""
                self._must(_result(said), f"{side.name}: {connections:,} idle connections")
                yield
            finally:
                holder.kill()

    @staticmethod
    def _must(result: Mapping[str, object], what: str) -> None:
        outcome = read_result(result)
        if isinstance(outcome, Failure):
            raise LoadFailedError(f"{what}: {outcome.reason}")

    def run(self, side: Side, workload: Workload, timing: Timing) -> Sample | Failure:
        """Run a raw workload once."""
        options: list[object] = [
            "--warmup",
            timing.warmup,
            "--seconds",
            timing.seconds,
            "--server-pid",
            side.pid,
        ]
        for name, value in workload.options.items():
            options += _SWITCHES.get(name, [f"--{name}", value])
        timeout = _PATIENCE_SECONDS + timing.warmup + timing.seconds
        return read_result(self._run(side, workload.mode, workload.topic, *options, timeout=timeout))

    def stop(self) -> None:
        """Nothing: no process remains."""

    def run_timer(self, side: Side, topic: str, load: TimerLoad) -> TimerSample | Failure:
        """Run a load of the timer once, in a topic that create_topic has made."""
        options: list[object] = ["--connections", 8, "--window", 32, "--server-pid", side.pid]
        options += ["--count", load.count, "--span", load.span, "--ahead", load.ahead, "--patience", load.patience]
        options += ["--paced"] if load.paced else []
        timeout = _PATIENCE_SECONDS + load.ahead + load.span + load.patience
        result = self._run(side, "timer", topic, *options, timeout=timeout)
        outcome = read_result(result)
        return outcome if isinstance(outcome, Failure) else read_timer_result(result)


class GrpcLoad:
    """The C load generator for the protocol of 5.x, a process an order."""

    def __init__(self, program: Path) -> None:
        self._program = program

    def run(self, side: Side, workload: Workload, timing: Timing) -> Sample | Failure:
        """Run a workload once, a consumer in a group that is new."""
        group = _new_group(side)
        if isinstance(group, Failure):
            return group
        command = [self._program, workload.mode, "--port", side.grpc_port, "--topic", workload.topic, "--group", group]
        command += ["--broker-name", BROKER_NAME, "--warmup", timing.warmup, "--seconds", timing.seconds]
        command += ["--server-pid", side.pid, "--count", timing.filled if workload.drain else 0]
        for name, value in workload.options.items():
            command += [f"--{name}", value]
        return read_result(_ran(command, _PATIENCE_SECONDS + timing.warmup + timing.seconds))

    def stop(self) -> None:
        """Nothing: no process remains."""


def _new_group(side: Side) -> str | Failure:
    group = f"bench_{time.monotonic_ns()}"
    try:
        create_group(side, group)
    except RemotingError as error:
        return Failure(reason=f"group {group} cannot be created: {error}")
    return group


class JavaClient:
    """The Java benchmark, one process for all orders; started with the first one."""

    def __init__(self, program: JavaProgram, root: Path) -> None:
        self._program, self._root = program, root
        self._process: subprocess.Popen[bytes] | None = None

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._root.mkdir(parents=True, exist_ok=True)
            logback = self._root / "logback.xml"
            logback.write_text('<configuration><root level="OFF"/></configuration>', "utf-8")
            # The client logs through its own logger into user.home, else through logback to standard output.
            command = [
                self._program.java, *artifacts.JAVA_FLAGS, "-Xms512m", "-Xmx512m", f"-Duser.home={self._root}",
                f"-Dlogback.configurationFile={logback}", "-cp",
                artifacts.classpath(self._program.classes, self._program.jars), self._program.main,
            ]  # fmt: skip
            with (self._root / "java.err").open("ab") as errors:
                self._process = subprocess.Popen(
                    command, cwd=self._root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                    start_new_session=True,
                )  # fmt: skip
        return self._process

    def run(self, side: Side, workload: Workload, timing: Timing) -> Sample | Failure:
        """Run a Java workload once."""
        return self._run(side, workload, timing, {})

    def _run(self, side: Side, workload: Workload, timing: Timing, more: Mapping[str, object]) -> Sample | Failure:
        words = {
            "namesrv": side.name_server, "topic": workload.topic, "pid": side.pid,
            "warmup": timing.warmup, "seconds": timing.seconds, "count": timing.filled, **more, **workload.options,
        }  # fmt: skip
        process = self._started()
        if process.stdin is None or process.stdout is None:
            return Failure(reason="the Java client has no pipes")
        order = " ".join([workload.mode, *(f"{key}={value}" for key, value in words.items())])
        try:
            process.stdin.write(order.encode() + b"\n")
            process.stdin.flush()
        except BrokenPipeError:
            return Failure(reason="the Java client has ended")
        line = self._answer(process.stdout.fileno(), _PATIENCE_SECONDS + timing.warmup + timing.seconds)
        if line is None:
            self.stop()
            return Failure(reason=f"the Java client gave no result of {workload.mode}")
        return read_result(_result(line))

    @staticmethod
    def _answer(descriptor: int, timeout: float) -> bytes | None:
        """The next output line that is a JSON object; None at the end of output or of patience."""
        deadline = time.monotonic() + timeout
        pending = b""
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_READ)
            while selector.select(max(0.0, deadline - time.monotonic())):
                data = os.read(descriptor, 65536)
                if not data:
                    return None
                *lines, pending = (pending + data).split(b"\n")
                for line in lines:
                    if line.startswith(b"{"):
                        return line
        return None

    def stop(self) -> None:
        """End the process."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._process = None


class SdkClient(JavaClient):
    """The benchmark of the Java client of 5.x."""

    def run(self, side: Side, workload: Workload, timing: Timing) -> Sample | Failure:
        """Run a workload once, a consumer in a group that is new."""
        group = _new_group(side)
        if isinstance(group, Failure):
            return group
        return self._run(side, workload, timing, {"front": f"127.0.0.1:{side.grpc_port}", "group": group})
