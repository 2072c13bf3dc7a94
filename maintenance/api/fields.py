"""Fields that several documents share."""

from api.fields import MapField, TextField
from maintenance.policies import TEXT_LENGTH


class NameField(TextField):
    """The name of a resource."""

    def __init__(self, **options):
        super().__init__(min_length=1, max_length=TEXT_LENGTH, **options)


class LabelsField(MapField):
    child = TextField(max_length=TEXT_LENGTH, allow_blank=True)
