"""The version of the package, which users read as ``pytest_toolcall.__version__``."""

__version__ = "0.1.0"
