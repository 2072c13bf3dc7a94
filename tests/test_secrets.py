"""Secrets of every kind are stored, sent to targets that return what they receive, and then searched for."""

import base64
import logging
import re
import uuid
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from io import StringIO
from urllib.parse import quote_plus

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db.models import Model
from django.urls import get_resolver
from django.utils import timezone

from accounts.models import ApiToken, Invitation, Subscription
from calendars import editing
from calendars.event_times import WallTime
from calendars.models import Calendar, Event, Feed
from jobs.models import SECRET_PATH, Attempt, Job, JobCollection, Run
from jobs.run_now import run_now
from jobs.worker.calls import HttpPool
from jobs.worker.concurrency import CallLimiter
from jobs.worker.execution import Worker
from maintenance.models import Notice, Resource
from operations.models import Operation
from scheduler_site.keys import new_encryption_key
from tests import secrets_watch
from tests.maintenance.machines import NEWEST, Machine, call, machine, post_notice
from tests.peers.oauth import TokenAuthority
from tests.peers.server import Answer, Call, Server
from tests.site.test_tenancy import routes
from triggers import closed_days
from triggers.definitions import TriggerDefinition
from triggers.models import ClosedDays, Trigger
from triggers.scheduling import save_trigger

BASIC, HEADER, OAUTH = "violet-harbour-31", "Bearer amber&lantern<77>", "copper+meadow/58=="
SAS = "?sv=2023-11-03&sp=a&sig=crimson%2Bvalley%2F64%3D"
KEYS = ("aXZvcnktbWVhZG93LTE5LWtleQ==", "c2lsdmVyLWZvcmVzdC00Mi1rZXk=")
PFX_PASSWORD = "indigo 'canyon' 86"
CODE, WHO, ALARM = "violet%2Dforest+19%3D", "amber-canyon-28", "copper-harbour/37"  # secrets in addresses
HEADER_SECRETS = {"X-Passwd": "silver-valley-46", "DD-APPLICATION-KEY": "ivory-canyon-55", "X-Foo": "crimson-forest-64"}
KINDS = {
    *("request.authentication.password", "request.headers.x-api-key", "request.authentication.secret"),
    *("request.authentication.pfx", "errorAction.queueMessage.sasToken"),
    "errorAction.serviceBusQueueMessage.authentication.sasKey",
    "errorAction.serviceBusTopicMessage.authentication.sasKey",
    *("request.query.code", "request.query.who", "errorAction.request.query.sig"),
    *("request.headers.x-passwd", "request.headers.dd-application-key", "request.headers.x-foo"),
    SECRET_PATH,
}
API_MODELS = {
    "calendars": Calendar,
    "collections": JobCollection,
    "events": Event,
    "feeds": Feed,
    "invitations": Invitation,
    "jobs": Job,
    "notices": Notice,
    "occurrences": Event,
    "operations": Operation,
    "resources": Resource,
    "runs": Run,
    "subscriptions": Subscription,
    "tokens": ApiToken,
    "triggers": Trigger,
}
MINT_NAME = "MINT.XEFEED@@@management-server@@@DEFAULT"

pytestmark = pytest.mark.django_db


class Echo(Server):
    """Responds with the whole request; the status is 500 for main actions and 201 for error actions, by the path."""

    def answer(self, call: Call) -> Answer:
        received = f"{call.path}\n{call.headers}\n{call.body}"
        headers = {f"X-Heard-{number}": text for number, text in enumerate(call.headers.values())}
        is_main = call.path.startswith("/main")
        return Answer(500 if is_main else 201, headers | {"Location": f"/{call.path}"}, received)


@pytest.fixture
def everything(owner, make_job, peer, authority, settings, caplog):
    """Jobs with all kinds of secrets, the servers that they call, and a client certificate."""
    caplog.set_level(logging.DEBUG)  # as LOG_LEVEL does
    echo = peer(Echo)
    secure = peer(Echo, tls=authority.server(demands_certificate=True))
    tokens = peer(TokenAuthority, {"client": OAUTH})
    settings.EGRESS_ALLOW = ["127.0.0.0/8"]
    settings.STORAGE_QUEUE_URL = f"{echo.url}/{{account}}"
    settings.SERVICE_BUS_URL = f"{echo.url}/{{namespace}}"
    settings.OAUTH_AUTHORITY = tokens.url
    closed_days.create(Subscription.objects.get(), "offices", {"weekend": ["sunday"]}, timezone.now())
    certificate = authority.client(password=PFX_PASSWORD)
    oauth = {"type": "ActiveDirectoryOAuth", "tenant": "t", "clientId": "client", "audience": "a", "secret": OAUTH}
    mutual = {"type": "ClientCertificate", "pfx": certificate.pfx, "password": PFX_PASSWORD}
    queue = {"storageAccount": "account", "queueName": "orders", "message": "m", "sasToken": SAS}
    jobs = [
        make_job(
            "basic",
            action=https_action(
                f"{echo.url}/main",
                {"type": "Basic", "username": "ada", "password": BASIC},
                error_action={"type": "StorageQueue", "queueMessage": queue},
                headers={"X-Api-Key": HEADER},
            ),
        ),
        make_job(
            "token",
            action=https_action(
                f"{echo.url}/main",
                oauth,
                error_action={"type": "ServiceBusQueue", "serviceBusQueueMessage": bus_message(KEYS[0], queueName="q")},
            ),
        ),
        make_job(
            "certificate",
            action=https_action(
                f"{secure.url}/main",
                mutual,
                error_action={"type": "ServiceBusTopic", "serviceBusTopicMessage": bus_message(KEYS[1], topicPath="t")},
                certificateAuthority=authority.pem,
            ),
        ),
        make_job(
            "keys",
            action=https_action(
                f"{echo.url}/main?code={CODE}&page=1&who={WHO}",
                None,
                error_action={
                    "type": "Http",
                    "request": {"uri": f"{echo.url}/alarm?sig={ALARM}", "method": "POST", "followRedirects": True},
                },
                headers=HEADER_SECRETS,
                secretHeaders=["X-Foo"],
                secretQuery=["who"],
            ),
        ),
    ]
    yearly = TriggerDefinition(format="quartz", definition={"expression": "0 0 0 1 1 ?"})
    save_trigger(jobs[0], MINT_NAME, yearly, timezone.now())
    times = {
        "start": WallTime(datetime.fromisoformat("2026-01-05T09:00"), "UTC"),
        "end": WallTime(datetime.fromisoformat("2026-01-05T10:00"), "UTC"),
    }
    daily = {"pattern": {"type": "daily", "interval": 1}, "range": {"type": "noEnd", "startDate": "2026-01-05"}}
    editing.create(Calendar.objects.get(), {"subject": "Stand-up", "recurrence": daily, **times}, timezone.now())
    Operation.objects.create(
        subscription=jobs[0].collection.subscription,
        kind="collection.delete",
        target="default/nightly",
        created_at=timezone.now(),
        published_at=timezone.now(),
    )
    return jobs, (echo, secure, tokens), certificate


def https_action(uri, authentication, error_action, **request) -> dict:
    return {
        "type": "Https",
        "request": {"uri": uri, "method": "POST", "body": "hello", "authentication": authentication, **request},
        "retryPolicy": {"retryType": "None"},
        "errorAction": error_action,
    }


def bus_message(key: str, **target) -> dict:
    authentication = {"type": "SharedAccessKey", "sasKeyName": "send", "sasKey": key}
    return {"namespace": "quando", "message": "m", "authentication": authentication, **target}


def carry_out(jobs) -> None:
    """Carry out the runs of all jobs, and then the runs of their error actions."""
    with HttpPool(CallLimiter(limit=10, per_host=10)) as calls:
        for _ in range(2):
            worker = Worker("worker", calls, timezone.now)
            worker.start_runs(
                [str(pk) for pk in Run.objects.filter(state=Run.State.WAITING).values_list("pk", flat=True)]
            )
            worker.run_until_idle()


def poll_metadata(api, subscription) -> Machine:
    """Return a machine with its second token, after announced maintenance and after every kind of wrong request.

    The watch knows both tokens.
    """
    client_machine = machine(subscription, "db-2", "databases")
    secrets_watch.current.remember("a token", client_machine.token)
    client_machine.token = api.post(f"/api/resources/{client_machine.resource.pk}/token").json()["token"]
    client_machine = Machine(client_machine.resource, client_machine.token)
    secrets_watch.current.remember("a token", client_machine.token)
    post_notice(api, client_machine)
    for path in ("/metadata/scheduledevents", "/metadata/else", "/else", ""):
        for version in (NEWEST, "latest"):
            client_machine.get(version, path=path)
            call("GET", version, f"/r/{client_machine.token}{path}", headers={"Metadata": "true"})
    return client_machine


def addresses(route: str) -> list[str]:
    """Return the addresses of the route for every row that it can name; without rows, for one that does not exist."""
    if route.startswith(r"^v1\.0"):
        return graph_addresses(route)
    if route.startswith("^"):
        filled = route.strip("^$")
        subscription = JobCollection.objects.get().subscription_id
        values = {"subscription": subscription, "group": "default", "collection": "nightly"}
        values |= {"place": "global", "operation": Operation.objects.get().pk}
        values |= {"resource": "db-2", "event": Notice.objects.order_by("pk")[0].pk}
        values["trig_id"] = f"{MINT_NAME}@@@management-server@@@DEFAULT"
        for name, value in values.items():
            filled = filled.replace(f"(?P<{name}>[^/]+)", str(value))
        filled = filled.replace("(/.*)?", "/elsewhere")
        of_jobs = [filled.replace("(?P<job>[^/]+)", name) for name in Job.objects.values_list("name", flat=True)]
        return [f"/{each.replace('[^/]+', 'any')}?api-version=2016-03-01&orgid=default" for each in of_jobs]
    if route.startswith(("calendar/", "maintenance/")):
        return [page_address(route)]
    route = re.sub(r"\^\(\?P<app_label>[a-z_|]+\)/\$", "jobs/", route)
    route = route.replace("(?P<url>.*)$", "elsewhere").replace("<path:content_type_id>", "1")
    if route == "api/occurrences":
        return ["/api/occurrences?from=2026-01-01T00:00:00Z&to=2026-02-01T00:00:00Z"]
    if "<" not in route:
        return [f"/{route}"]
    if "closed-days/" in route:
        key = "name" if route.startswith("api/") else "pk"
        return [f"/{re.sub('<.*>', str(value), route)}" for value in ClosedDays.objects.values_list(key, flat=True)]
    before, name, after = re.split(r"<(?:\w+:)?(\w+)>", route)
    assert name in ("pk", "id", "object_id"), f"{route} needs a value for {name}"
    return [f"/{before}{pk}{after}" for pk in model_of(before)._base_manager.values_list("pk", flat=True)] or [
        f"/{before}1{after}"
    ]


def graph_addresses(route: str) -> list[str]:
    """Return the forms of an address of the Graph API, for the calendar and the event in the database."""
    calendar, event = Calendar.objects.get(), Event.objects.get()
    window = "startDateTime=2026-01-01T00:00:00Z&endDateTime=2026-02-01T00:00:00Z"
    route = route.strip("^$").replace(r"\.", ".").replace("(?:me|users/(?P<user>[^/]+))", "me")
    route = route.replace("(?P<event>[^/]+)", str(event.pk.hex)).replace("(?:/.*)?", "/elsewhere")
    route = route.replace(r"(?:\(\)|\((?P<standard>[^/]+)\))?", "()").replace(r"(?:\(\))?", "()")
    default = [("(?:/(?P<default>calendar)|/calendars/(?P<calendar>[^/]+))?", "/{}")]
    default += [("(?:(?P<default>calendar)|calendars/(?P<calendar>[^/]+))", "{}")]
    addresses = [route]
    for pattern, form in default:
        places = (form.format(place) for place in ("calendar", f"calendars/{calendar.pk}"))
        if pattern in route:
            addresses = [route.replace(pattern, place) for place in places]
    return [f"/{address}?{window}" for address in addresses]


def page_address(route: str) -> str:
    values = {
        "item_id": Event.objects.get().pk.hex,
        "run_id": Run.objects.first().pk if Run.objects.exists() else uuid.UUID(int=1),
        "trigger_id": Trigger.objects.first().pk,
        "instant": "2027-01-05T08:00:00Z",
        "calendar_id": Calendar.objects.get().pk,
        "feed_id": 1,
        "notice_id": Notice.objects.order_by("pk")[0].pk,
        "verb": "cancel",
        "resource_id": Resource.objects.order_by("pk")[0].pk,
        "job_id": Job.objects.first().pk,
        "secret": "unknown",
    }
    return "/" + re.sub(r"<(?:\w+:)?(\w+)>", lambda match: str(values[match[1]]), route)


def model_of(route: str) -> type[Model]:
    surface, first, second = f"{route}//".split("/")[:3]
    if surface in ("api", "account"):
        return API_MODELS[first]
    return apps.get_model(first, second) if first != "r" else Job


def test_no_secret_of_any_kind_leaks(everything, api, client, owner, caplog):
    jobs, peers, certificate = everything
    watch = secrets_watch.current
    shown_once = [api.post(f"/api/jobs/{job.pk}/signing-secret").json()["secret"] for job in jobs]
    for job in jobs:
        run_now(job, timezone.now())
    carry_out(jobs)
    for token in peers[2].issued:
        watch.remember("a token", token.text)

    client_machine = poll_metadata(api, jobs[0].collection.subscription)
    assert client_machine.document()["Events"]
    client.force_login(owner)
    statuses = Counter(get_all_addresses(api, client))
    watch.search("the description", api.get("/api/schema", HTTP_ACCEPT="application/json").text)
    watch.search("an export", dump_database())

    # all secrets were stored, sent, sent back and searched for
    texts = {BASIC, HEADER, OAUTH, SAS, *KEYS, PFX_PASSWORD, certificate.pfx, *shown_once}
    texts |= {CODE, WHO, ALARM, *HEADER_SECRETS.values()}
    assert texts <= set(watch.needles)
    assert set(watch.needles.values()) >= KINDS
    sent = [f"{call.path}\n{call.headers}\n{call.body}" for server in peers for call in server.calls]
    for text in (
        pair_of("ada", BASIC),
        HEADER,
        SAS.removeprefix("?"),
        quote_plus(OAUTH),
        "SharedAccessSignature",
        "v1,",
        f"?code={CODE}&page=1&who={WHO}",
        ALARM,
        *HEADER_SECRETS.values(),
    ):
        assert any(text in call for call in sent), text
    assert Counter(Run.objects.values_list("state", flat=True)) == {"failed": 4, "succeeded": 4}
    # each target repeats the request: its credential, and its signature
    assert Attempt.objects.filter(response_body__contains="********").count() == 8
    assert statuses[200] > 60
    # 400: no metadata header, or another api-version; 503: from /healthz, because no worker runs here
    assert set(statuses) <= {200, 202, 301, 302, 400, 403, 404, 405, 503}
    assert {record.levelno for record in caplog.records} >= {logging.DEBUG, logging.WARNING}
    assert watch.leaks == []


def get_all_addresses(api, client) -> Iterator[int]:
    """GET every address; yield the status codes."""
    for route, _ in routes(get_resolver().url_patterns):
        for address in addresses(route):
            is_page = address.startswith(("/admin/", "/calendar/", "/maintenance/", "/account/"))
            yield (client if is_page else api).get(address).status_code


def dump_database() -> str:
    output = StringIO()
    call_command("dumpdata", stdout=output)
    return output.getvalue()


def pair_of(username: str, password: str) -> str:
    return base64.b64encode(f"{username}:{password}".encode()).decode()


def test_every_page_opens_if_secrets_cannot_be_decrypted(everything, api, client, owner, settings):
    settings.ENCRYPTION_KEYS = [new_encryption_key()]
    poll_metadata(api, everything[0][0].collection.subscription)
    client.force_login(owner)

    statuses = Counter(get_all_addresses(api, client))

    assert statuses[200] > 60
    assert 500 not in statuses
