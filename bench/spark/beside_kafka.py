"""The same messages read by Kafka's source for Spark, from a broker, and by ours, from an endpoint and a store."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from bench.spark import kafka
from bench.spark.made_store import QUEUES, TOPICS
from bench.spark.reads import RoundCounts, go_round, log_files
from bench.spark.tables import BenchRow
from bench.spark.usage import cost_of
from rocketwire.store.settings import StoreSettings
from rocketwire.testing import endpoint

JAR: Final = "io.github.rocketwire.spark.RocketMQProvider"
#: What the others are held to.
BASE: Final = "Kafka's"
#: The six columns that both have, by their names here and there.
OURS: Final = ("keys", "body", "topic", "queue_id", "queue_offset", "store_timestamp")
KAFKAS: Final = ("key", "value", "topic", "partition", "offset", "timestamp")
#: Kafka's source looks up both ends of a partition, behind a fetch at its end that waits so long, else half a second.
BRISK: Final = {"kafka.fetch.max.wait.ms": "10"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkSource:
    """A way to read the messages: its name, Spark's name of it, its options, and columns for some and for all."""

    what: str
    format: str
    options: Mapping[str, str]
    six: tuple[str, ...]
    body: str
    every: Mapping[str, str]

    def read(
        self,
        reader: Any,  # noqa: ANN401 - of batches or of streams
        columns: tuple[str, ...] = (),
        more: Mapping[str, str] = MappingProxyType({}),
    ) -> DataFrame:
        """The messages; without columns those by default."""
        frame: DataFrame = reader.format(self.format).options(**{**self.options, **more}).load()
        return frame.select(*columns) if columns else frame


def _kafkas(what: str, address: str, more: Mapping[str, str]) -> SparkSource:
    options = {"kafka.bootstrap.servers": address, "subscribePattern": "Topic.*", "startingOffsets": "earliest", **more}
    every = {"includeHeaders": "true"}
    return SparkSource(what=what, format="kafka", options=options, six=KAFKAS, body="value", every=every)


def _of_ours(what: str, options: Mapping[str, str]) -> SparkSource:
    return SparkSource(what=what, format=JAR, options=options, six=OURS, body="body", every={"columns": "*"})


@contextmanager
def sources(spark: SparkSession, store: Path, folder: Path) -> Iterator[list[SparkSource]]:
    """The messages of a store in all places: Kafka's by its defaults, by `BRISK`, and ours."""
    served = folder / "served"
    shutil.copytree(store, served)
    topics = {f"Topic{number}": QUEUES for number in range(TOPICS)}
    with (
        kafka.broker(folder / "kafka") as address,
        endpoint(store=served, topics=topics, settings=_sizes(served)) as ours,
    ):
        kafka.make_topics(spark, address)
        kafka.fill(spark.read.format(JAR).option("columns", "*").load(str(store)), address)
        yield [
            _kafkas("Kafka's, its defaults", address, {}),
            _kafkas(BASE, address, BRISK),
            _of_ours("jar, endpoint", {"namesrv": ours.namesrv}),
            _of_ours("jar, store", {"path": str(store)}),
        ]
    for path in (served, folder / "kafka"):
        shutil.rmtree(path)


def _sizes(store: Path) -> dict[str, int | bool]:
    """What a broker must be told of a store that `make_store` made; it makes no index, which nobody reads here."""
    return {
        "mappedFileSizeCommitLog": log_files(store)[0].stat().st_size,
        "mappedFileSizeConsumeQueue": StoreSettings(root=store).consume_queue_file_size,
        "messageIndexEnable": False,
    }


def _to_nothing(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def queries(spark: SparkSession, folder: Path) -> dict[str, Callable[[SparkSource], object]]:
    """What is measured; files go to a folder."""

    def streamed(source: SparkSource) -> None:
        checkpoint = folder / "checkpoint"
        writer = source.read(spark.readStream, source.six).writeStream.format("noop")
        writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start().awaitTermination()
        shutil.rmtree(checkpoint)

    def to_parquet(source: SparkSource) -> None:
        source.read(spark.read, (source.body,)).write.mode("overwrite").parquet(str(folder / "parquet"))

    return {
        "count": lambda source: source.read(spark.read).count(),
        "six columns": lambda source: _to_nothing(source.read(spark.read, source.six)),
        "all columns": lambda source: _to_nothing(source.read(spark.read, more=source.every)),
        "bodies to Parquet": to_parquet,
        "stream of the six": streamed,
    }


def measure(spark: SparkSession, store: Path, folder: Path, size: int, turns: RoundCounts) -> list[BenchRow]:
    """What each query costs with each source; `size` is the bytes of all bodies. A turn goes through all of them."""
    with sources(spark, store, folder) as (plain, *found):
        asked = queries(spark, folder)
        pairs = [("count", plain), *itertools.product(asked, found)]
        rows = [BenchRow(what=f"{query}: {source.what}", size=size, base=f"{query}: {BASE}") for query, source in pairs]
        go_round(rows, [partial(cost_of, partial(asked[query], source)) for query, source in pairs], turns)
    return rows
