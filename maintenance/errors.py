"""The errors of the maintenance core.  Surfaces turn them into the error bodies of their protocols."""

from api.errors import RequestError


class MaintenanceError(RequestError):
    """A request is refused, and nothing was changed.  `path` names the member at fault; None: no single member."""


class TooLate(MaintenanceError):
    """The state of the notice no longer allows the change."""

    def __init__(self, message: str, *, path: str | None = None):
        super().__init__(message, path=path, code="conflict")
