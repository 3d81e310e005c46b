"""The commands of `mqadmin`, run against Apache's broker and against rocketwire."""
