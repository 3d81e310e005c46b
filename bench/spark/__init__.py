"""The benchmark of Spark's data source, compared with reading and copying the bytes: `python -m bench.spark`."""
