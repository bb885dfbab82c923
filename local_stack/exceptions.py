"""Errors of the local stack."""


class LocalStackError(RuntimeError):
    """A part of the local stack could not be started, reached or stopped."""


class WaitTimeoutError(LocalStackError, TimeoutError):
    """Something that was waited for did not happen before its deadline."""
