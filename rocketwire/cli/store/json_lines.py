"""JSON lines of blocks of records: what `json_object` gives for each. The kernel writes many at once."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rocketwire import native
from rocketwire.cli.output import json_line
from rocketwire.cli.shown_message import json_object
from rocketwire.store.offline.read.selected import with_properties
from rocketwire.wire.message import decode_record

if TYPE_CHECKING:
    from rocketwire.store.offline.read.log import RecordBlock
    from rocketwire.store.offline.read.scan import ReportProblem


def write_lines(blocks: Iterable[tuple[RecordBlock, NDArray[np.intp]]], most: int | None, report: ReportProblem) -> int:
    """Write a line to stdout for each of the chosen records of blocks, of no more than `most`; how many there were."""
    count = 0
    for block, numbers in blocks:
        chosen = numbers if most is None else numbers[: most - count]
        _write(block, chosen, report)
        count += len(chosen)
        if count == most:
            break
    return count


def _write(block: RecordBlock, numbers: NDArray[np.intp], report: ReportProblem) -> None:
    places = block.records.position[numbers]
    done = 0
    while done < len(places):
        if native.kernel is not None:
            count, lines = native.kernel.record_lines(block.buffer, places[done:])
            sys.stdout.buffer.write(lines)
            done += count
            if lines:
                continue
        # Without the kernel, or a record that it leaves to Python.
        data = block.record(int(numbers[done]))
        json_line(json_object(with_properties(decode_record(data, check_crc=False), len(data)), report))
        done += 1
