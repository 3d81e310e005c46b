"""Handles (POP_CK) in messages that consumers forward do not pass a proxy that checks sends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rocketwire.server.proxy.sends import without_handles
from rocketwire.wire.batch import BatchItem, decode_batch, encode_batch
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.header import Header, decode_header
from tests.server.acl.test_every_code import OTHER, signed
from tests.server.harness import BINARY, JSON, send_ext
from tests.server.proxy.test_one_reading import recorded
from tests.server.proxy.test_signing import OWN

TEXT = "a\x011\x02POP_CK\x010 1 2 3 0 b 0 0\x02POP_CKX\x012"
CLEAN = "a\x011\x02POP_CKX\x012"


@pytest.mark.parametrize("serialize_type", [JSON, BINARY])
@pytest.mark.parametrize("keys", [{"topic_quotas": "T=100/-"}, OWN], ids=["quotas", "account"])
async def test_a_handle_does_not_reach_the_broker(tmp_path: Path, keys: dict[str, Any], serialize_type: int) -> None:
    async with recorded(tmp_path, accounts=False, **keys) as (client, headers):
        for code, short in ((RequestCode.SEND_MESSAGE, False), (RequestCode.SEND_MESSAGE_V2, True)):
            ext = send_ext("T", short=short, properties=TEXT)
            assert (await client.request(code, ext, b"x", serialize_type=serialize_type)).header.code == 0
            got = decode_header(memoryview(headers[-1]), serialize_type).ext
            assert got is not None
            assert got["i" if short else "properties"] == CLEAN


async def test_a_message_with_the_clients_signature_is_unchanged(tmp_path: Path) -> None:
    async with recorded(tmp_path, accounts=False, topic_quotas="T=100/-") as (client, headers):
        ext = signed(OTHER, send_ext("T", properties=TEXT))
        assert (await client.request(RequestCode.SEND_MESSAGE_V2, ext, b"x")).header.code == 0
        assert decode_header(memoryview(headers[-1]), JSON).ext == ext


@pytest.mark.parametrize(("code", "batch"), [(RequestCode.SEND_BATCH_MESSAGE, "false"), (310, "true"), (10, "true")])
def test_handles_are_removed_from_batches(code: int, batch: str) -> None:
    name = "batch" if code == RequestCode.SEND_MESSAGE else "m"
    header = Header(code=code, opaque=1, ext={name: batch})
    body = encode_batch([BatchItem(1, b"POP_CK", TEXT.encode()), BatchItem(2, b"y", b"")])
    same, changed = without_handles(header, body)
    assert same is header
    assert decode_batch(changed) == [(1, b"POP_CK", CLEAN.encode()), (2, b"y", b"")]
    wrong = body[:-1]
    assert without_handles(header, wrong) == (header, wrong)


@pytest.mark.parametrize(
    ("code", "ext", "body"),
    [(310, {"i": CLEAN.replace("POP_CKX", "P")}, TEXT.encode()), (11, {"i": TEXT}, b""), (310, None, TEXT.encode())],
)
def test_a_message_without_a_handle_is_unchanged(code: int, ext: dict[str, str] | None, body: bytes) -> None:
    header = Header(code=code, opaque=1, ext=ext)
    same, unchanged = without_handles(header, body)
    assert same is header
    assert unchanged is body
