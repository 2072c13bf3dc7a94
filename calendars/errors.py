"""What the core of calendars refuses.  Surfaces turn these into their protocol's error bodies."""


class CalendarError(Exception):
    """Something a caller asked for is refused; nothing was changed.  `path` names the member at fault, if one is.

    `invalid`                  a value is of the wrong kind, or does not go with the others
    `ends_before_it_starts`    the end of an event lies before its start
    `crosses_a_neighbour`      an occurrence would land on the day of its neighbour, or beyond it
    `is_default`               the default calendar stays
    `too_many` `too_long`      a limit is reached
    `not_found`                it is not there, or not any more
    `changed_since`            it is not what the caller has read

    What the engine refuses of a time, a zone or a recurrence comes with the code of its WireError.
    """

    def __init__(self, message: str, *, path: str | None = None, code: str = "invalid"):
        super().__init__(message)
        self.message = message
        self.path = path
        self.code = code


class Gone(CalendarError):
    """What was named is not there, or not any more."""

    def __init__(self, message: str = "there is no such occurrence"):
        super().__init__(message, code="not_found")


class ChangedSince(CalendarError):
    """What is to be changed is not what the caller has read."""

    def __init__(self) -> None:
        super().__init__("it has been changed since it was read; read it again", path="If-Match", code="changed_since")
