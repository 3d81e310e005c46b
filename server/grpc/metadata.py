"""The metadata of a 5.x client's calls: the headers of the HTTP/2 request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rocketwire.server.core.request import CallSignature
from rocketwire.wire.facts.codes import LANGUAGE_CODES, LANGUAGE_OTHER
from rocketwire.wire.grpc.authorization import AUTHORIZATION, DATE_TIME, parse_authorization
from rocketwire.wire.grpc.codes import CallInvalid
from rocketwire.wire.grpc.times import timeout_ms

CLIENT_ID: Final = "x-mq-client-id"
LANGUAGE: Final = "x-mq-language"
TIMEOUT: Final = "grpc-timeout"

_LANGUAGES: Final = {"GOLANG": "GO", "DOT_NET": "DOTNET", "NODEJS": "NODE_JS"}
"""SDKs' names of languages that the remoting protocol names otherwise."""


def read_proof(headers: Mapping[str, str], remote: str) -> CallSignature:
    """The account that a client at this address names, and its signature of the time.

    The Python SDK sends an empty access key where none is configured.
    """
    text = headers.get(AUTHORIZATION)
    if text is None:
        return CallSignature(remote)
    try:
        access_key, signature = parse_authorization(text)
    except CallInvalid:  # as good as none
        return CallSignature(remote)
    return CallSignature(remote, access_key, headers.get(DATE_TIME, "").encode("utf-8", "replace"), signature)


def read_timeout(headers: Mapping[str, str]) -> int | None:
    """How many ms a client waits for the response; None: it gives no time.

    Raises:
        CallInvalid: it cannot be read.
    """
    text = headers.get(TIMEOUT)
    return None if text is None else timeout_ms(text)


def read_language(headers: Mapping[str, str]) -> str:
    """The language of a client's SDK, as headers of the remoting protocol have it."""
    language = headers.get(LANGUAGE, "").upper()
    found = _LANGUAGES.get(language, language)
    return found if found in LANGUAGE_CODES else LANGUAGE_OTHER
