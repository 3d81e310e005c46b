"""A schema registry: schemas by id or by subject, over HTTP, as Confluent's answers (Karapace's and Apicurio's too)."""

from __future__ import annotations

import base64
import json
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from rocketwire.spark.errors import BodyMalformed, RegistryFailed

_KEPT: Final = 4096
_NOT_FOUND: Final = 404
#: A registry's own code for an id that it does not know; a server that is none answers 404, too.
_NO_SCHEMA: Final = 40403
_ACCEPT: Final = "application/vnd.schemaregistry.v1+json, application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredSchema:
    """A schema as the registry has it.

    Attributes:
        text: Its definition.
        kind: AVRO, PROTOBUF or JSON.
        references: Definitions that it refers to, in an order in which each one knows those before it.
    """

    text: str
    kind: str
    references: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SchemaRegistry:
    """Where a registry is. Tasks query it themselves: workers must reach it.

    A Python worker keeps up to 4,096 schemas, and queries each id once.

    Attributes:
        url: As `https://registry:8081`, perhaps with a path.
        user_info: `NAME:PASSWORD` for HTTP's basic authentication.
        token: A bearer token, instead of that.
        timeout: Of each request, in seconds.
    """

    url: str
    user_info: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    timeout: float = 15.0

    def by_id(self, number: int) -> RegisteredSchema:
        """A schema by its id.

        Raises:
            BodyMalformed: the registry knows no such id.
            RegistryFailed: it does not answer, or refuses.
        """
        return _by_id(self, number)

    def latest(self, subject: str) -> RegisteredSchema:
        """The latest version of a subject.

        Raises:
            RegistryFailed: the registry does not answer, or refuses, or has no such subject.
        """
        return _registered(self, self._get(f"subjects/{urllib.parse.quote(subject, safe='')}/versions/latest"))

    def _get(self, path: str) -> dict[str, Any]:
        """An answer of the registry; each cause of a failure is in the error."""
        url = f"{self.url.rstrip('/')}/{path}"
        headers = {"Accept": _ACCEPT}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        elif self.user_info is not None:
            headers["Authorization"] = f"Basic {base64.b64encode(self.user_info.encode()).decode()}"
        if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
            raise RegistryFailed(f"{self.url} is no address of a schema registry", "It begins with http:// or https://")
        try:
            with urllib.request.urlopen(  # noqa: S310 - of http and https only
                urllib.request.Request(url, headers=headers),  # noqa: S310
                timeout=self.timeout,
            ) as answer:
                found = json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                code, said = _refusal(error)
            if error.code == _NOT_FOUND and code == _NO_SCHEMA:
                raise BodyMalformed(f"{url}: {said}", "The body may be none of this registry") from error
            remedy = "Check address, account and subject"
            raise RegistryFailed(f"{url} answers {error.code} ({said})", remedy) from error
        except (OSError, ValueError) as error:
            raise RegistryFailed(f"{url} cannot be read: {error}", "Driver and workers must reach it") from error
        if not isinstance(found, dict) or not isinstance(found.get("schema"), str):
            raise RegistryFailed(f"{url} answers without a schema", "Check that it is the address of a schema registry")
        return found


def _refusal(error: urllib.error.HTTPError) -> tuple[int | None, str]:
    try:
        said = json.load(error)
        return int(said["error_code"]), str(said.get("message", error.reason))
    except (ValueError, KeyError, TypeError):
        return None, str(error.reason)


# What an id means never changes.
@lru_cache(maxsize=_KEPT)
def _by_id(registry: SchemaRegistry, number: int) -> RegisteredSchema:
    return _registered(registry, registry._get(f"schemas/ids/{number}"))  # noqa: SLF001


def _registered(registry: SchemaRegistry, found: dict[str, Any]) -> RegisteredSchema:
    references: dict[tuple[str, int], str] = {}
    _collect(registry, found, references)
    return RegisteredSchema(
        text=found["schema"], kind=found.get("schemaType", "AVRO"), references=tuple(references.values())
    )


def _collect(registry: SchemaRegistry, found: dict[str, Any], into: dict[tuple[str, int], str]) -> None:
    """Add what a schema refers to, the innermost first."""
    for one in found.get("references") or ():
        place = str(one["subject"]), int(one["version"])
        if place not in into:
            subject = urllib.parse.quote(place[0], safe="")
            text = registry._get(f"subjects/{subject}/versions/{place[1]}")  # noqa: SLF001
            _collect(registry, text, into)
            into[place] = text["schema"]
