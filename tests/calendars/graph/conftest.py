"""A client of the Graph API."""

import json
from typing import Any
from urllib.parse import urlsplit

import pytest
from rest_framework.test import APIClient

from accounts.models import ApiToken, Role
from calendars.models import Calendar, Share

YEAR = {"startDateTime": "2026-01-01T00:00:00Z", "endDateTime": "2027-01-01T00:00:00Z"}


class Graph:
    """A client that sends `token`, or none.  Addresses are below /v1.0, except absolute ones."""

    def __init__(self, token: str | None):
        self.client = APIClient()
        if token:
            self.client.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")

    def call(self, method: str, address: str, body: object = None, headers: dict | None = None, **query) -> Any:
        """Return the response.  Names in `query` that start with an underscore are OData options: `_top` is `$top`."""
        parameters = {name.replace("_", "$", 1) if name[0] == "_" else name: value for name, value in query.items()}
        if address.startswith("http"):
            parts = urlsplit(address)
            address = f"{parts.path}?{parts.query}"
        elif not address.startswith("/v1.0"):
            address = f"/v1.0{address}"
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        extra = {"query_params": parameters} if parameters else {}
        return self.client.generic(
            method, address, data, content_type="application/json", headers=headers or {}, **extra
        )

    def get(self, address: str, headers: dict | None = None, **query) -> Any:
        return self.call("GET", address, headers=headers, **query)

    def read(self, address: str, headers: dict | None = None, **query) -> Any:
        response = self.get(address, headers, **query)
        assert response.status_code == 200, response.content
        return response.json()

    def values(self, address: str, headers: dict | None = None, **query) -> list[dict]:
        """Return the values of all pages."""
        page = self.read(address, headers, **query)
        found = page["value"]
        while link := page.get("@odata.nextLink"):
            page = self.read(link, headers)
            found += page["value"]
        return found

    def post(self, address: str, body: object = None, headers: dict | None = None) -> Any:
        return self.call("POST", address, body, headers)

    def create(self, body: dict, address: str = "/me/events", headers: dict | None = None) -> dict:
        response = self.post(address, body, headers)
        assert response.status_code == 201, response.content
        return response.json()

    def patch(self, address: str, body: object, headers: dict | None = None) -> Any:
        return self.call("PATCH", address, body, headers)

    def change(self, id: str, body: dict, headers: dict | None = None) -> dict:
        response = self.patch(f"/me/events/{id}", body, headers)
        assert response.status_code == 200, response.content
        return response.json()

    def delete(self, address: str, headers: dict | None = None) -> Any:
        return self.call("DELETE", address, headers=headers)

    def instances(self, id: str, headers: dict | None = None, **query) -> list[dict]:
        return self.values(f"/me/events/{id}/instances", headers, **{**YEAR, "_top": 1000, **query})

    def days(self, id: str, start: str = "2000-01-01", end: str = "2100-01-01") -> list[str]:
        """Return the start days of the instances, in UTC."""
        found = self.instances(id, startDateTime=start, endDateTime=end)
        return [each["start"]["dateTime"][:10] for each in found]


@pytest.fixture
def graph(token) -> Graph:
    return Graph(token)


@pytest.fixture
def make_graph_client(make_user):
    """Return a function that creates a client for a new user; `token_role` is the role of its token."""

    def make(name: str, role: Role | None = Role.OWNER, token_role: Role = Role.OWNER, **fields) -> Graph:
        user = make_user(name, role, **fields)
        caller = Graph(ApiToken.objects.issue(user, "tests", role=token_role)[1])
        caller.user = user
        return caller

    return make


@pytest.fixture
def make_sharing_client(make_graph_client, calendar):
    """Return a function that creates a client for a new user with whom the owner's default calendar is shared."""

    def make(name: str = "rea", role: Role = Role.READER, token_role: Role = Role.OWNER, **fields) -> Graph:
        caller = make_graph_client(name, token_role=token_role, **fields)
        Share.objects.create(calendar=calendar, user=caller.user, role=role)
        return caller

    return make


@pytest.fixture
def other_calendar(owner) -> Calendar:
    return Calendar.objects.create(owner=owner, name="Other")


def at(text: str, zone: str = "UTC") -> dict:
    return {"dateTime": text, "timeZone": zone}


def event(start: str = "2026-01-05T10:00:00", end: str = "2026-01-05T11:00:00", zone: str = "UTC", **members) -> dict:
    return {"subject": "Stand-up", "start": at(start, zone), "end": at(end, zone), **members}


def recurrence(pattern: dict | None = None, start: str = "2026-01-05", **range) -> dict:
    """Return a recurrence: by default every Monday, ten times."""
    weekly = {"type": "weekly", "interval": 1, "daysOfWeek": ["monday"]}
    numbered = {"type": "numbered", "numberOfOccurrences": 10}
    return {"pattern": pattern or weekly, "range": {"startDate": start, **(range or numbered)}}


def read_error(response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]
