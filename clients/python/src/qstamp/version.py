"""The version of this package."""

from importlib.metadata import version

__version__ = version("qstamp")

USER_AGENT = f"qstamp-python/{__version__}"
