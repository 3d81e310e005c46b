"""How hypothesis runs here: machines that are busy with something else must not make a test fail."""

import os

from hypothesis import HealthCheck, settings

# A whole run draws the same examples each time, so that what it says is of the change; other runs look for new ones.
_FIXED = os.environ.get("ROCKETWIRE_EXAMPLES") == "fixed"

settings.register_profile(
    "rocketwire", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow], derandomize=_FIXED
)
settings.load_profile("rocketwire")
