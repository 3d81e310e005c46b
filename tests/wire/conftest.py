"""How hypothesis runs here: machines that are busy with something else must not make a test fail."""

from hypothesis import HealthCheck, settings

settings.register_profile("rocketwire", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("rocketwire")
