"""What Spark's data source costs, beside reading and copying the bytes: `python -m bench.spark`."""
