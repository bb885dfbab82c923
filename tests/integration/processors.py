"""What is no commit processor."""


class NotAProcessor:
    """Has no method that the sink would call."""


class NeedsAnArgument:
    """The sink makes an instance without arguments."""

    def __init__(self, limit: int) -> None:
        self.limit = limit

    def pre_commit(self, ctx: object) -> None: ...

    def post_commit(self, ctx: object) -> None: ...
