"""The version of this package."""

from importlib.metadata import version

USER_AGENT = f"qstamp-python/{version('qstamp')}"
