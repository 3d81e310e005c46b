"""The whole example: endpoint, load, stream, figures and page, with a line for each thing that is done."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from rocketwire.testing import endpoint
from tools.spark_pipeline.load import KINDS, SETTINGS, Load
from tools.spark_pipeline.measuring import Run, figures
from tools.spark_pipeline.page import page
from tools.spark_pipeline.stream import Pipeline
from tools.spark_pipeline.traffic_figures import Figures

SECONDS: Final = 40.0
RATE: Final = 250.0
_LOOPBACK: Final = "127.0.0.1"
_SEED: Final = 9
#: The stream is stopped after this part of the time.
_STOPPED_AT: Final = 0.45


def session() -> SparkSession:
    """A session for this example, on loopback, or the one that runs."""
    os.environ.setdefault("SPARK_LOCAL_IP", _LOOPBACK)
    settings = {
        "spark.master": "local[2]",
        "spark.driver.host": _LOOPBACK,
        "spark.driver.bindAddress": _LOOPBACK,
        "spark.sql.session.timeZone": "UTC",
        # Little data: what plans adaptively, and compiles best, takes longer than the work.
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.adaptive.enabled": "false",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    from rocketwire.spark import session as started  # noqa: PLC0415 - Spark is slow to import

    spark = started(settings)
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def run(
    spark: SparkSession,
    folder: Path,
    report: Callable[[str], None],
    *,
    seconds: float = SECONDS,
    rate: float = RATE,
    delta: bool = False,
) -> Figures:
    """Run it; the folder gets `messages`, `checkpoint` and `index.html`, and loses those of an earlier run.

    Args:
        spark: The session.
        folder: It is made if it does not exist.
        report: Gets a line for each step.
        seconds: How long messages are sent.
        rate: About so many messages a second.
        delta: Whether `messages` is to be a table of Delta.
    """
    for name in ("messages", "checkpoint"):
        shutil.rmtree(folder / name, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    with endpoint(settings=SETTINGS, topics=[kind.topic for kind in KINDS]) as ep:
        report(f"an endpoint runs at {ep.namesrv}")
        pipeline = Pipeline(spark, ep.namesrv, folder, delta=delta)
        load = Load(ep, seconds, rate, np.random.default_rng(_SEED))
        batches = _streamed(pipeline, load, report, seconds)
    report(f"the stream has written {batches} micro-batches to {pipeline.messages}")
    frame = pipeline.written().cache()
    found = figures(
        frame,
        [kind.topic for kind in KINDS],
        Run(acknowledged=load.account.acknowledged.total(), batches=batches, restarts=1),
    )
    frame.unpersist()
    (folder / "index.html").write_text(page(found), encoding="utf-8")
    return found


def _streamed(pipeline: Pipeline, load: Load, report: Callable[[str], None], seconds: float) -> int:
    """Have the stream follow the load, and read the rest; return how many micro-batches that took."""
    failures: list[BaseException] = []

    def loading() -> None:
        try:
            load.run(report)
        except BaseException as error:  # noqa: BLE001 - it is raised below, in the thread that waits
            failures.append(error)

    thread = threading.Thread(target=loading)
    query = pipeline.start()
    report(f"the stream follows; for {seconds:g} s producers send, and groups consume")
    thread.start()
    try:
        time.sleep(seconds * _STOPPED_AT)
        _stop(query)
        report("the stream was stopped; it continues by its checkpoint")
        query = pipeline.start()
    finally:
        thread.join()
        _stop(query)
    if failures:
        raise failures[0]
    rest = pipeline.catch_up()
    rest.awaitTermination()
    last = rest.lastProgress
    return int(last["batchId"]) + 1 if last else 0


def _stop(query: StreamingQuery) -> None:
    """Stop a stream in the middle of whatever it does; Spark calls that an error, at length."""
    context = SparkSession.active().sparkContext
    context.setLogLevel("OFF")
    query.stop()
    context.setLogLevel("ERROR")
