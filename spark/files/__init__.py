"""Remote stores: object stores, HDFS, anything that `pyarrow.fs` or fsspec reaches.

`roots` makes store directories of the option `path`. `store.offline` reads them through `far`. `arrow` and
`generic` do the requests, by the URL's scheme (`schemes`).

Begin with `far`; `remote` is the interface of a file system.
May import: `store`.
"""
