"""A whole run: tasks in threads, second attempts behind a recording proxy, and the results of all.

Theory: scenarios mostly wait, so several run at the same time, each with a separate process of its client. An
attempt that did not pass is made once more behind a recording proxy: what passed there is the evidence, and a scenario
that passes then is flaky. A stop kills the processes; the threads' scenarios fail at once by that.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from rocketwire.compat.case import Case
from rocketwire.compat.clients.adapter import Adapter, Engine, Security
from rocketwire.compat.clients.client import Client, Clients, Stopped
from rocketwire.compat.clients.process import Argument
from rocketwire.compat.endpoint import Facts
from rocketwire.compat.engine.attempt import Tried, attempt
from rocketwire.compat.engine.clean import remove
from rocketwire.compat.engine.frame_diff import frame_diff
from rocketwire.compat.engine.plan import Task
from rocketwire.compat.engine.pool import Pool
from rocketwire.compat.engine.recording import Recording
from rocketwire.compat.results import Attempt, Outcome, Result, Side
from rocketwire.compat.scenario import Scenario

_LOOK: Final = 0.2  # seconds between two checks for Ctrl-C


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a run is made.

    Attributes:
        engine: Where clients run.
        clients: The adapters of the clients under test, by id; all are prepared.
        helper: That of the helping client, prepared; None where it cannot run.
        sides: What is known of the endpoint, and of the reference if there is one.
        security: What the endpoint demands.
        jobs: How many scenarios run at the same time.
        limit: Seconds that a scenario may take, whatever its own limit; None: its own.
    """

    engine: Engine
    clients: Mapping[str, Adapter]
    helper: Adapter | None
    sides: Mapping[Side, Facts]
    security: frozenset[Security] = frozenset()
    jobs: int = 4
    limit: float | None = None


Observer = Callable[[Result], None]
"""Is called with each result as it comes, from the thread that called `run`."""


@dataclass(slots=True)
class Run:
    """One run of tasks.

    Args:
        settings: How it is made.
        tasks: What runs, in this order as far as threads allow.
    """

    settings: Settings
    tasks: Sequence[Task]
    prefix: str = field(default_factory=lambda: f"rwc{uuid.uuid4().hex[:8]}")
    """Begins the names of all topics and groups of the run."""
    complaints: list[str] = field(default_factory=list)
    """What could not be removed at the end, a line each."""
    _pool: Pool = field(init=False)
    _waiting: queue.SimpleQueue[Task] = field(init=False, default_factory=queue.SimpleQueue)
    _done: queue.SimpleQueue[Result | BaseException | None] = field(init=False, default_factory=queue.SimpleQueue)
    _left: Counter[str] = field(init=False, default_factory=Counter)
    _recorded: dict[tuple[str, str], Recording] = field(init=False, default_factory=dict)
    _lock: threading.Lock = field(init=False, default_factory=threading.Lock)

    def __post_init__(self) -> None:
        """Prepare the queue of tasks."""
        every = dict(self.settings.clients)
        if self.settings.helper is not None:
            every.setdefault(self.settings.helper.id, self.settings.helper)
        self._pool = Pool(self.settings.engine, every)
        for task in self.tasks:
            if not task.reason:
                self._waiting.put(task)
                self._left[task.client] += 1

    def run(self, observe: Observer) -> list[Result]:
        """Run all tasks, compare frames with those of the reference, and remove all topics and groups.

        Raises:
            KeyboardInterrupt: Ctrl-C; processes, topics and groups are removed by then.
        """
        results: list[Result] = []

        def take(result: Result) -> None:
            results.append(result)
            observe(result)

        for task in self.tasks:
            if task.reason:
                take(_without_run(task, task.reason))
        threads = [
            threading.Thread(target=self._work, name=f"compat-{number}", daemon=True)
            for number in range(min(self.settings.jobs, max(1, self._waiting.qsize())))
        ]
        try:
            for thread in threads:
                thread.start()
            self._collect(len(threads), take)
            results = self._compared(results)
        except BaseException:
            self._pool.stop()
            raise
        finally:
            for thread in threads:
                thread.join()
            self._pool.close()
            for facts in self.settings.sides.values():
                self.complaints += remove(facts.access, self.prefix)
        return results

    def _collect(self, workers: int, take: Callable[[Result], None]) -> None:
        while workers:
            with contextlib.suppress(queue.Empty):
                found = self._done.get(timeout=_LOOK)
                if isinstance(found, Result):
                    take(found)
                elif found is None:
                    workers -= 1
                else:
                    raise found

    def _work(self) -> None:
        """Run tasks until none remains, or the run is stopped."""
        try:
            while True:
                task = self._waiting.get_nowait()
                self._done.put(self._result(task))
                with self._lock:
                    self._left[task.client] -= 1
                    over = not self._left[task.client]
                if over:
                    self._pool.close_idle(task.client)
        except (queue.Empty, Stopped):
            self._done.put(None)
        except BaseException as error:  # noqa: BLE001 - the thread that waits raises it
            self._done.put(error)

    def _result(self, task: Task) -> Result:
        first, attempt = self._attempt(task, recorded=False)
        if first.outcome in {Outcome.PASS, Outcome.NOT_OFFERED}:
            attempts = () if first.outcome is Outcome.NOT_OFFERED else (attempt,)
            return _result(task, first.outcome, first.reason, first.seconds, attempts)
        second, again = self._attempt(task, recorded=True)
        outcome, reason = second.outcome, second.reason
        if outcome is Outcome.PASS:
            outcome, reason = Outcome.FLAKY, f"it passed when it ran again; at first: {first.reason}"
        return _result(task, outcome, reason, first.seconds + second.seconds, (attempt, again))

    def _attempt(self, task: Task, *, recorded: bool) -> tuple[Tried, Attempt]:
        facts = self.settings.sides[task.side]
        if not recorded:
            tried, log = self._once(task.scenario, task.client, facts, facts.access.namesrv, name=task.side[:1])
            return tried, Attempt(
                passed=tried.outcome is Outcome.PASS, seconds=tried.seconds, error=tried.error, log=log
            )
        with Recording(facts.access) as recording:
            tried, log = self._once(task.scenario, task.client, facts, recording.namesrv, name="x", plain=True)
        with self._lock:
            self._recorded[task.scenario.id, f"{task.client} {task.side}"] = recording
        return tried, Attempt(
            passed=tried.outcome is Outcome.PASS,
            seconds=tried.seconds,
            error=tried.error,
            log=log,
            frames=recording.frames(),
        )

    def _once(
        self, scenario: Scenario, client: str, facts: Facts, namesrv: str, *, name: str, plain: bool = False
    ) -> tuple[Tried, str]:
        """One attempt at an address, `plain`: without TLS, as the proxy is reached; and what the client logged.

        Behind proxies the names of topics and groups are the same on both sides, so that frames can be compared.
        """
        adapter = self.settings.clients[client]
        env = self._environment(scenario, adapter, plain=plain and not adapter.grpc)  # the proxy is for remoting
        clients = self._pool.take(client, env)
        limit = self.settings.limit or scenario.limit
        helper = self.settings.helper
        of_helper = {} if helper is None else self._secured(helper, plain=plain)
        helping = None if helper is None or helper.id == client else self._pool.take(helper.id, of_helper)
        begin = clients.log_size(client)
        deadline = time.monotonic() + limit
        number = [each.scenario.id for each in self.tasks].index(scenario.id)
        case = Case(
            client=self._client(clients, client, namesrv, facts, deadline),
            offered=adapter.programs,
            helper=None
            if helping is None or helper is None
            else self._client(helping, helper.id, namesrv, facts, deadline),
            endpoint=facts,
            prefix=f"{self.prefix}_{client.replace('.', '-')}_{number}{name}",
            deadline=deadline,
        )
        try:
            tried = attempt(scenario, case)
            return tried, clients.log(client, begin)
        finally:
            self._pool.give_back(clients, client, env)
            if helping is not None and helper is not None:
                self._pool.give_back(helping, helper.id, of_helper)

    def _environment(self, scenario: Scenario, adapter: Adapter, *, plain: bool) -> dict[str, str]:
        env = self._secured(adapter, plain=plain)
        for key, value in scenario.environment.items():
            env[key] = f"{env[key]} {value}" if key in env else value
        return env

    def _secured(self, adapter: Adapter, *, plain: bool) -> dict[str, str]:
        """What has a client encrypt and sign as the endpoint demands."""
        security = self.settings.security - {Security.TLS} if plain else self.settings.security
        return {**adapter.environment(security)}

    def _client(self, clients: Clients, client: str, namesrv: str, facts: Facts, deadline: float) -> Client:
        account = facts.access.credentials
        always: dict[str, Argument] = (
            {} if account is None else {"accessKey": account.access_key, "secretKey": account.secret_key}
        )
        if facts.access.grpc:
            always["endpoints"] = facts.access.grpc
        return Client(clients=clients, id=client, namesrv=namesrv, always=always, deadline=deadline)

    def _compared(self, results: list[Result]) -> list[Result]:
        """The results, with the differences of frames where the reference passes what the endpoint does not."""
        passed = {(each.scenario, each.client) for each in results if each.side is Side.REFERENCE and _fine(each)}
        scenarios = {task.scenario.id: task.scenario for task in self.tasks}
        found = []
        for each in results:
            cell = (each.scenario, each.client)
            recording = self._recorded.get((each.scenario, f"{each.client} {Side.ENDPOINT}"))
            if each.side is Side.ENDPOINT and not _fine(each) and recording is not None and cell in passed:
                task = Task(scenario=scenarios[each.scenario], client=each.client, side=Side.REFERENCE)
                self._attempt(task, recorded=True)
                reference = self._recorded[each.scenario, f"{each.client} {Side.REFERENCE}"]
                found.append(msgspec.structs.replace(each, frame_diff=frame_diff(reference.items, recording.items)))
            else:
                found.append(each)
        return found


def _fine(result: Result) -> bool:
    return result.outcome is Outcome.PASS


def _without_run(task: Task, reason: str) -> Result:
    return _result(task, Outcome.NOT_OFFERED, reason, 0.0, ())


def _result(task: Task, outcome: Outcome, reason: str, seconds: float, attempts: tuple[Attempt, ...]) -> Result:
    return Result(
        scenario=task.scenario.id,
        client=task.client,
        side=task.side,
        outcome=outcome,
        reason=reason,
        seconds=seconds,
        attempts=attempts,
    )
