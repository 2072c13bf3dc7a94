"""Columns for what clocks show, and for when that is."""

from datetime import UTC, datetime, timedelta

from django.db import models

from recurrence.zones import instant_of

MONTH = timedelta(days=31)
YEAR = timedelta(days=366)
SHELVED = 10 * YEAR  # the longest window whose shelves are named


class WallField(models.CharField):
    """A reading of a clock to the second, without a zone: a naive datetime, kept as ISO text so that it sorts."""

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
    """When clocks show the reading in the column `of`: worked out whenever the row is saved, and never set.

    The row tells its zone as `tzinfo`; what is all-day counts as if it were in UTC.  Nothing is before `start`: when
    clocks skip that one, they may show the end earlier.
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


class ShelfField(models.PositiveIntegerField):
    """On which shelf a row stands, by the columns `first_at` and `ends_at`: set whenever the row is saved.

    What is over within a month stands with the month in which it begins (202603), what is over within a year with the
    year (2026), all else on shelf 0.  So what overlaps a window is found on a few shelves, however much lies before
    and behind it: a range of one column would read all of the past, or all that is to come.
    """

    def __init__(self, *args, **options):
        super().__init__(*args, **{"editable": False, **options})

    def pre_save(self, model_instance, add) -> int:
        shelf = shelf_of(model_instance.first_at, model_instance.ends_at)
        setattr(model_instance, self.attname, shelf)
        return shelf


def shelf_of(first_at: datetime, ends_at: datetime | None) -> int:
    if ends_at is None or ends_at - first_at > YEAR:
        return 0
    first = first_at.astimezone(UTC)
    return first.year if ends_at - first_at > MONTH else first.year * 100 + first.month


def shelves(start: datetime, end: datetime) -> list[int] | None:
    """The shelves with what may overlap [start, end); None when they are too many to name."""
    if end - start > SHELVED:
        return None
    since, until = (start - MONTH).astimezone(UTC), end.astimezone(UTC)
    months = range(since.year * 12 + since.month - 1, until.year * 12 + until.month)
    years = range((start - YEAR).astimezone(UTC).year, until.year + 1)
    return [0, *years, *(month // 12 * 100 + month % 12 + 1 for month in months)]
