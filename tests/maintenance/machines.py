"""Machines that poll the metadata API, and notices announced to them over the REST API."""

import json
from dataclasses import dataclass, field
from datetime import datetime

from django.test import Client
from django.utils import timezone

from accounts.models import Subscription
from maintenance import resources
from maintenance.models import Resource

PATH = "/metadata/scheduledevents"
VERSIONS = ("2017-03-01", "2017-08-01", "2017-11-01", "2019-01-01", "2019-04-01", "2019-08-01", "2020-07-01")
NEWEST = VERSIONS[-1]
IN_AN_HOUR = {"eventType": "Reboot", "notBeforeSeconds": 3600}


@dataclass
class Machine:
    """A resource with its token.  It sends the token as a bearer token, unless `headers` change that."""

    resource: Resource
    token: str
    headers: dict[str, str] = field(init=False)

    def __post_init__(self):
        self.headers = {"Metadata": "true", "Authorization": f"Bearer {self.token}"}

    @property
    def name(self) -> str:
        return self.resource.name

    def get(self, version: str = NEWEST, path: str = PATH, **changes):
        return call("GET", version, path, headers={**self.headers, **changes.pop("headers", {})}, **changes)

    def post(self, body: object, version: str = NEWEST, path: str = PATH, **changes):
        return call("POST", version, path, body, headers={**self.headers, **changes.pop("headers", {})}, **changes)

    def approve(self, *ids: str, **changes):
        return self.post({"StartRequests": [{"EventId": each} for each in ids]}, **changes)

    def document(self, version: str = NEWEST) -> dict:
        response = self.get(version)
        assert response.status_code == 200, response.content
        return response.json()

    def events(self, version: str = NEWEST) -> list[dict]:
        return self.document(version)["Events"]

    @property
    def incarnation(self) -> int:
        return self.document()["DocumentIncarnation"]


def machine(subscription: Subscription, name: str, group: str = "", labels: dict | None = None) -> Machine:
    return Machine(*resources.register(subscription, name, group, labels or {}, timezone.now()))


def call(method: str, version: str | None, path: str = PATH, body: object = None, *, headers, query: str = "", **extra):
    """Send a request; headers with the value None are left out."""
    address = f"{path}?{'' if version is None else f'api-version={version}'}{query}"
    sent = {name: value for name, value in headers.items() if value is not None}
    data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    content = {"content_type": "application/json", **extra}
    return Client(raise_request_exception=False).generic(method, address, data, headers=sent, **content)


def post_notice(api, *machines: Machine, **members) -> str:
    """Announce maintenance of the machines, by default a reboot in an hour; return the event id in upper case."""
    body = {**IN_AN_HOUR, "resources": [each.name for each in machines], **members}
    if "notBefore" in members or members.get("eventStatus") == "Started":
        del body["notBeforeSeconds"]
    response = api.post("/api/notices", body)
    assert response.status_code == 201, response.content
    return response.json()["eventId"].upper()


def post_step(api, event_id: str, step: str) -> None:
    response = api.post(f"/api/notices/{event_id.lower()}/{step}")
    assert response.status_code == 200, response.content


def rfc1123(moment: datetime) -> str:
    """Format an instant without a library, because libraries may use the locale."""
    day = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")[moment.weekday()]
    month = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")[moment.month - 1]
    return f"{day}, {moment.day:02} {month} {moment.year} {moment:%H:%M:%S} GMT"
