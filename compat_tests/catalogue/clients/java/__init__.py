"""Apache's Java client of three versions; `sources` has its programs."""
