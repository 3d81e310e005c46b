"""The administration commands do and print the same at this endpoint and at Apache's, with consumers on line too.

Theory: each endpoint gets the same steps in the same order on a separate store. What a command prints as JSON is
compared after addresses, client ids, times and rates are masked; what differs between versions is named at its step.
"""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from compat_tests.endpoints import TARGETS
from compat_tests.waiting import wait_until
from rocketwire.cli import main
from rocketwire.cli.waiting import waits
from rocketwire.compat.brokers.endpoint import Endpoint, running
from rocketwire.compat.clients.client import Client, Clients

pytestmark = pytest.mark.usefixtures("only_rocketwire")  # it starts Apache's itself
OURS: Final = "rocketwire"
OLD: Final = "apache-4.9.7"
NEW: Final = "apache-5.5.0"
EACH: Final = 5  # messages a queue
QUEUES: Final = 2
# 5.5.0 resets members directly, and they take note when their pulls end: else after 15 s.
_SHORT: Final = {"longPollingEnable": "false", "shortPollingTimeMills": "500"}
_TIMES: Final = frozenset({"last_update", "last_consumed", "started", "version"})
_MEASURES: Final = frozenset({"in_tps", "out_tps", "disk_used", "uptime_seconds", "tps"})


@dataclass(slots=True)
class Ran:
    """A command that ended, its output masked."""

    code: int
    out: list[Any]
    err: str


@dataclass(slots=True)
class Scene:
    """One endpoint, and a client of it."""

    name: str
    endpoint: Endpoint
    client: Client
    ran: dict[str, Ran] = field(default_factory=dict)

    def run(self, line: str) -> Ran:
        """`rocketwire` with these words, in this process."""
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
        seconds, waits.seconds = waits.seconds, 1e9
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = main([*line.split(), "--namesrv", self.endpoint.namesrv])
        finally:
            waits.seconds = seconds
        lines = [json.loads(each) if "--json" in line else each for each in _text(out).splitlines()]
        return Ran(code, [self._masked(each) for each in lines], self._hidden(_text(err)))

    def _masked(self, value: Any, key: str = "") -> Any:  # noqa: ANN401 - JSON
        if isinstance(value, dict):
            return {name: self._masked(each, name) for name, each in value.items()}
        if isinstance(value, list):
            # Whether a consumer has found its retry topic yet depends on the moment.
            return [self._masked(each) for each in value if key != "queues" or not each["topic"].startswith("%RETRY%")]
        if key in _MEASURES:
            assert value is not None
            return "MEASURE"
        if key in _TIMES and isinstance(value, int):
            return "TIME"
        if key in {"client_id", "owner"} and value is not None:
            return "CLIENT"
        if key == "address" and value != self.endpoint.broker:
            return value.rpartition(":")[0]  # a client's, on any port
        return self._hidden(value) if isinstance(value, str) else value

    def _hidden(self, text: str) -> str:
        return text.replace(self.endpoint.broker, "BROKER").replace(self.endpoint.namesrv, "NAMESRV")


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()


def send(scene: Scene) -> None:
    """Five messages in each queue."""
    assert len(scene.client.only("sent", "SendNumbered", topic="Orders", each=EACH, pause=20)) == EACH * QUEUES


def join(scene: Scene) -> None:
    """A consumer joins and takes all messages; its offsets are committed then."""
    scene.client.run("Join", name=scene.name, topic="Orders", group="live")
    got = scene.client.only("received", "Collect", name=scene.name, count=EACH * QUEUES, settle=50)
    assert len(got) == EACH * QUEUES
    await_commits(scene)


def await_commits(scene: Scene) -> None:
    """Wait until the consumer's offsets are those behind all messages: it commits them one-way."""
    wait_until(
        lambda: [each["offset"] for each in scene.run("offset show live --topic Orders --json").out] == [EACH] * QUEUES,
        "the consumer has not committed its offsets",
        within=60,
    )


def take_again(scene: Scene) -> None:
    """The consumer that was reset on line gets all messages once more."""
    got = scene.client.only("received", "Collect", name=scene.name, count=EACH * QUEUES, settle=1_000)
    assert sorted(event["text"] for event in got) == [f"{queue}-{n}" for queue in range(QUEUES) for n in range(EACH)]
    await_commits(scene)


def take_queue_again(scene: Scene) -> None:
    """It gets those of queue 0 behind offset 1 again, unless the broker could not do that."""
    if scene.name != OLD:
        got = scene.client.only("received", "Collect", name=scene.name, count=EACH - 1, settle=1_000)
        assert sorted(event["text"] for event in got) == [f"0-{n}" for n in range(1, EACH)]


def leave(scene: Scene) -> None:
    """The consumer leaves."""
    scene.client.run("LeaveAll")
    await_commits(scene)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A command; `codes` has the exit codes of endpoints that differ, `differs` those with another output."""

    line: str
    code: int = 0
    codes: Mapping[str, int] = field(default_factory=dict)
    differs: frozenset[str] = frozenset()


def step(line: str, code: int = 0, /, differs: str = "", **codes: int) -> Step:
    names = {"old": OLD, "new": NEW, "ours": OURS}
    return Step(
        line=line,
        code=code,
        codes={names[name]: each for name, each in codes.items()},
        differs=frozenset(names[name] for name in differs.split()),
    )


STEPS: Final[tuple[Step | Callable[[Scene], None], ...]] = (
    step("topic create Orders --queues 2 --json"),
    step("topic create Orders --queues 4 --json", 1),
    step("topic create a/b --json", 2),
    step("topic create SELF_TEST_TOPIC --json", 1),
    step("topic show Orders --json"),
    step("topic show Odrers --json", 1),
    step("topic alter Orders --json", 2),
    step("topic alter Orders --perm R --read-queues 4 --json"),
    step("topic show Orders --cluster DefaultCluster --json"),
    step("topic alter Orders --perm RW --queues 2 --broker broker-a --json"),
    step("topic route Orders --json"),
    step("topic list --kind own --json"),
    step("topic list --cluster DefaultCluster --kind own --json"),
    step("topic list --cluster Other --json", 1),
    step("topic list --kind dead-letter", 1),
    send,
    step("topic stats Orders --json"),
    step("group create orders --max-retries 3 --retry-queues 2 --no-broadcast --json"),
    step("group show orders --json"),
    step("group create orders --disable --json"),
    step("group show order --json", 1),
    step("group members orders --json", 1),
    step("group lag orders --json", 1),
    # A broker of 4.x does not distinguish "no offset" from 0.
    step("offset reset orders --topic Orders --to 2 --dry-run --json", differs="old"),
    step("group lag orders --json", 1),
    step("offset reset orders --topic Orders --to 2 --json", differs="old"),
    step("group lag orders --json"),
    step("offset show orders --json"),
    step("offset reset orders --topic Orders --to 9 --json", 1),
    step("offset reset orders --topic Orders --to earliest --queue 1 --json"),
    step("offset reset orders --topic Orders --to 1 --queue 2 --json", 1),
    step("offset reset orders --topic Orders --to 2020-01-01 --json"),
    step("offset skip orders --topic Orders --dry-run --json"),
    step("offset skip orders --topic Orders --json"),
    step("offset clone orders copy --dry-run --json", differs="old"),
    step("offset clone orders copy --topic Orders --json", differs="old"),
    step("offset show copy --json"),
    step("group lag copy --topic Orders --json"),
    step("offset show nobody", 1),
    step("offset reset orders --topic Oders --to earliest", 1),
    join,
    step("group list --kind own --json"),
    step("group show live --json"),
    step("group members live --json"),
    step("group lag live --topic Orders --json"),
    step("offset reset live --topic Orders --to earliest --dry-run --json"),
    step("offset reset live --topic Orders --to earliest --json"),
    take_again,
    step("offset reset live --topic Orders --to 1 --queue 0 --json", old=1),
    take_queue_again,
    leave,
    step("group lag live --topic Orders --json"),
    step("group delete live", 2),
    step("group delete live --yes --json"),
    step("group delete live --yes --json", 1),
    step("group list --kind own --json"),
    step("cluster show --json", differs="new"),
    step("broker config --get autoCreateTopicEnable --json"),
    step("broker config --set autoCreateTopicEnable=false --json"),
    step("broker config --set autoCreateTopicEnabl=false", 1),
    step("broker config --set flushDiskType=SOMETIMES", 1, differs="old new"),
    step("broker stats --get brokerVersionDesc --json", differs="new"),
    step("broker wipe-write broker-a --json", differs="new"),
    step("topic route Orders --json"),
    step("broker add-write broker-a --json", differs="new"),
    step("broker add-write broker-b", 1),
    step("namesrv config --set orderMessageEnable=true --json"),
    step("namesrv config --get orderMessageEnabl", 1),
    step("namesrv kv put Fruit apple 3 --json"),
    step("namesrv kv get Fruit apple --json"),
    step("namesrv kv get Fruit aple", 1),
    step("namesrv kv list Fruit --json"),
    step("namesrv kv delete Fruit apple --json"),
    step("namesrv kv delete Fruit apple", 1),
    step("topic create Steps --queues 3 --order --json"),
    step("topic show Steps --json"),
    step("namesrv kv get ORDER_TOPIC_CONFIG Steps --json"),
    step("topic route Steps  --json"),
    step("topic delete Steps --yes --json"),
    step("namesrv kv list ORDER_TOPIC_CONFIG", 1),
    step("topic create Typed --message-type FIFO --json", old=1),
    step("topic show Typed --json", old=1),
    step("topic delete Orders --yes --json"),
    step("topic delete Orders --yes", 1),
)
LINES: Final = [f"{place} {each.line}" for place, each in enumerate(STEPS) if isinstance(each, Step)]


@dataclass(slots=True)
class Scenes:
    """The endpoints' scenes, each played when it is first needed."""

    clients: Clients
    played: dict[str, Scene] = field(default_factory=dict)

    def of(self, name: str) -> Scene:
        """An endpoint's, with the output of all its commands."""
        if name not in self.played:
            with tempfile.TemporaryDirectory(prefix="compat-") as folder:
                settings = {"brokerName": "broker-a", **_SHORT} if name == NEW else {"brokerName": "broker-a"}
                endpoint = TARGETS[name](Path(folder), settings=settings)
                with running(endpoint):
                    client = Client(clients=self.clients, id="java-4.9.7", namesrv=endpoint.namesrv)
                    self.played[name] = scene = Scene(name, endpoint, client)
                    self._play(scene)
        return self.played[name]

    @staticmethod
    def _play(scene: Scene) -> None:
        try:
            for place, each in enumerate(STEPS):
                if isinstance(each, Step):
                    scene.ran[f"{place} {each.line}"] = scene.run(each.line)
                else:
                    each(scene)
        finally:
            scene.client.run("LeaveAll")


@pytest.fixture(scope="module")
def scenes(clients: Clients) -> Scenes:
    return Scenes(clients)


def of_line(line: str) -> Step:
    found = STEPS[int(line.partition(" ")[0])]
    assert isinstance(found, Step)
    return found


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("name", [OURS, OLD, NEW])
def test_ends_as_it_should(scenes: Scenes, name: str, line: str) -> None:
    wanted, ran = of_line(line), scenes.of(name).ran[line]
    assert ran.code == wanted.codes.get(name, wanted.code), ran
    if ran.code:
        assert len(ran.err.splitlines()) == 1 or "kind dead-letter" in line, ran.err
        assert not ran.out
    else:
        assert ran.out


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("name", [OLD, NEW])
def test_both_print_the_same(scenes: Scenes, name: str, line: str) -> None:
    wanted, theirs, ours = of_line(line), scenes.of(name).ran[line], scenes.of(OURS).ran[line]
    if name in wanted.differs or name in wanted.codes:
        assert (theirs.out, theirs.err) != (ours.out, ours.err), "they agree now"
    else:
        assert (theirs.out, theirs.err) == (ours.out, ours.err)
