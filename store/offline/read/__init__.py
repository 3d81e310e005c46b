"""Read access to the files of a store that a broker may be writing to."""
