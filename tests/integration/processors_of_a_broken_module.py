"""A module that does not import."""

import no_such_module  # noqa: F401


class Processor:
    """Never reached."""
