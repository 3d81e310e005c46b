"""The broker's topics and subscription groups: configuration, automatic creation, permissions, message types."""
