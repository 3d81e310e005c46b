"""Each schema is queried once from a registry; refusals differ from unknown ids."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pytest

from rocketwire.spark.bodies.registry import RegisteredSchema, SchemaRegistry
from rocketwire.spark.errors import BodyMalformed, RegistryFailed
from tests.spark.bodies.registry_server import Fake, registry


@pytest.fixture
def fake() -> Iterator[Fake]:
    with registry() as found:
        yield found


def test_a_schema_is_queried_once(fake: Fake) -> None:
    fake.add(7, {"type": "string"}, subject="s")
    requested = SchemaRegistry(f"{fake.url}/")
    for _ in range(3):
        assert requested.by_id(7) == RegisteredSchema(text='{"type": "string"}', kind="AVRO", references=())
    assert pickle.loads(pickle.dumps(requested)).by_id(7).kind == "AVRO"
    assert fake.requests == [("/schemas/ids/7", None)]


def test_the_latest_of_a_subject(fake: Fake) -> None:
    fake.add(1, '"int"', subject="Orders%2Fvalue")
    assert SchemaRegistry(fake.url).latest("Orders/value").text == '"int"'


def test_references_come_innermost_first(fake: Fake) -> None:
    fake.add(1, "a", subject="a", version=3)
    fake.add(2, "b", subject="b", references=[{"name": "a", "subject": "a", "version": 3}])
    both = [{"name": "b", "subject": "b", "version": 1}, {"name": "a", "subject": "a", "version": 3}]
    fake.add(3, "c", subject="c", references=both, schemaType="PROTOBUF")
    found = SchemaRegistry(fake.url).by_id(3)
    assert (found.references, found.kind) == (("a", "b"), "PROTOBUF")


@pytest.mark.parametrize(
    ("account", "header"),
    [({"user_info": "me:secret"}, "Basic bWU6c2VjcmV0"), ({"token": "t0k3n"}, "Bearer t0k3n")],
)
def test_accounts(fake: Fake, account: dict[str, Any], header: str) -> None:
    fake.add(1, "x")
    requested = SchemaRegistry(fake.url, **account)
    requested.by_id(1)
    assert fake.requests[0][1] == header
    assert "secret" not in repr(requested)
    assert "t0k3n" not in repr(requested)


@pytest.mark.parametrize(
    ("answer", "error", "says"),
    [
        (None, BodyMalformed, "Schema not found"),
        ({"error_code": 40401, "message": "Subject not found"}, RegistryFailed, "answers 404 .Subject not found"),
        ({"error_code": 40101, "message": "Unauthorized"}, RegistryFailed, "answers 401"),
        ({"error_code": 50001, "message": "Error in the backend"}, RegistryFailed, "answers 500"),
        (b"<html>", RegistryFailed, "cannot be read"),
        ({"id": 3}, RegistryFailed, "without a schema"),
    ],
)
def test_failures(fake: Fake, answer: object, error: type[Exception], says: str) -> None:
    if answer is not None:
        fake.answers["/schemas/ids/5"] = answer
    with pytest.raises(error, match=says):
        SchemaRegistry(fake.url).by_id(5)


@pytest.mark.parametrize("url", ["file:///etc", "http://127.0.0.1:1"])
def test_no_registry(url: str) -> None:
    with pytest.raises(RegistryFailed, match=r"no address|cannot be read"):
        SchemaRegistry(url).latest("s")
