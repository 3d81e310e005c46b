"""The scenarios by feature; importing `rocketwire.compat.scenario.catalogue` finds them all."""
