"""A column for what clocks show."""

from datetime import datetime

from django.db import models


class WallField(models.CharField):
    """A reading of a clock to the second, without a zone: a naive datetime, kept as ISO text so that it sorts."""

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
