"""A job for spark-submit: messages of running brokers into Parquet files, by topic and day, each exactly once.

    spark-submit rocketmq_to_parquet.py --namesrv HOST:9876 --topics Orders,Payments --to /data/messages \
        --checkpoint /data/checkpoint [--every "30 seconds" | --once]

A job that ends, however it ends, is continued by the next one with the same checkpoint. Folders may be in an object
store, as s3a://bucket/messages, if Spark has what it needs for that. With --once it reads what is there and ends.
"""

from __future__ import annotations

import argparse

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

COLUMNS = "broker,topic,queue_id,queue_offset,message_id,born_timestamp,store_timestamp,tags,keys,properties,body"


def main() -> None:
    """Read the arguments, and run until the job is stopped, or all is read."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--namesrv", required=True, help="name servers, HOST:PORT, with ; between")
    parser.add_argument("--topics", required=True, help="names with commas between")
    parser.add_argument("--to", required=True, help="the folder of the files")
    parser.add_argument("--checkpoint", required=True, help="the folder of the checkpoint: one for each --to")
    parser.add_argument("--every", default="30 seconds", help="how often files are written")
    parser.add_argument("--once", action="store_true", help="read what is there, and end")
    given = parser.parse_args()

    spark = SparkSession.builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    messages = (
        spark.readStream.format("rocketmq")
        .option("namesrv", given.namesrv)
        .option("topics", given.topics)
        .option("columns", COLUMNS)
        .option("maxOffsetsPerTrigger", 1_000_000)
        .load()
        .withColumn("day", F.to_date("store_timestamp"))
    )
    writer = (
        messages.repartition("topic")  # a file for each topic and micro-batch, rather than one for each queue
        .writeStream.format("parquet")
        .partitionBy("topic", "day")
        .option("checkpointLocation", given.checkpoint)
    )
    writer = writer.trigger(availableNow=True) if given.once else writer.trigger(processingTime=given.every)
    writer.start(given.to).awaitTermination()


if __name__ == "__main__":
    main()
