"""The stores of a read: found, opened and checked, and bound to what they have when the read is planned."""
