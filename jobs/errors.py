"""What the cores refuse.  Surfaces turn these into their protocol's error bodies."""


class JobError(Exception):
    """Something a caller asked for is refused; nothing was changed.  `path` names the member at fault, if one is."""

    def __init__(self, message: str, *, path: str | None = None, code: str = "invalid"):
        super().__init__(message)
        self.message = message
        self.path = path
        self.code = code


class Invalid(JobError):
    """A member of the document is wrong."""


class Conflict(JobError):
    """The document is right, but the state of what it changes forbids it."""

    def __init__(self, message: str, *, path: str | None = None, code: str = "conflict"):
        super().__init__(message, path=path, code=code)


class QuotaExceeded(Conflict):
    """The collection's plan or quota forbids it."""

    def __init__(self, message: str, *, path: str | None = None):
        super().__init__(message, path=path, code="quota_exceeded")
