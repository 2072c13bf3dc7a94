"""Model fields for wall times, for their instants, and for buckets of time."""

from datetime import UTC, datetime, timedelta

from django.db import models

from recurrence.zones import instant_of

MONTH = timedelta(days=31)
YEAR = timedelta(days=366)
BUCKETED = 10 * YEAR  # the longest window for which `buckets` lists the buckets


class WallField(models.CharField):
    """A wall time to the second, without a zone: a naive datetime, stored as ISO text, which sorts by time."""

    _pyi_private_set_type: datetime  # type: ignore[assignment]  # what mypy takes for the values
    _pyi_private_get_type: datetime  # type: ignore[assignment]

    def __init__(self, *args, **options):
        super().__init__(*args, **{"max_length": 19, **options})

    def deconstruct(self):
        name, path, args, options = super().deconstruct()
        del options["max_length"]
        return name, path, args, options

    def from_db_value(self, value, expression, connection) -> datetime | None:
        return None if value is None else datetime.fromisoformat(value)

    def to_python(self, value) -> datetime | None:
        return datetime.fromisoformat(value) if isinstance(value, str) else value

    def get_prep_value(self, value) -> str | None:
        return value.isoformat(timespec="seconds") if isinstance(value, datetime) else value


class InstantField(models.DateTimeField):
    """The instant of the wall time in the column `of`, computed whenever the row is saved.

    The zone is the `tzinfo` of the row, or UTC for an all-day row.  The instant is never before that of `start`: if
    `start` lies in a gap, the instant of the end could otherwise be earlier.
    """

    def __init__(self, *args, of: str = "", **options):
        self.of = of
        super().__init__(*args, **{"editable": False, **options})

    def deconstruct(self):
        name, path, args, options = super().deconstruct()
        return name, path, args, {**options, "of": self.of}

    def pre_save(self, model_instance, add) -> datetime:
        zone = UTC if model_instance.is_all_day else model_instance.tzinfo
        instant = max(instant_of(getattr(model_instance, name), zone) for name in ("start", self.of))
        setattr(model_instance, self.attname, instant)
        return instant


class TimeBucketField(models.PositiveIntegerField):
    """The time bucket of a row, computed from `covers_from` and `covers_until` whenever the row is saved.

    The bucket is the month of `covers_from` (202603) if the row lasts at most a month, the year (2026) if it lasts at
    most a year, and 0 otherwise.  So a query for a window reads only a few buckets, however many rows lie before and
    after the window.  A range condition on one column would read all rows of the past, or all of the future.
    """

    def __init__(self, *args, **options):
        super().__init__(*args, **{"editable": False, **options})

    def pre_save(self, model_instance, add) -> int:
        bucket = bucket_of(model_instance.covers_from, model_instance.covers_until)
        setattr(model_instance, self.attname, bucket)
        return bucket


def bucket_of(covers_from: datetime, covers_until: datetime | None) -> int:
    if covers_until is None or covers_until - covers_from > YEAR:
        return 0
    first = covers_from.astimezone(UTC)
    return first.year if covers_until - covers_from > MONTH else first.year * 100 + first.month


def buckets(start: datetime, end: datetime) -> list[int] | None:
    """Return the buckets of rows that may overlap [start, end), or None for a window longer than BUCKETED."""
    if end - start > BUCKETED:
        return None
    since, until = (start - MONTH).astimezone(UTC), end.astimezone(UTC)
    months = range(since.year * 12 + since.month - 1, until.year * 12 + until.month)
    years = range((start - YEAR).astimezone(UTC).year, until.year + 1)
    return [0, *years, *(month // 12 * 100 + month % 12 + 1 for month in months)]
