"""Reading an open store: messages of a queue, offsets, store times, keys.

Begin with `reader`; `fetch` reads messages of a queue.
May import: `layout`, `records`, `log`, `queues`, `index`; `native`, `wire`.
"""
