"""Every JSON answer of our own API is an `Answer`: its declared members are those that are rendered."""

from collections.abc import Iterator

from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import OpenApiResponse
from rest_framework.serializers import BaseSerializer, ListSerializer

from api.answers import Answer
from api.schema import PREFIX
from triggers.api.closed_days_documents import ClosedCalendarSerializer, ClosedDatesSerializer, HolidaysSerializer

# parts of a stored document, which recurrence.wire renders
STORED = {HolidaysSerializer, ClosedDatesSerializer, ClosedCalendarSerializer}


def answers() -> Iterator[tuple[str, type[BaseSerializer]]]:
    """Yield the classes of all answers that views declare, with their places."""
    generator = SchemaGenerator()
    generator._initialise_endpoints()
    for path, _, method, view in generator._get_paths_and_endpoints():
        if not path.startswith(PREFIX) or path in ("/api/schema", "/api/docs"):
            continue
        view.schema.view, view.schema.method, view.schema.path = view, method, path
        declared = view.schema.get_response_serializers()
        for each in declared.values() if isinstance(declared, dict) else [declared]:
            each = each.response if isinstance(each, OpenApiResponse) else each
            if each is not None:
                yield f"{method} {path}", each if isinstance(each, type) else type(each)


def below(place: str, answer: type[BaseSerializer]) -> Iterator[tuple[str, type[BaseSerializer]]]:
    """Yield the answer and the serializers in its fields."""
    yield place, answer
    for name, field in answer().fields.items():
        field = field.child if isinstance(field, ListSerializer) else field
        if isinstance(field, BaseSerializer):
            yield from below(f"{place}.{name}", type(field))


def test_every_answer_is_declared_as_one():
    found = {each for place, answer in answers() for each in below(place, answer) if each[1] not in STORED}

    assert len(found) > 100
    assert sorted(place for place, answer in found if not issubclass(answer, Answer)) == []
    assert sorted(place for place, answer in found if answer.members.keys() != answer().fields.keys()) == []
