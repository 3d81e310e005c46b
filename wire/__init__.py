"""The protocol's codecs: bytes to values and back, without I/O or clock. construct is the authority on every layout."""
