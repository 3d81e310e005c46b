"""The reports in the body of a trace message as values of a row, whatever version of a client wrote them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

from pyspark.sql.types import ArrayType, BooleanType, DataType, IntegerType, LongType, StringType

from rocketwire.wire.errors import TraceInvalid
from rocketwire.wire.properties import split_keys
from rocketwire.wire.trace import CONSUME_RESULTS, FIELD_SEP, MESSAGE_TYPES, REPORT_SEP, decode_traces

#: The fields of a hop in a body, and their types; times are ms since 1970.
FIELDS: Final[dict[str, DataType]] = {
    "kind": StringType(),
    "time": LongType(),
    "message_id": StringType(),
    "topic": StringType(),
    "group": StringType(),
    "tags": StringType(),
    "keys": ArrayType(StringType()),
    "cost": LongType(),
    "success": BooleanType(),
    "result": StringType(),
    "retry_times": IntegerType(),
    "request_id": StringType(),
    "client_host": StringType(),
    "store_host": StringType(),
    "message_type": StringType(),
    "body_length": LongType(),
    "offset_message_id": StringType(),
    "transaction_id": StringType(),
    "from_check": BooleanType(),
    "region": StringType(),
    "problem": StringType(),
}
#: Years 1 to 9999, in ms since 1970: Spark refuses times that are far out of them.
_TIMES: Final = range(-62_135_596_800_000, 253_402_300_800_000)
_REPORT_SEP: Final = REPORT_SEP.encode()


def hops_of(body: bytes) -> list[dict[str, Any]]:
    """The hops that a body reports; one that cannot be read has nothing but its kind, and what is wrong."""
    return [hop for report in body.split(_REPORT_SEP) for hop in _hops_of(report)]


def _hops_of(report: bytes) -> list[dict[str, Any]]:
    kind = report.partition(FIELD_SEP.encode())[0].decode("utf-8", "replace")
    try:
        found = [{"kind": kind, **asdict(trace)} for trace in decode_traces(report)]
    except TraceInvalid as error:
        return [{"kind": kind, "problem": str(error)}]
    for hop in found:
        _name(hop)
    return found


def _name(hop: dict[str, Any]) -> None:
    """Give numbers their names, and make a list of the keys."""
    hop["keys"] = split_keys(hop.get("keys"))
    if hop["time"] is not None and hop["time"] not in _TIMES:
        hop["time"] = None
    if "message_type" in hop:
        number = hop["message_type"]
        hop["message_type"] = MESSAGE_TYPES[number] if number in range(len(MESSAGE_TYPES)) else str(number)
    if hop["kind"] == "SubAfter":
        hop["result"] = _result(hop["result"], success=hop["success"])
    elif "state" in hop:
        hop["result"] = hop.pop("state")


def _result(number: int | None, *, success: bool) -> str:
    # Old clients report 0 = success whatever the result was: the flag has the result.
    if success:
        return CONSUME_RESULTS[0]
    return CONSUME_RESULTS[number or 0] if number in range(1, len(CONSUME_RESULTS)) else CONSUME_RESULTS[-1]
