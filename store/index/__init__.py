"""The key index: from a message key to records in the commit log."""
