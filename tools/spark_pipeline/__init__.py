"""The running example of `make spark-demo`: an endpoint under load, a stream into Parquet, and a page that shows it."""
