"""Members that several documents have."""

from rest_framework import serializers

from accounts.fields import TextField
from maintenance.wishes import TEXT_LENGTH


class NameField(TextField):
    """Of a resource."""

    def __init__(self, **options):
        super().__init__(min_length=1, max_length=TEXT_LENGTH, **options)


class LabelsField(serializers.DictField):
    child = TextField(max_length=TEXT_LENGTH, allow_blank=True)
