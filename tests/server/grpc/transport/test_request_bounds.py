"""The cost bounds of 5.x clients' requests: of every method, of a broker and of a proxy, with and without accounts."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import pytest

from rocketwire.server.limits.limits import Limits
from rocketwire.server.net.admission.in_flight import InFlight
from rocketwire.server.net.output import HIGH_WATER
from rocketwire.wire.addresses import Address
from rocketwire.wire.grpc import service_pb2 as s
from rocketwire.wire.grpc.codes import Code, GrpcStatus
from rocketwire.wire.grpc.methods import ANONYMOUS, METHODS
from rocketwire.wire.grpc.queue_lists import varint
from tests.server.grpc.sdk import SERVICE, Incoming, Sdk, receive_request
from tests.server.grpc.test_access import ACCOUNTS, signed
from tests.server.grpc.transport.bounding import Case, LongestStep, cases, outcome_of
from tests.server.harness import Server, serving, settle
from tests.server.proxy.proxied import proxying
from tests.slowness import within

MOST_SECONDS: Final = 0.05


@contextlib.asynccontextmanager
async def listening(folder: Path, kind: str) -> AsyncIterator[tuple[Server, Address]]:
    """A server, and its address or that of a proxy before it; `guarded` ones have accounts."""
    file = folder / "plain_acl.yml"
    file.write_text(ACCOUNTS)
    own: dict[str, Any] = {"acl_enable": True, "acl_file": str(file)} if "guarded" in kind else {}
    async with serving(folder / "store", **({} if "proxy" in kind else own)) as server:
        if "proxy" not in kind:
            yield server, server.broker_address
            return
        await server.broker().create_topic("T")
        async with proxying(folder / "p", server.name_server_address, **own) as proxy:
            yield server, proxy.standing.listened


KINDS: Final = ("serve", "serve guarded", "proxy", "proxy guarded")


def is_refused(case: Case, found: Incoming) -> bool:
    """Whether a request was refused as too large."""
    if case.what == "bytes":
        return found.headers.get("grpc-status") == str(int(GrpcStatus.RESOURCE_EXHAUSTED))
    if METHODS[case.path].streams_requests or case.path in ANONYMOUS:
        return "callEntries=" in found.headers.get("grpc-message", "")
    (response,) = found.messages(METHODS[case.path].response)[:1] or [None]
    status = getattr(response, "status", None)
    return getattr(status, "code", None) == Code.PAYLOAD_TOO_LARGE and "callEntries=" in status.message  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", KINDS)
async def test_the_largest_request_is_served_and_the_next_is_refused(kind: str, tmp_path: Path) -> None:
    async with listening(tmp_path, kind) as (_, address):
        headers = signed("admin-account") if "guarded" in kind else {}
        with Sdk(address, headers=headers) as sdk, LongestStep() as longest:
            await sdk.call("Heartbeat", s.HeartbeatRequest())  # the first call imports protobuf
            for path in METHODS:
                for case in cases(path):
                    longest.seconds = 0.0
                    found = await outcome_of(sdk, case)
                    assert found.over or found.data
                    served = path in SERVED or case.what == "bytes"
                    assert is_refused(case, found) == (case.refused and served), (case[:2], case.length, found.headers)
                    assert within(longest.seconds, MOST_SECONDS), (case[:2], case.refused, longest.seconds)


SERVED: Final = frozenset(
    path
    for path in METHODS
    if path.rpartition("/")[2] not in {"PullMessage", "UpdateOffset", "GetOffset", "QueryOffset", "List"}
)
"""The others only exist in the service description: any request is answered with UNIMPLEMENTED."""


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> list[InFlight]:
    """The account of bytes in flight, once a server runs."""
    found: list[InFlight] = []
    real = InFlight.__init__

    def made(self: InFlight, limits: Limits) -> None:
        found.append(self)
        real(self, limits)

    monkeypatch.setattr(InFlight, "__init__", made)
    return found


async def test_a_request_counts_as_in_flight_until_it_is_answered(tmp_path: Path, counts: list[InFlight]) -> None:
    async with serving(tmp_path / "store") as server:
        await server.broker().create_topic("T")
        with Sdk(server.broker_address) as sdk:
            padding = b"\xa2\x06" + varint(50_000) + bytes(50_000)  # field 100
            stream = sdk.open(f"{SERVICE}ReceiveMessage")
            sdk.put(stream, receive_request(polling=20).SerializeToString() + padding)
            await sdk.send_out()
            await settle()
            assert counts[0].counted > 50_000
            await sdk.cancel(stream)
            await settle()
            assert counts[0].counted < 10_000


async def test_no_message_of_a_stream_is_read_while_its_answers_wait(tmp_path: Path, counts: list[InFlight]) -> None:
    async with serving(tmp_path / "store") as server:
        with Sdk(server.broker_address, window=0) as sdk:
            path = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
            stream = sdk.open(path)
            query = METHODS[path].request(file_containing_symbol="apache.rocketmq.v2.MessagingService")
            for _ in range(900):
                sdk.put(stream, query, end=False)
            await sdk.send_out()
            await settle()
            await sdk.rest()
            assert not sdk.ended
            assert HIGH_WATER < counts[0].counted < HIGH_WATER + (1 << 20)


@pytest.mark.parametrize("kind", ["serve guarded", "proxy guarded"])
@pytest.mark.parametrize("headers", [{}, signed("producer-account", "wrong"), signed("stranger")])
async def test_a_request_without_an_account_is_not_read(kind: str, headers: dict[str, str], tmp_path: Path) -> None:
    async with listening(tmp_path, kind) as (_, address):
        with Sdk(address, headers=headers) as sdk:
            for path in sorted(set(METHODS) - ANONYMOUS):
                for payload in (b"\x1a\0" * 2000, b"\xff\xff"):
                    found = await outcome_of(sdk, Case(path, "entries", payload, len(payload), refused=True))
                    (response,) = found.messages(METHODS[path].response)[:1] or [None]
                    error_text = found.headers.get("grpc-message", "") if response is None else response.status.message
                    assert "AclException" in error_text or "unknown method" in error_text, (path, found.headers)
