"""The field for a schedule in documents of our API, and errors with the paths of its members."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from drf_spectacular.utils import extend_schema_field

from api.errors import RequestError
from api.fields import SharedField
from recurrence import wire
from recurrence.wire import WireError, common, json_values
from triggers.api.schedules import SCHEDULES
from triggers.definitions import split_schedule

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
        return split_schedule(super().to_internal_value(data))

    def check(self, data):
        format, definition = split_schedule(data)
        if not isinstance(format, str):
            raise WireError("format", "required", f"must be one of {', '.join(self.members)}")
        if format not in self.members:
            message = f"must be one of {', '.join(self.members)}, not {json_values.shown(format)}"
            raise WireError("format", "unsupported", message)
        common.render_whole(self.renderers[format], definition)

    def find_unknown_members(self, sent, data):
        format, _ = split_schedule(data)
        if not isinstance(format, str) or format not in self.members:
            return ()
        return wire.unknown_members(sent, {"format": None, **self.members[format], **common.MEMBERS})


@contextmanager
def member_paths(schedule: str = "schedule") -> Iterator[None]:
    """Rewrite the paths of errors that cores raise in the block: they name members of our documents then.

    The members of a schedule are below the member `schedule`.
    """
    try:
        yield
    except WireError as error:
        for each in (error, *error.others):
            each.path = f"{schedule}.{each.path}"
        raise
    except RequestError as error:
        error.path = MEMBERS.get(error.path or "", error.path)
        raise
