"""The client without sockets, threads and clocks: what `blocking` and `trio` both run."""
