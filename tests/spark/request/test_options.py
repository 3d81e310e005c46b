"""The options of a read."""

from __future__ import annotations

import pytest
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

from rocketwire.spark.errors import OptionInvalid
from rocketwire.spark.request.option_parsing import NAMES, is_of_endpoint, options_for, read_options, requested_table
from rocketwire.spark.request.options import DamageMode, ReadOptions, is_hidden
from rocketwire.spark.schema import COLUMNS, CORRUPT_RECORD, DEFAULT_COLUMNS


def read(**options: str) -> ReadOptions:
    return read_options({"path": "/s"} | options)


def test_what_is_not_given_has_its_default() -> None:
    assert read() == ReadOptions(paths=("/s",))
    assert read().columns == DEFAULT_COLUMNS


def test_case_does_not_count() -> None:
    assert read_options({"PATH": "/s", "FAILONDATALOSS": "False"}) == ReadOptions(
        paths=("/s",), fail_on_data_loss=False
    )


def test_all_of_them() -> None:
    found = read(
        topic="A",
        topics="B, A",
        queues="3,0",
        startingOffsets='{"A": {"0": 5}}',
        endingOffsets="latest",
        startingTimestamp="2026-01-31",
        endingTimestamp="1769817600123",
        columns="Body, topic",
        pushFilters="TRUE",
        includeSystemTopics="true",
        minPartitions="4",
        maxBytesPerPartition="1m",
        maxOffsetsPerTrigger="100",
        maxBytesPerTrigger="2m",
        mode="failfast",
        failOnDataLoss="false",
        decompress="false",
        verifyChecksums="false",
        brokers='{"/s": "broker-a"}',
        **{"fs.Endpoint": "http://x", "__internal": "1", "spark.x": "1"},
    )
    assert found == ReadOptions(
        paths=("/s",),
        topics=("A", "B"),
        queues=frozenset({0, 3}),
        starting_offsets={None: {"A": {0: 5}}},
        ending_offsets="latest",
        starting_timestamp=1_769_817_600_000,
        ending_timestamp=1_769_817_600_123,
        columns=("body", "topic"),
        push_filters=True,
        include_system_topics=True,
        min_partitions=4,
        max_bytes_per_partition=1 << 20,
        max_offsets_per_trigger=100,
        max_bytes_per_trigger=2 << 20,
        mode=DamageMode.FAILFAST,
        fail_on_data_loss=False,
        decompress=False,
        verify_checksums=False,
        brokers={"/s": "broker-a"},
        files={"endpoint": "http://x"},
    )


def test_all_columns() -> None:
    assert read(columns="*").columns == tuple(COLUMNS)
    assert read(columns=f"*,{CORRUPT_RECORD}").columns == (*COLUMNS, CORRUPT_RECORD)


def test_a_list_of_paths() -> None:
    assert read_options({"paths": '["/a", "/b,c"]'}).paths == ("/a", "/b,c")
    assert read_options({"paths": '["/a"]', "path": "/b"}).paths == ("/a", "/b")
    assert read_options({"namesrv": "h:9876"}).namesrv == "h:9876"


@pytest.mark.parametrize(
    ("options", "reported"),
    [
        ({"topc": "x"}, "no option topc. Did you mean topic?"),
        ({"startOffsets": "x"}, "no option startOffsets. Did you mean startingOffsets?"),
        ({"qqqq": "x"}, "no option qqqq. docs/spark.md lists the options"),
        ({"columns": "topic,bdy"}, "no column bdy (option columns). Did you mean body?"),
        ({"columns": "qqqq"}, "no column qqqq (option columns). The columns are topic, "),
        ({"columns": "topic,topic"}, "option columns cannot be 'topic,topic'"),
        ({"columns": "*,Topic"}, "option columns cannot be '*,Topic'"),
        ({"columns": ""}, "option columns cannot be ''"),
        ({"topics": "a,,b"}, "option topics cannot be 'a,,b'"),
        ({"topicPattern": "("}, "option topicPattern cannot be '('. It is a regular expression"),
        ({"topicPattern": "a", "topic": "b"}, "topics are given by topicPattern and by name"),
        ({"queues": "0,x"}, "option queues cannot be 'x'"),
        ({"minPartitions": "0"}, "option minPartitions cannot be '0'"),
        ({"maxBytesPerPartition": "-1"}, "option maxBytesPerPartition cannot be '-1'"),
        ({"maxOffsetsPerTrigger": "0"}, "option maxOffsetsPerTrigger cannot be '0'"),
        ({"maxBytesPerTrigger": "x"}, "option maxBytesPerTrigger cannot be 'x'"),
        ({"mode": "LENIENT"}, "option mode cannot be 'LENIENT'. It is PERMISSIVE, DROPMALFORMED, FAILFAST"),
        ({"failOnDataLoss": "1"}, "option failOnDataLoss cannot be '1'. It is true or false"),
        ({"startingTimestamp": "soon"}, "option startingTimestamp cannot be 'soon'"),
        ({"brokers": "x"}, "option brokers cannot be 'x'"),
        ({"namesrv": "h:9876"}, "both options path and namesrv are given"),
        ({"path": " "}, "neither option path nor namesrv is given"),
        ({"paths": "x"}, "option paths cannot be 'x'"),
        ({"table": "topics"}, "option table cannot be 'topics'"),
    ],
)
def test_what_is_wrong_is_an_error_with_its_remedy(options: dict[str, str], reported: str) -> None:
    with pytest.raises(OptionInvalid) as caught:
        (requested_table if "table" in options else read_options)({"path": "/s"} | options)
    assert str(caught.value).startswith("[ROCKETMQ_OPTION_INVALID] ")
    assert reported in str(caught.value)


def test_topics() -> None:
    assert read(topics="A,%RETRY%g").takes_topic("%RETRY%g")
    assert not read(topics="A").takes_topic("B")
    assert read().takes_topic("A")
    assert not read().takes_topic("%DLQ%g")
    assert read(includeSystemTopics="true").takes_topic("%DLQ%g")
    assert read(topicPattern="A.*").takes_topic("AB")
    assert not read(topicPattern="A").takes_topic("AB")
    assert not read(topicPattern=".*").takes_topic("SCHEDULE_TOPIC_XXXX")
    # They lead to messages of other topics, which would come twice.
    assert not read(includeSystemTopics="true").takes_topic("%LMQ%q")
    assert read(topic="%LMQ%q").takes_topic("%LMQ%q")


def test_a_schema_of_the_users_names_the_columns() -> None:
    schema = StructType([StructField("tags", StringType()), StructField("queue_id", IntegerType())])
    assert options_for({"path": "/s"}, schema).columns == ("tags", "queue_id")
    for column, reported in (
        (StructField("tag", StringType()), "no column tag, which schema() names. Did you mean tags?"),
        (StructField("queue_id", StringType()), "queue_id cannot be string, as schema() has it. It is int"),
        (StructField("queue_id", IntegerType(), nullable=False), "queue_id cannot be NOT NULL"),
    ):
        with pytest.raises(OptionInvalid) as caught:
            options_for({"path": "/s"}, StructType([column]))
        assert reported in str(caught.value)
    with pytest.raises(OptionInvalid, match="names the column tags twice"):
        options_for({"path": "/s"}, StructType([*schema.fields, schema["tags"]]))


def test_which_part_reads() -> None:
    assert requested_table({"Table": "Queues"}) == "queues"
    assert requested_table({"table": " counts"}) == "counts"
    assert requested_table({"table": "messages"}) == requested_table({}) == "messages"
    assert is_of_endpoint({"NameSrv": "x"})
    assert not is_of_endpoint({"path": "x"})


def test_names_differ_without_case() -> None:
    assert len({name.lower() for name in NAMES}) == len(NAMES)


@pytest.mark.parametrize(
    "topic",
    [
        *("%RETRY%g", "%DLQ%g", "%LMQ%q", "SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC", "rmq_sys_wheel_timer"),
        *("RMQ_SYS_TRACE_TOPIC", "CHECKPOINT_TOPIC"),
    ],
)
def test_topics_of_rocketmq_and_of_groups_are_hidden(topic: str) -> None:
    assert is_hidden(topic)


@pytest.mark.parametrize("topic", ["Orders", "RETRY", "RMQ", "cluster_REPLY_TOPIC"])
def test_others_are_not(topic: str) -> None:
    assert not is_hidden(topic)
