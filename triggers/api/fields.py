"""The field for a schedule in documents of our API, and errors with the paths of its members."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from drf_spectacular.utils import extend_schema_field

from api.errors import RequestError
from api.fields import SharedField
from recurrence import wire
from recurrence.wire import WireError, json_values
from triggers.api.schedules import SCHEDULES

# the member of our documents by the name of the core's field
MEMBERS = {"definition": "schedule", "data_map": "triggerDataMap", "misfire_threshold": "misfireThreshold"}


@extend_schema_field(SCHEDULES)
class ScheduleField(SharedField):
    """A schedule: the name of its format, and its definition in that format.

    A schedule that never fires again has no occurrences and a warning, except in the format `azure`, which refuses it.
    """

    refusals = (WireError,)
    members: Mapping[str, Any] = wire.MEMBERS
    renderers: Mapping[str, Callable] = wire.RENDERERS

    def to_internal_value(self, data: object) -> tuple[str, dict]:
        return split(super().to_internal_value(data))

    def check(self, data):
        format, definition = split(data)
        if not isinstance(format, str):
            raise WireError("format", "required", f"must be one of {', '.join(self.members)}")
        if format not in self.members:
            message = f"must be one of {', '.join(self.members)}, not {json_values.shown(format)}"
            raise WireError("format", "unsupported", message)
        self.renderers[format](definition)

    def find_unknown_members(self, sent, data):
        format, _ = split(data)
        if not isinstance(format, str) or format not in self.members:
            return ()
        return wire.unknown_members(sent, {"format": None, **self.members[format]})


def split(schedule: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the format of a schedule, and its definition."""
    return schedule.get("format"), {name: value for name, value in schedule.items() if name != "format"}


@contextmanager
def member_paths() -> Iterator[None]:
    """Rewrite the paths of errors that cores raise in the block: they name members of our documents then.

    The members of a schedule are below `schedule`.
    """
    try:
        yield
    except WireError as error:
        for each in (error, *error.others):
            each.path = f"schedule.{each.path}"
        raise
    except RequestError as error:
        error.path = MEMBERS.get(error.path or "", error.path)
        raise
