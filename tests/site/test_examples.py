"""Example requests of the description are accepted, and real responses have the structure of the example responses."""

from typing import Any

import pytest

from tests.site.test_description import examples_of, operations

SECRETS = {
    "password": "violet-harbour-31",
    "secret": "copper-meadow-58",
    "sasToken": "?sv=2023-11-03&sp=a&sig=crimson-valley-64",
    "sasKey": "aXZvcnktbWVhZG93LTE5LWtleQ==",
}
REQUESTS = [
    pytest.param(place, operation, example, id=f"{operation['operationId']}-{position}")
    for place, operation in operations()
    if "application/json" in operation.get("requestBody", {}).get("content", {})
    for position, example in enumerate(examples_of(operation["requestBody"]["content"]["application/json"]))
]
READS = [
    pytest.param(place.partition(" ")[2], operation, id=operation["operationId"])
    for place, operation in operations()
    if place.startswith("GET ")
]


@pytest.mark.parametrize("place, operation, example", REQUESTS)
def test_example_request_is_accepted(place, operation, example, api, existing, subscription, make_user):
    make_user("bob"), make_user("carol")
    method, path = place.split()
    body = with_existing(example, existing | {"subscription": str(subscription.pk)})

    response = getattr(api, method.lower())(address(path, existing), body, content_type="application/json")

    assert 200 <= response.status_code < 300, response.content
    assert_structure(response, operation)


@pytest.mark.parametrize("path, operation", READS)
def test_response_has_the_structure_of_its_example(path, operation, api, existing):
    query = {"from": "2026-01-01T00:00:00Z", "to": "2026-02-01T00:00:00Z"} if path == "/api/occurrences" else {}

    response = api.get(address(path, existing), query)

    assert response.status_code == 200, response.content
    assert_structure(response, operation)


def address(path: str, existing: dict[str, Any]) -> str:
    return path.replace("{id}", str(existing[path.split("/")[2]])) if "{id}" in path else path


def with_existing(part: Any, existing: dict[str, Any], name: str = "") -> Any:
    """Return the example with ids of existing objects, and with secrets for its dots."""
    if isinstance(part, dict):
        return {member: with_existing(each, existing, member) for member, each in part.items()}
    if part is None:
        return None
    if name in ("calendars", "collections") and part:
        return [existing[name]]
    if isinstance(part, list):
        return [with_existing(each, existing) for each in part]
    ids = {"collection": "collections", "job": "jobs", "calendarId": "calendars", "subscription": "subscription"}
    return existing[ids[name]] if name in ids else SECRETS.get(name, part)


def assert_structure(response, operation) -> None:
    """Check that the response has the members of an example, at the first two levels."""
    described = operation["responses"][str(response.status_code)]["content"]["application/json"]

    assert any(has_same_structure(response.json(), example) for example in examples_of(described)), response.json()


def has_same_structure(value: Any, example: Any, levels: int = 2) -> bool:
    if value is None or example is None or not levels:
        return True
    if isinstance(value, list) and isinstance(example, list):
        return not value or not example or has_same_structure(value[0], example[0], levels)
    if isinstance(value, dict) and isinstance(example, dict) and levels == 2:
        members = all(has_same_structure(value[name], example[name], 1) for name in value.keys() & example.keys())
        return value.keys() == example.keys() and members
    return type(value) is type(example) or {type(value), type(example)} <= {int, float}
