"""The data source's name, how Spark finds it, and which reader it gives."""

from collections.abc import Callable

import pytest
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable

from pyspark_rocketmq import DefaultSource
from rocketwire.spark.errors import OptionInvalid
from rocketwire.spark.stream.stream import StoreStreamReader


def test_spark_finds_it_by_name() -> None:
    assert DefaultSource.name() == "rocketmq"


@pytest.mark.parametrize(
    ("options", "reported"),
    [
        ({"path": "/s", "endingOffsets": "latest"}, "a stream has no option endingOffsets"),
        ({"path": "/s", "table": "queues"}, "table=queues cannot be read as a stream"),
        ({"path": "/s", "table": "counts"}, "table=counts cannot be read as a stream"),
        ({"namesrv": "h:9876", "accessKey": "k"}, "accessKey and secretKey"),
    ],
)
@pytest.mark.parametrize(
    "use",
    [
        lambda reader: reader.initialOffset(),
        lambda reader: reader.latestOffset({}, ReadAllAvailable()),
        lambda reader: reader.partitions({}, {}),
        lambda reader: reader.read(InputPartition(None)),
    ],
)
def test_an_impossible_stream_is_refused_when_it_is_used(
    options: dict[str, str], reported: str, use: Callable[[DataSourceStreamReader], object]
) -> None:
    source = DefaultSource(options)
    reader = source.streamReader(source.schema())
    with pytest.raises(OptionInvalid, match=reported):
        use(reader)


def test_an_empty_option_namesrv_is_none() -> None:
    source = DefaultSource({"path": "/s", "namesrv": " "})
    assert isinstance(source.streamReader(source.schema()), StoreStreamReader)
