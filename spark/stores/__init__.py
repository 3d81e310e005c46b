"""The stores of a read: found, opened, checked, and fixed in snapshots when the read is planned."""
