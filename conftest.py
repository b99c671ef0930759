"""Settings of the project's own tests."""

from __future__ import annotations

try:
    from hypothesis import settings
except ImportError:  # running only the cases needs no hypothesis
    pass
else:
    # No deadline: a slow machine is no fault of the code. Derandomised, so that CI says the same twice.
    settings.register_profile("project", deadline=None, derandomize=True)
    settings.load_profile("project")
