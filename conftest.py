"""The project's own tests drive pytest itself."""

pytest_plugins = ["pytester"]
