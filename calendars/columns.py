"""Columns for what clocks show, and for when that is."""

from datetime import UTC, datetime

from django.db import models

from recurrence.zones import instant_of


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

    The row tells its zone as `tzinfo`; what is all-day counts as if it were in UTC.
    """

    def __init__(self, *args, of: str = "", **options):
        self.of = of
        super().__init__(*args, **{"editable": False, **options})

    def deconstruct(self):
        name, path, args, options = super().deconstruct()
        return name, path, args, {**options, "of": self.of}

    def pre_save(self, model_instance, add) -> datetime:
        zone = UTC if model_instance.is_all_day else model_instance.tzinfo
        instant = instant_of(getattr(model_instance, self.of), zone)
        setattr(model_instance, self.attname, instant)
        return instant
