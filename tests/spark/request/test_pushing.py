"""A reader that takes filters, which Spark also accepts where it pushes none."""

from pyspark.sql.datasource import DataSourceReader, EqualTo

from rocketwire.spark.read.batch import StoreBatchReader
from rocketwire.spark.request.request import PushedFilters
from rocketwire.spark.schema import DEFAULT_COLUMNS, spark_schema


def reader(**options: str) -> StoreBatchReader:
    return StoreBatchReader({"path": "/nowhere"} | options, spark_schema(DEFAULT_COLUMNS))


def test_spark_takes_it_for_a_reader_without_push_downs() -> None:
    # The question that Spark's worker asks in sql/worker/plan_data_source_read.py.
    assert getattr(reader().pushFilters, "__func__", None) is DataSourceReader.pushFilters


def test_filters_narrow_the_request_and_stay_sparks_to_evaluate() -> None:
    narrowed = reader(pushFilters="true")
    filters = [EqualTo(("topic",), "Orders")]
    assert list(narrowed.pushFilters(filters)) == filters
    assert narrowed.request.narrowed.topics == frozenset({"Orders"})


def test_filters_narrow_nothing_unless_that_is_asked_for() -> None:
    """Spark would use the narrowed plan for other uses of the data frame too."""
    same = reader()
    filters = [EqualTo(("topic",), "Orders")]
    assert list(same.pushFilters(filters)) == filters
    assert same.request.narrowed == PushedFilters()
