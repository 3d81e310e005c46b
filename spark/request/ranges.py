"""The requested offsets of a queue, within those that exist."""

from __future__ import annotations

import logging
from typing import Final

from rocketwire.spark.errors import DataLost
from rocketwire.spark.request.options import ReadOptions
from rocketwire.spark.request.values import EARLIEST, LATEST, RequestedOffsets

log: Final = logging.getLogger("rocketwire.spark")
_REMEDY: Final = "Set failOnDataLoss to false to read what is left, or ask for other offsets"
#: The remedy of streams whose next messages were removed.
REMOVED: Final = "The broker removed them before they were read; set failOnDataLoss to false to go on without them"


def lost(what: str, *, fail: bool, remedy: str = _REMEDY) -> None:
    """Requested messages are missing: an error, or a warning in the log of the driver or worker.

    Raises:
        DataLost: `fail`.
    """
    if fail:
        raise DataLost(what, remedy)
    log.warning("%s; going on, as failOnDataLoss is false", what)


def requested_offset(option: str | RequestedOffsets | None, broker: str, topic: str, queue_id: int) -> int | None:
    """The value of startingOffsets or endingOffsets for a queue: an offset, EARLIEST, LATEST, or None for nothing."""
    if option is None or isinstance(option, str):
        return {None: None, "earliest": EARLIEST, "latest": LATEST}[option]
    for name in (broker, None):
        found = option.get(name, {}).get(topic, {}).get(queue_id)
        if found is not None:
            return found
    return None


def requested_range(
    options: ReadOptions, broker: str, topic: str, queue_id: int, bounds: tuple[int, int]
) -> tuple[int, int]:
    """Requested queue offsets within bounds, from the first up to, not including, the end.

    Raises:
        DataLost: a requested offset is out of bounds, and options make this an error.
    """
    least, most = bounds
    first = requested_offset(options.starting_offsets, broker, topic, queue_id)
    end = requested_offset(options.ending_offsets, broker, topic, queue_id)
    first = least if first is None or first == EARLIEST else most if first == LATEST else first
    end = most if end is None or end == LATEST else least if end == EARLIEST else end
    where = f"{topic}, queue {queue_id} of {broker} has the offsets from {least} to {most}"
    if not least <= first <= most:
        lost(f"{where}: startingOffsets asks for {first}", fail=options.fail_on_data_loss)
    if end > most:
        lost(f"{where}: endingOffsets asks for those up to {end}", fail=options.fail_on_data_loss)
    first = min(max(first, least), most)
    return first, max(first, min(end, most))
