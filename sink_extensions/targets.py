"""Commit processors written in Python, and the text that names one: `package.module:Class`."""

from __future__ import annotations

import sys

from finalization.exceptions import ConfigurationError
from sink_extensions.options import COMMIT_PROCESSORS, PYTHON_PREFIX

METHODS = ("pre_commit", "post_commit")


def check_methods(target: str, processor_class: type) -> None:
    """See that a class has what the sink calls.

    Raises:
        ValueError: naming the method that is missing.
    """
    for method in METHODS:
        if not callable(getattr(processor_class, method, None)):
            raise ValueError(
                f"{target} has no method {method}(context); see finalization.commit.CommitProcessor"
            )


def name_of(processor_class: type) -> str:
    """The name by which the sink's Python process imports a class: `python:package.module:Class`.

    Raises:
        ConfigurationError: if another process could not import it, or it is no processor.
    """
    target = f"{processor_class.__module__}:{processor_class.__qualname__}"
    if processor_class.__module__ == "__main__":
        raise ConfigurationError.of(
            COMMIT_PROCESSORS,
            target,
            "a class of a module that another process can import; __main__ is a different one there",
            f"move {processor_class.__name__} into a module of its own and import it from there",
        )
    if processor_class.__qualname__ != processor_class.__name__:
        raise ConfigurationError.of(
            COMMIT_PROCESSORS,
            target,
            "a class at the top level of its module",
            f"move {processor_class.__name__} out of the class or function that it is defined in",
        )
    module = sys.modules.get(processor_class.__module__)
    if getattr(module, processor_class.__name__, None) is not processor_class:
        raise ConfigurationError.of(
            COMMIT_PROCESSORS,
            target,
            "a class that its module has under that name",
            "import it under its own name",
        )
    try:
        check_methods(target, processor_class)
    except ValueError as error:
        raise ConfigurationError(f"{COMMIT_PROCESSORS} is '{PYTHON_PREFIX}{target}': {error}") from None
    return PYTHON_PREFIX + target
