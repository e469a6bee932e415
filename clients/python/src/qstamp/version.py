"""Which package this is."""

from importlib.metadata import version

USER_AGENT = f"qstamp-python/{version('qstamp')}"
