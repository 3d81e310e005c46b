"""The tables of `config/`: topics, groups, offsets, filters."""
