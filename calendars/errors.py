"""Errors of the core of calendars.  Surfaces render them in the form of their protocol."""

from api.errors import RequestError


class CalendarError(RequestError):
    """A request is refused; nothing was changed.  `path` names the wrong member, or is None.

    `invalid`                  a value is of the wrong kind, or does not go with the others
    `ends_before_it_starts`    the end of an event lies before its start
    `crosses_a_neighbour`      an occurrence would land on the day of its neighbour, or beyond it
    `is_default`               the default calendar cannot be deleted
    `too_many` `too_long`      a limit is exceeded; see also TooManyEvents
    `not_found`                the object does not exist, or no longer exists
    `changed_since`            the object changed after the caller read it

    A time, zone or recurrence that the engine refuses has the code of its WireError.
    """


class Gone(CalendarError):
    """The named object does not exist, or no longer exists."""

    def __init__(self, message: str = "there is no such occurrence"):
        super().__init__(message, code="not_found")


class TooManyEvents(CalendarError):
    """The calendar has as many events as a calendar may have.  The status of our own API is that of a quota."""

    status = 409

    def __init__(self, limit: int):
        message = f"a calendar has at most {limit} events: delete events, or use another calendar"
        super().__init__(message, code="too_many")


class ChangedSince(CalendarError):
    """The object changed after the caller read it."""

    def __init__(self) -> None:
        super().__init__("it has been changed since it was read; read it again", path="If-Match", code="changed_since")
