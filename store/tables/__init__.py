"""The tables in `config/`: topics, subscription groups, offsets, filters."""
