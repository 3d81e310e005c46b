"""Stores that are far away: object stores, HDFS, anything that `pyarrow.fs` or fsspec reaches.

`roots` makes store directories of the option `path`. `far` is what `store.archive` reads them through; `read_ahead`
keeps the requests few. `arrow` and `generic` do the requests, by the URL's scheme (`schemes`).
"""
