"""A generated client changes only what its caller sets: tests of each PATCH in the description."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction
from django.utils import timezone

from calendars.models import Calendar
from jobs import registry
from jobs.actions.member_types import Text
from jobs.actions.queue_members import BROKERED_PROPERTIES
from jobs.encryption import MASK
from jobs.models import JobCollection, Run
from jobs.run_now import run_now
from scheduler_site.patches import MERGED_MEMBERS
from scheduler_site.wsgi import application
from tests.conftest import NOW, WEDNESDAY
from tests.maintenance.notices import resource, set_policy
from tests.peers.tls import Authority
from tests.site.description import DESCRIPTION
from tests.site.generated import GeneratedClient
from triggers.definitions import split_schedule

PATCHES = {
    operations["patch"]["operationId"]: (path, operations["patch"])
    for path, operations in DESCRIPTION["paths"].items()
    if "patch" in operations
}
Document = dict[str, Any]
NEXT = WEDNESDAY.year + 1  # tests start at this time, independent of the clock of the machine
LATER = NEXT + 1


@dataclass(kw_only=True)
class Existing:
    """An object whose members differ from their defaults, and patches that each set as little as possible."""

    id: object
    read: Callable[[], Document]
    patches: list[Document]
    always: frozenset[str] = frozenset({"revision", "updatedAt"})  # changes with every member
    follows: dict[str, set[str]] = field(
        default_factory=dict
    )  # by the place of a member, what changes together with it
    hidden: dict[str, str] = field(
        default_factory=dict
    )  # by a member that is not returned, where its change is visible


@pytest.fixture(scope="session")
def generated(tmp_path_factory) -> GeneratedClient:
    return GeneratedClient(DESCRIPTION, tmp_path_factory.mktemp("generated"))


@pytest.fixture
def generated_client(generated, token, one_connection):
    return generated.connected(application, token)


@pytest.mark.parametrize("operation_id", PATCHES)
def test_patch_changes_only_the_members_that_it_sets(operation_id, request, generated, generated_client):
    path, operation = PATCHES[operation_id]
    merged = MERGED_MEMBERS.get(path, ())
    call = generated.call(operation)
    model = generated.body_of(call)
    used: set[tuple[str, str]] = set()

    for existing in request.getfixturevalue(FIXTURES[operation_id]):
        before = flat(existing.read())
        for patch in existing.patches:
            with rolled_back():
                response = call(existing.id, client=generated_client, body=generated.make(model, patch, used))
                assert response.status_code == 200, (patch, response.content)
                check(existing, patch, merged, before, flat(existing.read()))

    assert set(generated.parts(model, merged)) - used == set()  # every part was set by a patch


@pytest.mark.parametrize("operation_id", PATCHES)
def test_null_is_accepted_where_the_description_allows_it_and_changes_nothing_else(
    operation_id, request, generated_client
):
    path, operation = PATCHES[operation_id]
    existing, *_ = request.getfixturevalue(FIXTURES[operation_id])
    address = path.replace("{id}", str(existing.id))
    before = flat(existing.read())

    for member, schema in members_of(operation).items():
        with rolled_back():
            response = generated_client.get_httpx_client().patch(address, json={member: None})
            after = flat(existing.read())
            if schema.get("nullable"):
                assert response.status_code == 200, (member, response.content)
                assert other_changes(existing, {member}, before, after) == set()
            else:
                assert (response.status_code, response.json()["error"]["target"]) == (400, member)
                assert after == before


def members_of(operation: Mapping[str, Any]) -> dict[str, Any]:
    reference = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    return DESCRIPTION["components"]["schemas"][reference.rpartition("/")[2]]["properties"]


def check(existing: Existing, patch: Document, merged: tuple[str, ...], before: Document, after: Document) -> None:
    patched = flat(patch)
    for place, value in patched.items():
        if place not in existing.hidden:
            assert (after.get(place) or None) == (value or None), (patch, place)  # false may be left out
    set_places = {place if (member := place.partition(".")[0]) in merged else member for place in patched}

    assert after != before, patch
    assert other_changes(existing, set_places, before, after) == set(), patch


def other_changes(existing: Existing, set_places: set[str], before: Document, after: Document) -> set[str]:
    """Return the places that changed although the patch did not set them."""
    shown = {existing.hidden.get(place, place) for place in set_places} | existing.always
    for member, others in existing.follows.items():
        if any(under(place, member) for place in set_places):
            shown |= others
    changed = {place for place in before.keys() | after.keys() if before.get(place) != after.get(place)}
    return {place for place in changed if not any(under(place, each) for each in shown)}


def flat(document: Mapping[str, Any], place: str = "") -> Document:
    """Return the values of a document by their places in it."""
    values: Document = {}
    for name, value in document.items():
        if isinstance(value, Mapping) and value:
            values |= flat(value, f"{place}{name}.")
        else:
            values[place + name] = value
    return values


def under(place: str, other: str) -> bool:
    return place == other or place.startswith(f"{other}.")


@contextmanager
def rolled_back() -> Iterator[None]:
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


FIXTURES = {
    "patchCalendar": "calendars",
    "patchClosedDays": "closed_days",
    "patchCollection": "collections",
    "patchEvent": "events",
    "patchFollowing": "followings",
    "patchJob": "jobs",
    "changeNotice": "notices",
    "patchOccurrence": "occurrences",
    "patchResource": "resources",
    "patchTrigger": "triggers",
}


@pytest.fixture
def create(generated_client):
    """Return a function that posts a document to a list and returns the created object and a function that reads it."""
    http = generated_client.get_httpx_client()

    def post(kind: str, document: Document) -> tuple[Any, Callable[[], Document]]:
        response = http.post(f"/api/{kind}", json=document)
        assert response.status_code == 201, response.content
        return response.json(), lambda: http.get(response.headers["Location"]).json()

    return post


@pytest.fixture
def calendars(create, make_user):
    make_user("bob"), make_user("carol")
    made, read = create(
        "calendars", {"name": "Releases", "hue": "moss", "shares": [{"user": "bob", "role": "operator"}]}
    )
    patches = [{"name": "Audits"}, {"hue": "plum"}, {"shares": [{"user": "carol", "role": "reader"}]}]
    return [Existing(id=UUID(made["id"]), read=read, patches=patches)]


@pytest.fixture
def closed_days(create, generated_client, owner):
    shared = str(Calendar.objects.default_of(owner).pk)
    http = generated_client.get_httpx_client()
    made, _ = create(
        "closed-days",
        {
            "name": "germany",
            "weekend": ["sunday"],
            "holidays": [{"country": "DE", "subdivision": "BE"}],
            "dates": [{"month": 12, "day": 24, "name": "Christmas Eve"}],
        },
    )
    patches: list[Document] = [
        {"name": "austria"},
        {"weekend": ["saturday", "sunday"]},
        {"holidays": [{"country": "AT", "subdivision": "9"}]},
        {"dates": [{"date": "2026-06-05", "name": "Bridge day"}]},
        {"dates": [{"from": "2026-06-05", "to": "2026-06-08"}]},
        {"calendars": [{"calendar": shared, "category": "Closed"}]},
    ]

    def read() -> Document:
        (calendar,) = http.get("/api/closed-days").json()["value"]  # a patch may have renamed it
        return calendar

    return [Existing(id=made["name"], read=read, patches=patches)]


@pytest.fixture
def collections(create):
    made, read = create(
        "collections",
        {
            "name": "nightly",
            "location": "westeurope",
            "tags": {"team": "billing"},
            "sku": "P10Premium",
            "state": "disabled",
            "maxJobCount": 7,
            "maxRecurrence": {"frequency": "minute", "interval": 5},
        },
    )
    patches: list[Document] = [
        {"name": "weekly"},
        {"resourceGroup": "billing"},
        {"location": "northeurope"},
        {"tags": {"rack": "r7"}},
        {"sku": "P20Premium"},
        {"state": "enabled"},
        {"maxJobCount": 8},
        {"maxRecurrence": {"frequency": "hour"}},
        {"maxRecurrence": {"interval": 6}},
    ]
    return [Existing(id=made["id"], read=read, patches=patches)]


DETAILS = {
    "subject": "Budget",
    "body": "<p>Figures</p>",
    "bodyType": "html",
    "location": "Room 4",
    "categories": ["green"],
    "attendees": [{"name": "Bob", "address": "bob@example.com", "type": "optional"}],
    "showAs": "tentative",
    "sensitivity": "personal",
    "importance": "high",
    "reminderMinutes": 30,
    "timeZone": "Europe/Berlin",
    "startLocal": "2026-01-05T09:00:00",
    "endLocal": "2026-01-05T10:00:00",
}
WEEKLY = {
    "pattern": {"type": "weekly", "interval": 2, "daysOfWeek": ["monday"], "firstDayOfWeek": "monday"},
    "range": {"type": "noEnd", "startDate": "2026-01-05"},
}
DAILY = {
    "pattern": {"type": "daily", "interval": 3},
    "range": {"type": "noEnd", "startDate": "2026-01-05"},
}
ALL_DAY = {"isAllDay": True, "startLocal": "2026-01-05T00:00:00", "endLocal": "2026-01-06T00:00:00"}
DETAILS_PATCHES: list[Document] = [
    {"subject": "Accounts"},
    {"body": "<p>More</p>"},
    {"bodyType": "text"},
    {"location": "Room 5"},
    {"categories": ["red"]},
    {"attendees": [{"name": "Carol", "address": "carol@example.com", "type": "resource"}]},
    {"showAs": "free"},
    {"sensitivity": "normal"},
    {"importance": "low"},
    {"reminderMinutes": 45},
    {"timeZone": "Europe/Lisbon"},
    {"startLocal": "2026-01-05T09:30:00"},
    {"endLocal": "2026-01-05T10:30:00"},
]
CHANGES_WITH_TIMES = {
    "startLocal": {"start"},
    "endLocal": {"end"},
    "timeZone": {"start", "end"},
    "isAllDay": {"startDate", "endDate"},
}


@pytest.fixture
def events(create, owner):
    other, _ = create("calendars", {"name": "Other"})
    timed, read_timed = create("events", {**DETAILS, "recurrence": WEEKLY})
    whole, read_whole = create("events", {**DETAILS, **ALL_DAY, "recurrence": WEEKLY})
    patches = [*DETAILS_PATCHES, {"recurrence": DAILY}, {"calendarId": other["id"]}]
    follows = CHANGES_WITH_TIMES | {
        "recurrence": {"description", "type"},
        "timeZone": {"start", "end", "recurrence.range.recurrenceTimeZone"},
    }
    return [
        Existing(id=timed["id"], read=read_timed, patches=patches, follows=follows),
        Existing(id=whole["id"], read=read_whole, patches=[{"isAllDay": False}], follows=follows),
    ]


@pytest.fixture
def occurrences(create, generated_client):
    made, _ = create("events", {**DETAILS, "recurrence": DAILY})
    whole, _ = create("events", {**DETAILS, **ALL_DAY, "recurrence": DAILY})
    http = generated_client.get_httpx_client()

    def existing(event: Document, patches: list[Document]) -> Existing:
        id = f"{event['id']}_20260108"
        return Existing(
            id=id,
            read=lambda: http.get(f"/api/occurrences/{id}?timeZone=Europe/Berlin").json(),
            patches=patches,
            always=frozenset({"isException"}),
            follows=CHANGES_WITH_TIMES | {"timeZone": {"start", "end", "endLocal"}},
            hidden={"timeZone": "startLocal"},
        )

    later = [{"startLocal": "2026-01-08T09:30:00"}, {"endLocal": "2026-01-08T10:30:00"}]
    return [existing(made, [*DETAILS_PATCHES[:-2], *later]), existing(whole, [{"isAllDay": False}])]


@pytest.fixture
def followings(create, generated_client):
    http = generated_client.get_httpx_client()
    numbered = {**DAILY, "range": {"type": "numbered", "startDate": "2026-01-05", "numberOfOccurrences": 9}}
    before = 3  # occurrences of the series before the one that is patched
    unlike = ("id", "uid", "createdAt", "start", "end")

    def existing(name: str, patches: list[Document], **times: object) -> Existing:
        calendar, _ = create("calendars", {"name": name})
        event, _ = create("events", {**DETAILS, **times, "recurrence": numbered, "calendarId": calendar["id"]})

        def read() -> Document:
            """Return the series that starts with the occurrence, without members that depend on its first day."""
            found_events = http.get("/api/events", params={"calendar": calendar["id"]}).json()["value"]
            newest = max(found_events, key=lambda each: each["startLocal"])
            limits = newest["recurrence"]["range"] if newest["recurrence"] else {}
            limits.pop("startDate", None)
            if newest["id"] == event["id"]:
                limits["numberOfOccurrences"] -= before
            clocks = {name: newest[name].partition("T")[2] for name in ("startLocal", "endLocal")}
            days = {name: newest[name] and "some" for name in ("startDate", "endDate")}
            return {name: value for name, value in newest.items() if name not in unlike} | clocks | days

        return Existing(
            id=f"{event['id']}_20260114",
            read=read,
            patches=patches,
            follows=CHANGES_WITH_TIMES
            | {"recurrence": {"description", "type"}, "timeZone": {"recurrence.range.recurrenceTimeZone"}},
            hidden={name: name for name in ("startLocal", "endLocal", "recurrence.range.startDate")},
        )

    every_fifth = {
        "pattern": {"type": "daily", "interval": 5},
        "range": {**numbered["range"], "startDate": "2026-01-14"},
    }
    later = [{"startLocal": "2026-01-14T09:30:00"}, {"endLocal": "2026-01-14T10:30:00"}, {"recurrence": every_fifth}]
    return [existing("Timed", [*DETAILS_PATCHES[:-2], *later]), existing("Whole", [{"isAllDay": False}], **ALL_DAY)]


@pytest.fixture
def notices(create, make_job, subscription):
    resource(subscription, "db-2"), resource(subscription, "db-3")
    job = make_job()
    set_policy(job, "db-2")
    run_now(job, NOW)
    Run.objects.update(state=Run.State.RUNNING, started_at=NOW)  # so the resource is not idle
    made, read = create(
        "notices",
        {
            "eventType": "Redeploy",
            "resources": ["db-2"],
            "notBefore": f"{LATER}-01-01T00:00:00Z",
            "description": "New kernel",
            "durationInSeconds": 300,
            "eventSource": "User",
            "endAfterDuration": True,
        },
    )
    idle, read_idle = create(
        "notices",
        {
            "eventType": "Redeploy",
            "resources": ["db-2"],
            "notBefore": f"{LATER}-01-01T00:00:00Z",
            "approveWhenIdle": True,
            "keepOpen": True,
        },
    )
    idle_patches = [{"keepOpen": False}, {"approveWhenIdle": False}]
    patches: list[Document] = [
        {"eventType": "Freeze"},
        {"resources": ["db-3"]},
        {"notBefore": f"{LATER + 1}-01-01T00:00:00Z"},
        {"notBeforeSeconds": 3600},
        {"description": "Old kernel"},
        {"durationInSeconds": 600},
        {"eventSource": "Platform"},
        {"endAfterDuration": False},
    ]
    follows = {
        "notBefore": {"endsAt"},
        "notBeforeSeconds": {"endsAt"},
        "durationInSeconds": {"endsAt"},
        "endAfterDuration": {"endsAt"},
    }
    always, hidden = frozenset({"history"}), {"notBeforeSeconds": "notBefore"}
    return [
        Existing(id=UUID(made["eventId"]), read=read, patches=patches, follows=follows, always=always, hidden=hidden),
        Existing(id=UUID(idle["eventId"]), read=read_idle, patches=idle_patches, always=always),
    ]


@pytest.fixture
def resources(create):
    made, read = create("resources", {"name": "db-2", "scopeGroup": "databases", "labels": {"rack": "r7", "row": "2"}})
    patches: list[Document] = [{"name": "db-3"}, {"scopeGroup": "caches"}, {"labels": {"rack": "r8"}}]
    return [Existing(id=made["id"], read=read, patches=patches)]


MONDAY = date(NEXT, 1, 4) + timedelta(days=-date(NEXT, 1, 4).weekday() % 7)


def clock(time: str) -> Document:
    return {"dateTime": f"{MONDAY}T{time}", "timeZone": "Europe/Berlin"}


GRAPH_RECURRENCE = {
    "pattern": {"type": "weekly", "interval": 2, "daysOfWeek": ["monday"], "firstDayOfWeek": "monday"},
    "range": {"type": "numbered", "startDate": str(MONDAY), "numberOfOccurrences": 9},
}
EVERY_THIRD_WEEK = {
    **{"type": "weekly", "interval": 3, "daysOfWeek": ["monday"], "firstDayOfWeek": "sunday"},
    **{"dayOfMonth": 0, "month": 0, "index": "first"},
}
EIGHT_TIMES = {
    **{"type": "numbered", "startDate": str(MONDAY), "numberOfOccurrences": 8},
    **{"recurrenceTimeZone": "Europe/Berlin", "endDate": "0001-01-01"},
}
SCHEDULES: list[tuple[Document, list[Document]]] = [
    (
        {
            "format": "azure",
            "startTime": f"{NEXT}-01-01T08:00:00Z",
            "recurrence": {"frequency": "Month", "interval": 2, "count": 50, "schedule": {"hours": [9]}},
        },
        [
            {"startTime": f"{NEXT}-02-01T08:00:00Z"},
            *(
                {"recurrence": each}
                for each in ({"interval": 3}, {"count": 60}, {"endTime": f"{LATER}-01-01T00:00:00Z"})
            ),
            *({"recurrence": {"schedule": each}} for each in ({"hours": [10]}, {"minutes": [30]}, {"monthDays": [2]})),
        ],
    ),
    (
        {
            "format": "azure",
            "recurrence": {"frequency": "Month", "schedule": {"monthlyOccurrences": [{"day": "Monday"}]}},
        },
        [{"recurrence": {"schedule": {"monthlyOccurrences": [{"day": "Friday", "Occurrence": -1}]}}}],
    ),
    (
        {"format": "azure", "recurrence": {"frequency": "Week", "schedule": {"weekDays": ["Monday"]}}},
        [{"recurrence": {"schedule": {"weekDays": ["Friday"]}}}],
    ),
    ({"format": "azure", "recurrence": {"frequency": "Day"}}, [{"recurrence": {"frequency": "Week"}}]),
    (
        {
            "format": "simple",
            "startTime": f"{NEXT}-01-01T08:00:00Z",
            "endTime": f"{LATER}-01-01T08:00:00Z",
            "interval": 3_600_000,
            "repeatCount": 9,
        },
        [
            {"startTime": f"{NEXT}-02-01T08:00:00Z"},
            {"endTime": f"{LATER}-02-01T08:00:00Z"},
            {"interval": 7_200_000},
            {"repeatCount": 8},
        ],
    ),
    (
        {"format": "cron", "expression": "0 9 * * MON-FRI", "timeZone": "Europe/Berlin"},
        [{"expression": "@daily"}, {"timeZone": "Europe/Lisbon"}, {"clockChange": {"gap": "skip", "repeat": "both"}}],
    ),
    ({"format": "once", "at": f"{NEXT}-01-01T08:00:00Z"}, [{"at": f"{NEXT}-02-01T08:00:00Z"}]),
    (
        {"format": "outlook", "start": clock("10:00:00"), "end": clock("11:00:00"), "recurrence": GRAPH_RECURRENCE},
        [
            {"end": {"dateTime": f"{MONDAY}T11:30:00"}},
            {"start": {"dateTime": f"{MONDAY}T10:30:00"}},
            {"start": {"timeZone": "Europe/Berlin"}, "end": {"dateTime": f"{MONDAY}T11:30:00"}},
            {"recurrence": {"pattern": EVERY_THIRD_WEEK}},
            {"recurrence": {"range": EIGHT_TIMES}},
        ],
    ),
    (
        {
            "format": "rrule",
            "start": clock("10:00:00"),
            "end": clock("11:00:00"),
            "rrule": "FREQ=WEEKLY",
            "exdates": [str(MONDAY + timedelta(7))],
            "rdates": [str(MONDAY + timedelta(8))],
        },
        [
            {"start": {"dateTime": f"{MONDAY}T10:30:00"}},
            {"end": {"timeZone": "Europe/Lisbon"}},
            {"rrule": "FREQ=DAILY"},
            {"exdates": [str(MONDAY + timedelta(14))]},
            {"rdates": [str(MONDAY + timedelta(9))]},
            {"timeZone": "Europe/Berlin"},
            {"clockChange": "cron"},
            {"startTime": f"{NEXT}-02-01T08:00:00Z"},
            {"endTime": f"{LATER}-02-01T08:00:00Z"},
        ],
    ),
    (
        {"format": "solar", "event": "sunset", "latitude": 52.52, "longitude": 13.41, "offset": "-PT45M"},
        [
            {"event": "dawn"},
            {"latitude": -33.9},
            {"longitude": 151.2},
            {"offset": "PT1H"},
            {"timeZone": "Europe/Berlin"},
            {"startTime": f"{NEXT}-02-01T08:00:00Z"},
            {"endTime": f"{LATER}-02-01T08:00:00Z"},
        ],
    ),
]
QUARTZ = {
    "format": "quartz",
    "expression": "0 15 10 ? * MON-FRI",
    "timeZone": "Europe/Berlin",
    "clockChange": {"gap": "next", "repeat": "second"},
    "startTime": f"{NEXT}-01-01T00:00:00Z",
    "endTime": f"{LATER}-01-01T00:00:00Z",
    "skips": [f"{NEXT}-12-31"],
    "extras": [f"{NEXT}-12-30T09:15:00Z"],
    "closedDays": {"calendar": "offices", "rule": "after"},
    "jitter": "PT5M",
}
QUARTZ_PATCHES: list[Document] = [
    {"expression": "0 30 10 ? * MON-FRI"},
    {"timeZone": "Europe/Lisbon"},
    {"clockChange": "cron"},
    {"clockChange": {"gap": "skip"}},
    {"clockChange": {"repeat": "both"}},
    {"startTime": f"{NEXT}-02-01T00:00:00Z"},
    {"endTime": f"{LATER + 1}-01-01T00:00:00Z"},
    {"skips": [f"{NEXT}-12-24"]},
    {"extras": [f"{NEXT}-12-23T09:15:00Z"]},
    {"closedDays": {"calendar": "holidays"}},
    {"closedDays": {"rule": "before"}},
    {"jitter": "PT10M"},
    {"format": "quartz", "expression": "0 45 10 ? * MON-FRI"},
]


@pytest.fixture
def calendars_of_closed_days(create):
    for name in ("offices", "holidays"):
        create("closed-days", {"name": name, "weekend": ["saturday", "sunday"]})


@pytest.fixture
def triggers(create, make_job, calendars_of_closed_days):
    made, read = create(
        "triggers",
        {
            "job": make_job().pk,
            "name": "hourly",
            "schedule": QUARTZ,
            "enabled": False,
            "priority": 3,
            "group": "slow",
            "triggerDataMap": {"custom_lock_key": "billing", "depth": {"a": 1, "b": 2}},
            "misfire": "skip",
            "misfireThreshold": "PT5M",
        },
    )
    patches: list[Document] = [
        {"name": "daily"},
        *inside("schedule", *QUARTZ_PATCHES),
        {"enabled": True},
        {"priority": 4},
        {"group": "quick"},
        {"triggerDataMap": {"custom_lock_key": "payroll"}},
        {"triggerDataMap": {"depth": {"a": 3}}},
        {"triggerDataMap": {"depth": {"b": None}}},
        {"misfire": "fireAll"},
        {"misfireThreshold": "PT10M"},
    ]
    times = {"nextFireAt", "nextStartsAt"}
    follows = {"schedule": {"description", "warnings"} | times, "enabled": times}
    return [
        Existing(id=made["id"], read=read, patches=patches, follows=follows),
        *(
            Existing(id=made["id"], read=read, patches=inside("schedule", *format_patches), follows=follows)
            for position, (schedule, format_patches) in enumerate(SCHEDULES)
            for made, read in [create("triggers", {"job": make_job().pk, "name": f"t{position}", "schedule": schedule})]
        ),
    ]


AUTHENTICATION = "action.errorAction.request.authentication"
CHANGES_WITH_JOB_MEMBERS = {
    "action.errorAction": {"secretsSetAt.errorAction"},
    "ownSchedule": {"schedule", "startTime", "recurrence", "misfire", "nextRunAt"},
    "schedule": {"ownSchedule", "startTime", "recurrence", "misfire", "nextRunAt"},
    "startTime": {"schedule.startTime"},
    "recurrence": {"schedule"},
    "state": {"nextRunAt"},
    "collection": {"collectionName"},
    f"{AUTHENTICATION}.pfx": {f"{AUTHENTICATION}.certificateThumbprint", f"{AUTHENTICATION}.certificateSubjectName"},
}
SECRETS = ("password", "secret", "pfx", "sasToken", "sasKey")
SCHEDULE = {
    "startTime": f"{NEXT}-01-01T08:00:00Z",
    "recurrence": {
        "frequency": "Month",
        "interval": 2,
        "count": 50,
        "endTime": f"{LATER}-01-01T00:00:00Z",
        "schedule": {"minutes": [15], "hours": [9], "monthDays": [1, -1]},
    },
}
SETTINGS = {
    "state": "disabled",
    "overlap": "queue_one",
    "delivery": "at_most_once",
    "misfire": "skip",
}
RETRY_POLICY = {
    "retryType": "Exponential",
    "retryInterval": "PT1M",
    "retryCount": 7,
    "maximumRetryInterval": "PT2H",
}
BASIC = {"type": "Basic", "username": "ada", "password": "violet-harbour-31"}
OAUTH = {
    "type": "ActiveDirectoryOAuth",
    "tenant": "quando.example",
    "audience": "https://audience.example",
    "clientId": "client",
    "authority": "https://login.example",
    "secret": "copper-meadow-58",
}
SAS_TOKEN = "?sv=2023-11-03&sp=a&sig=crimson-valley-64"
QUEUE_MESSAGE = {
    "storageAccount": "account",
    "queueName": "orders",
    "sasToken": SAS_TOKEN,
    "message": "hello",
    "messageFormat": "Xml",
    "messageEncoding": "Base64",
}
SAS_KEY = {"type": "SharedAccessKey", "sasKeyName": "send", "sasKey": "aXZvcnktbWVhZG93LTE5LWtleQ=="}
BROKERED_TEXTS = [member.name for member in BROKERED_PROPERTIES.members if isinstance(member, Text)]
BROKERED = {name: f"some-{name}" for name in BROKERED_TEXTS} | {
    "partitionKey": "some-sessionId",
    "forcePersistence": True,
    "scheduledEnqueueTimeUtc": f"{LATER}-01-01T00:00:00Z",
    "timeToLive": "PT1H",
}
BUS_MESSAGE = {
    "namespace": "quando",
    "transportType": "AMQP",
    "message": "hello",
    "authentication": SAS_KEY,
    "brokeredMessageProperties": BROKERED,
    "customMessageProperties": {"kind": "order", "from-shop": "7"},
}
HTTP = {
    "type": "Http",
    "request": {
        "uri": "https://hooks.example/orders?site=amber-lantern-78&code=amber-lantern-79",
        "secretQuery": ["site"],
        "method": "PUT",
        "headers": {"X-Kind": "order", "X-Api-Key": "amber-lantern-77", "X-Shop": "amber-lantern-80"},
        "secretHeaders": ["X-Shop"],
        "body": "hello",
        "authentication": BASIC,
        "followRedirects": True,
        "success": {"statusCodes": [200], "bodyContains": "done", "bodyPath": "$.state", "bodyValue": "ok"},
    },
    "retryPolicy": RETRY_POLICY,
    "template": True,
    "follow": True,
    "followLimit": "PT2H",
}


OAUTH_PATCHES: list[Document] = [
    {"type": "ActiveDirectoryOAuth", "tenant": "other.example", "secret": "copper-meadow-59"},
    {"audience": "https://other.example", "secret": "copper-meadow-59"},
    {"clientId": "other", "secret": "copper-meadow-59"},
    {"authority": "https://other-login.example", "secret": "copper-meadow-59"},
    {"secret": "copper-meadow-59"},
]


def inside(place: str, *patches: Document) -> list[Document]:
    """Return the patches inside the object at the place."""
    for name in reversed(place.split(".")):
        patches = tuple({name: patch} for patch in patches)
    return list(patches)


RETRY_POLICY_PATCHES: list[Document] = [
    {"retryType": "Fixed"},
    {"retryInterval": "PT2M"},
    {"retryCount": 8},
    {"maximumRetryInterval": "PT3H"},
]
QUEUE_MESSAGE_PATCHES: list[Document] = [
    {"storageAccount": "other", "sasToken": SAS_TOKEN},
    {"queueName": "returns"},
    {"sasToken": f"{SAS_TOKEN}-b"},
    {"message": "bye"},
    {"messageFormat": "Text"},
    {"messageEncoding": "None"},
]
BUS_MESSAGE_PATCHES: list[Document] = [
    {"namespace": "other", "authentication": {"sasKey": SAS_KEY["sasKey"]}},
    {"transportType": "NetMessaging"},
    {"message": "bye"},
    *inside("authentication", {"type": "SharedAccessKey", "sasKeyName": "other", "sasKey": "b3RoZXIta2V5LTE5LWtleQ=="}),
    *inside("brokeredMessageProperties", *({name: f"other-{name}"} for name in BROKERED_TEXTS[:4])),
    *inside(
        "brokeredMessageProperties",
        {"sessionId": "s", "partitionKey": "s"},
        *({name: f"other-{name}"} for name in ("replyTo", "replyToSessionId", "to", "viaPartitionKey")),
        {"forcePersistence": False},
        {"scheduledEnqueueTimeUtc": f"{LATER + 1}-01-01T00:00:00Z"},
        {"timeToLive": "PT2H"},
    ),
    *inside("customMessageProperties", {"kind": "return"}),
]
HTTP_PATCHES: list[Document] = [
    {"type": "Https"},
    *inside(
        "request",
        {"uri": f"https://hooks.example/returns?site={MASK}&code={MASK}"},
        {"secretQuery": ["site", "code"]},
        {"method": "POST"},
        {"headers": {"X-Kind": "return"}},
        {"headers": {"X-Other": "new"}},
        {"secretHeaders": ["X-Shop", "X-Api-Key"]},
        {"body": "bye"},
        {"body": None},
        {"headers": {"X-Kind": None}},
        {"followRedirects": False},
        {"authentication": {"type": "Basic", "username": "bob", "password": "violet-harbour-32"}},
        {"success": {"statusCodes": [201]}},
        {"success": {"bodyContains": "ready"}},
        {"success": {"bodyPath": "$.other"}},
        {"success": {"bodyValue": "fine"}},
    ),
    *inside("retryPolicy", *RETRY_POLICY_PATCHES, {"retryCount": None}),
    {"errorAction": None},
    {"template": False},
    {"followLimit": "PT3H"},
]
SETTINGS_PATCHES: list[Document] = [
    {"startTime": f"{NEXT}-02-01T08:00:00Z"},
    *inside(
        "recurrence",
        {"interval": 3},
        {"count": 60},
        {"endTime": f"{LATER + 1}-01-01T00:00:00Z"},
        {"schedule": {"minutes": [30]}},
        {"schedule": {"hours": [10]}},
        {"schedule": {"monthDays": [2]}},
    ),
    {"state": "enabled"},
    {"state": "enabled", "runNow": True},
    {"overlap": "allow"},
    {"delivery": "at_least_once"},
    {"misfire": "fire_all"},
]


@pytest.fixture
def jobs(generated_client, make_job, authority, collection, calendars_of_closed_days):
    http = generated_client.get_httpx_client()
    weekly = JobCollection.objects.create(subscription=collection.subscription, name="weekly", sku=collection.sku)
    before = timezone.now() - timedelta(hours=1)  # a secret that is written again gets a new date
    made: list[Existing] = []

    def job(action: Document, *patches: Document, schedule: Document = SCHEDULE) -> None:
        format, definition = split_schedule({"format": "azure"} | schedule)
        row = make_job(f"job-{len(made)}", action, before, schedule=definition, format=format, **SETTINGS)
        secrets = {place for patch in patches for place in flat(patch) if place.endswith(SECRETS)}
        made.append(
            Existing(
                id=row.pk,
                read=lambda: http.get(f"/api/jobs/{row.pk}").json(),
                patches=list(patches),
                follows=CHANGES_WITH_JOB_MEMBERS,
                hidden={"runNow": "state"} | {place: place.replace("action.", "secretsSetAt.", 1) for place in secrets},
            )
        )

    queue = {"type": "StorageQueue", "queueMessage": QUEUE_MESSAGE, "retryPolicy": RETRY_POLICY, "template": True}
    job(
        HTTP | {"errorAction": queue},
        *SETTINGS_PATCHES,
        {"name": "renamed"},
        {"collection": weekly.pk},
        *inside("action", *HTTP_PATCHES),
        *inside("action.errorAction", {"type": "StorageQueue", "template": False}),
        *inside("action.errorAction.queueMessage", *QUEUE_MESSAGE_PATCHES),
        *inside("action.errorAction.retryPolicy", {"retryCount": 8}),
    )

    certificate, other = authority.client(password="indigo-canyon-86"), authority.client(password="indigo-canyon-87")
    mutual = {"type": "ClientCertificate", "pfx": certificate.pfx, "password": certificate.password}
    request = {"uri": "https://hooks.example/failed", "method": "POST", "authentication": mutual}
    job(
        {"type": "Https", "request": request | {"authentication": OAUTH}, "errorAction": HTTP | {"request": request}},
        *inside("action", *({"request": {"authentication": each}} for each in OAUTH_PATCHES), {"follow": True}),
        *inside("action.errorAction", {"request": {"method": "PUT"}}, {"follow": True, "followLimit": "PT3H"}),
        *inside("action.errorAction.request.authentication", {**mutual, "pfx": other.pfx, "password": other.password}),
    )

    plain = {
        "type": "Https",
        "request": {"uri": "https://hooks.example/", "method": "GET", "certificateAuthority": authority.pem},
    }
    job(plain, *inside("action.request", {"certificateAuthority": Authority().pem}))

    topic_patches: list[Document] = [
        {"namespace": "other", "authentication": {"sasKey": SAS_KEY["sasKey"]}},
        *BUS_MESSAGE_PATCHES[1:],
    ]
    job(
        {
            "type": "ServiceBusQueue",
            "serviceBusQueueMessage": {**BUS_MESSAGE, "queueName": "orders"},
            "errorAction": {
                "type": "ServiceBusTopic",
                "serviceBusTopicMessage": {**BUS_MESSAGE, "topicPath": "failed"},
            },
        },
        *inside("action.serviceBusQueueMessage", {"queueName": "returns"}, *BUS_MESSAGE_PATCHES),
        *inside("action.errorAction.serviceBusTopicMessage", {"topicPath": "lost"}, *topic_patches),
    )
    job(
        {
            "type": "ServiceBusTopic",
            "serviceBusTopicMessage": {**BUS_MESSAGE, "topicPath": "orders"},
            "errorAction": {
                "type": "ServiceBusQueue",
                "serviceBusQueueMessage": {**BUS_MESSAGE, "queueName": "failed"},
            },
        },
        *inside("action", {"serviceBusTopicMessage": {"message": "bye"}}),
        *inside("action.errorAction", {"serviceBusQueueMessage": {"message": "bye"}}),
    )

    first, second, *_ = registry.names()
    task = {"type": "Task", "task": {"name": first, "arguments": {"kind": "a", "deep": {"a": 1, "b": 2}}}}
    job(
        task | {"errorAction": task},
        *inside("action.task", {"name": second}, {"arguments": {"deep": {"a": 3}}}),
        *inside("action.errorAction", {"task": {"name": second}}),
    )
    for days, others in (
        ({"weekDays": ["Monday"]}, {"weekDays": ["Friday"]}),
        (
            {"monthlyOccurrences": [{"day": "Monday", "Occurrence": 1}]},
            {"monthlyOccurrences": [{"day": "Friday", "Occurrence": -1}]},
        ),
    ):
        frequency = "Week" if "weekDays" in days else "Month"
        recurrence = {"frequency": frequency, "interval": 2, "schedule": {"hours": [9], **days}}
        job(task, *inside("recurrence.schedule", others), schedule={"recurrence": recurrence})
    every_two = {"frequency": "Day", "interval": 2, "schedule": {"hours": [9]}}
    job(task, *inside("recurrence", {"frequency": "Week"}), schedule={"recurrence": every_two})
    for written, format_patches in [(QUARTZ, QUARTZ_PATCHES), *SCHEDULES]:
        job(task, *inside("schedule", *format_patches), schedule=written)
    job(queue, {"ownSchedule": False}, *inside("action.queueMessage", {"message": "bye"}))
    return made
