"""What the core of maintenance refuses.  Surfaces turn these into their protocol's error bodies."""


class MaintenanceError(Exception):
    """Something a caller asked for is refused; nothing was changed.  `path` names the member at fault, if one is."""

    def __init__(self, message: str, *, path: str | None = None, code: str = "invalid"):
        super().__init__(message)
        self.message = message
        self.path = path
        self.code = code


class TooLate(MaintenanceError):
    """The notice has come too far for it."""

    def __init__(self, message: str, *, path: str | None = None):
        super().__init__(message, path=path, code="conflict")
