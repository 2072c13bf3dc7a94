"""The fields that the tabs of the schedule editor have in common, and their members of a schedule document.

Wall times are those of the schedule's zone.  A core checks the documents; the fields check only that they can be read.
"""

from collections.abc import Collection, Mapping
from datetime import UTC, date, datetime, tzinfo
from typing import Any, ClassVar

from django import forms
from django.forms import BoundField
from django.forms.utils import ErrorDict
from django.utils.text import capfirst

from recurrence.wire import WireError, common, json_values, simple
from recurrence.wire.clocks import rendered_instant
from recurrence.wire.zone_names import zone_of
from recurrence.zones import earliest_instant_of, latest_instant_of
from triggers.editor.fields import DefaultedChoiceField, DurationField, WallTimeField, WallTimesField

Document = dict[str, Any]  # a schedule: its format and the members of its definition

CRON, QUARTZ, POLICY, SERIES = "cron", "quartz", "policy", ""  # choices of `clock_change`
RULES = {
    "skip": "do not run",
    "before": "run on the open day before",
    "after": "run on the next open day",
    "nearest": "run on the nearest open day",
}
GAPS = {
    "next": "run once, right after the change",
    "shift": "run later by the size of the change",
    "skip": "do not run",
}
REPEATS = {"first": "the first time", "second": "the second time", "both": "both times"}
CLOCK_CHANGES = [(CRON, "like cron"), (QUARTZ, "like Quartz"), (POLICY, "as chosen here")]
CLOCK_HELP = (
    "Like cron: a skipped time runs once, right after the change; a repeated time runs the first time, an interval both"
    " times. Like Quartz: a skipped time does not run; a repeated time runs the second time."
)


class TabForm(forms.Form):
    """The fields of one tab.  `stored` is the document that they are to change; None: there is none.

    `PLACES` has the field of each member by its path.  `SOURCES` has the fields that a member of the document is made
    of.  `main` is the field of errors that concern no other one.
    """

    fields: dict[str, Any]  # narrows Django's type: the fields have different classes
    key: ClassVar[str]
    title: ClassVar[str]
    formats: ClassVar[tuple[str, ...]] = ()  # those that the tab writes
    main: ClassVar[str | None] = None
    zone_error: WireError | None = None
    MAIN_FIELDS: ClassVar[tuple[str, ...]] = ()
    PLACES: ClassVar[Mapping[str, str]] = {}
    SOURCES: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    def __init__(self, *args, stored: Mapping | None = None, closed_day_names: Collection[str] = (), **kwargs):
        self.stored = stored
        super().__init__(*args, **kwargs)

    def share(self, cleaned_data: dict[str, Any], errors: ErrorDict) -> None:
        """Take over the values and the errors of the form that has the fields of this one."""
        self.cleaned_data, self._errors = cleaned_data, errors

    def document(self) -> Document | None:
        """Return the schedule that the fields describe; None: there is none."""
        raise NotImplementedError

    @classmethod
    def values_of(cls, document: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the values of the fields for a document that the engine accepts; None: the tab has no such document.

        The values need not say all of the document.
        """
        raise NotImplementedError

    @property
    def unused_fields(self) -> set[str]:
        """The names of fields that other choices hide."""
        return set()

    @property
    def main_fields(self) -> list[BoundField]:
        return [self[name] for name in self.MAIN_FIELDS]

    @property
    def detail_fields(self) -> list[BoundField]:
        """The fields of bounds, closed days and exceptions."""
        return [self[name] for name in self.fields if name not in self.MAIN_FIELDS]

    @property
    def has_open_details(self) -> bool:
        """Return True if a field of the details says something, or has an error."""
        return any(
            field.errors or field.value() not in (None, "", [], self.fields[field.name].initial)
            for field in self.detail_fields
        )


class CommonForm(TabForm):
    """The fields that every schedule has: its zone, closed days, exceptions and jitter."""

    MAIN_FIELDS: ClassVar[tuple[str, ...]] = ("time_zone",)
    PLACES: ClassVar[Mapping[str, str]] = {
        "timeZone": "time_zone",
        "closedDays": "closed_days",
        "closedDays.calendar": "closed_days",
        "closedDays.rule": "closed_days_rule",
        "skips": "skips",
        "extras": "extras",
        "jitter": "jitter",
    }
    SOURCES: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "timeZone": ("time_zone",),
        "closedDays": ("closed_days", "closed_days_rule"),
        "skips": ("skips", "time_zone"),
        "extras": ("extras", "time_zone"),
        "jitter": ("jitter",),
    }

    time_zone = forms.CharField(
        label="Time zone",
        required=False,
        max_length=200,
        widget=forms.TextInput(
            attrs={"list": "zones", "autocomplete": "off", "placeholder": "UTC", "spellcheck": "false"}
        ),
        help_text="All times here are read on the clocks of this zone. UTC if empty.",
    )
    closed_days = forms.ChoiceField(label="Closed days", required=False)
    closed_days_rule = DefaultedChoiceField(label="On a closed day", choices=list(RULES.items()), initial="skip")
    skips = WallTimesField(
        label="Left out",
        required=False,
        allows_days=True,
        help_text="Days or single runs, such as 2026-12-24, 2026-12-31 09:00.",
    )
    extras = WallTimesField(
        label="Added", required=False, allows_days=False, help_text="Further runs, such as 2026-12-23 09:00."
    )
    jitter = DurationField(
        label="Jitter", required=False, help_text="Each run starts later by a part of this, such as PT10M."
    )

    def __init__(self, *args, closed_day_names: Collection[str] = (), **kwargs):
        super().__init__(*args, **kwargs)
        names = dict.fromkeys(closed_day_names)
        if stored := common_members(self.stored or {}).get("closedDays"):
            names[stored["calendar"]] = None
        self.fields["closed_days"].choices = [("", "every day is open"), *((name, name) for name in names)]

    @property
    def zone(self) -> tzinfo:
        """The schedule's zone; UTC while its name is wrong."""
        try:
            return zone_of(self.cleaned_data.get("time_zone") or None, "timeZone")
        except WireError:
            return UTC

    def clean(self) -> None:
        super().clean()
        name = self.cleaned_data.get("time_zone")
        try:
            zone_of(name or None, "timeZone")
        except WireError as error:
            self.zone_error = error
            self.add_error("time_zone", capfirst(error.message))

    def document(self) -> Document | None:
        return without_empty(self.own_document() | self._zone() | self._common())

    def own_document(self) -> Document:
        """Return the format, and the members that the format has alone."""
        raise NotImplementedError

    @classmethod
    def values_of(cls, document: Mapping[str, Any]) -> dict[str, Any] | None:
        zone = document.get("timeZone")
        members, clocks = common_members(document), zone_of(zone, "timeZone")
        closed = members.get("closedDays") or {}
        jitter = common.read({"jitter": members["jitter"]}).jitter if members.get("jitter") else None
        return {
            "time_zone": zone or "",
            "closed_days": closed.get("calendar", ""),
            "closed_days_rule": closed.get("rule", "skip"),
            "skips": [_day_or_wall(text, clocks) for text in members.get("skips") or []],
            "extras": [_day_or_wall(text, clocks) for text in members.get("extras") or []],
            "jitter": jitter,
        }

    def instant(self, wall: datetime | None, path: str = "") -> str | None:
        """Return a wall time of the schedule's zone as an instant in UTC.  Raises WireError at the calendar's ends."""
        return None if wall is None else instant_text(wall, self.zone, path)

    def _zone(self) -> Document:
        name = self.cleaned_data.get("time_zone")
        return {} if not name or (name.upper() == "UTC" and not self._stored_zone) else {"timeZone": name}

    @property
    def _stored_zone(self) -> bool:
        return bool((self.stored or {}).get("timeZone"))

    def _common(self) -> Document:
        data = self.cleaned_data
        calendar, jitter = data.get("closed_days"), data.get("jitter")
        return {
            "skips": [self._skip(each) for each in data.get("skips") or []],
            "extras": [self.instant(each, "extras") for each in data.get("extras") or []],
            "closedDays": {"calendar": calendar, "rule": data.get("closed_days_rule") or "skip"} if calendar else None,
            "jitter": None if jitter is None else common.rendered_duration(jitter) if jitter else "PT0S",
        }

    def _skip(self, each: date) -> str | None:
        return self.instant(each, "skips") if isinstance(each, datetime) else each.isoformat()


class BoundedForm(CommonForm):
    """The fields of a format that has a start and an end, both included."""

    PLACES: ClassVar[Mapping[str, str]] = {**CommonForm.PLACES, "startTime": "start", "endTime": "end"}
    SOURCES: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **CommonForm.SOURCES,
        "startTime": ("start", "time_zone"),
        "endTime": ("end", "time_zone"),
    }

    start = WallTimeField(label="Start", required=False, help_text="No run is earlier.")
    end = WallTimeField(label="End", required=False, help_text="The last possible time of a run.")

    field_order: tuple[str, ...] = ("time_zone", "start", "end")

    @classmethod
    def values_of(cls, document: Mapping[str, Any]) -> dict[str, Any] | None:
        values, zone = super().values_of(document), zone_of(document.get("timeZone"), "timeZone")
        assert values is not None
        bounds = {"start": document.get("startTime"), "end": document.get("endTime")}
        return {**values, **{name: wall_of(value, zone) for name, value in bounds.items()}}

    def bounds(self) -> Document:
        start, end = self.cleaned_data.get("start"), self.cleaned_data.get("end")
        return {
            "startTime": self.instant(start, "startTime"),
            "endTime": None if end is None else instant_text(end, self.zone, "endTime", is_end=True),
        }


class ClockForm(BoundedForm):
    """The fields of a format whose wall times follow clocks."""

    PLACES: ClassVar[Mapping[str, str]] = {
        **BoundedForm.PLACES,
        "clockChange": "clock_change",
        "clockChange.gap": "gap",
        "clockChange.repeat": "repeat",
    }
    SOURCES: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **BoundedForm.SOURCES,
        "clockChange": ("clock_change", "gap", "repeat"),
    }

    clock_change = DefaultedChoiceField(
        label="Clock changes", choices=CLOCK_CHANGES, initial=CRON, help_text=CLOCK_HELP
    )
    gap = DefaultedChoiceField(label="A skipped time", choices=list(GAPS.items()), initial="next")
    repeat = DefaultedChoiceField(label="A repeated time", choices=list(REPEATS.items()), initial="first")

    field_order: tuple[str, ...] = ("time_zone", "start", "end", "clock_change", "gap", "repeat")

    @classmethod
    def values_of(cls, document: Mapping[str, Any]) -> dict[str, Any] | None:
        values, change = super().values_of(document), document.get("clockChange")
        assert values is not None
        if isinstance(change, Mapping):
            words = {name: str(change.get(name) or "").lower() for name in ("gap", "repeat")}
            return {
                **values,
                "clock_change": POLICY,
                "gap": words["gap"] or "next",
                "repeat": words["repeat"] or "first",
            }
        return {**values, "clock_change": str(change or cls.base_fields["clock_change"].initial).lower()}

    def clock_members(self) -> Document:
        data = self.cleaned_data
        choice = data.get("clock_change") or ""
        if choice == POLICY:
            return {"clockChange": {"gap": data.get("gap") or "next", "repeat": data.get("repeat") or "first"}}
        return {} if choice in ("", self.fields["clock_change"].initial) else {"clockChange": choice}


class SeriesForm(ClockForm):
    """The fields of a calendar series: its first occurrence, whose zone is that of the schedule."""

    PLACES: ClassVar[Mapping[str, str]] = {
        **ClockForm.PLACES,
        "start": "event_start",
        "end": "event_end",
        "start.timeZone": "time_zone",
    }
    SOURCES: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **ClockForm.SOURCES,
        "start": ("event_start", "time_zone"),
        "end": ("event_end", "event_start", "time_zone"),
    }

    event_start = WallTimeField(label="First occurrence", required=False)
    event_end = WallTimeField(
        label="End of the first occurrence", required=False, help_text="Without it, occurrences have no length."
    )
    clock_change = DefaultedChoiceField(
        label="Clock changes",
        choices=[(SERIES, "like calendars"), *CLOCK_CHANGES],
        initial=SERIES,
        help_text="Like calendars: a skipped time runs later by the size of the change; a repeated time runs the first"
        f" time. {CLOCK_HELP}",
    )

    field_order = ("time_zone", "event_start", "event_end", "start", "end", "clock_change", "gap", "repeat")

    @classmethod
    def values_of(cls, document: Mapping[str, Any]) -> dict[str, Any] | None:
        begins, ends = document.get("start") or {}, document.get("end") or {}
        if ends and ends.get("timeZone") != begins.get("timeZone"):
            return None
        zone = document.get("timeZone") or begins.get("timeZone")
        values = super().values_of({**document, "timeZone": zone})
        assert values is not None
        walls = [wall_of(each.get("dateTime"), zone_of(zone, "timeZone"), is_wall=True) for each in (begins, ends)]
        return {**values, "event_start": walls[0], "event_end": None if walls[1] == walls[0] else walls[1]}

    def span(self, *, needs_end: bool) -> Document:
        """Return the members `start` and `end`; with `needs_end` an end that is empty is the start."""
        start, end = self.cleaned_data.get("event_start"), self.cleaned_data.get("event_end")
        end = start if needs_end and end is None else end
        zone = self.cleaned_data.get("time_zone") or "UTC"
        walls = {"start": start, "end": end}
        return {name: {"dateTime": wall.isoformat(), "timeZone": zone} for name, wall in walls.items() if wall}

    def _zone(self) -> Document:
        return {}


def common_members(document: Mapping[str, Any]) -> Mapping[str, Any]:
    return common.split(document)[1]


def without_empty(members: Mapping[str, Any]) -> Document:
    return {name: value for name, value in members.items() if value not in (None, "", [], {})}


def instant_text(wall: datetime, zone: tzinfo, path: str, *, is_end: bool = False) -> str:
    try:
        return rendered_instant((latest_instant_of if is_end else earliest_instant_of)(wall, zone))
    except OverflowError:
        raise WireError(path, "out_of_range", f"must be a time that exists, not {wall:%Y-%m-%d %H:%M}") from None


def wall_of(value: object, zone: tzinfo, *, is_wall: bool = False) -> datetime | None:
    """Return a stored time as a wall time in `zone`, or None; without an offset it is one if `is_wall`, else UTC."""
    if value is None or value == "":
        return None
    try:
        time = json_values.instant_or_wall(value, "") if is_wall else simple.moment(value, "")
        assert time is not None
        return (time.astimezone(zone) if time.tzinfo else time).replace(tzinfo=None, microsecond=0, fold=0)
    except (WireError, OverflowError):
        return None


def _day_or_wall(text: str, zone: tzinfo) -> date:
    if json_values.DAY.fullmatch(text):
        return date.fromisoformat(text)
    return wall_of(text, zone) or date.max
