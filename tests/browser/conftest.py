"""A real browser against a real server. Console errors and requests to other sites fail the test."""

import os
import shutil
from datetime import timedelta

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from django.conf import settings
from django.contrib.staticfiles.handlers import StaticFilesHandler
from django.test import Client
from django.utils import timezone
from playwright.sync_api import expect, sync_playwright

from accounts.models import User
from jobs.models import Attempt, Job, Process, Run
from jobs.signing import new_secret
from triggers.definitions import JobDefinition
from triggers.scheduling import save_job

# the headless shell does the same as chromium in less time
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium-headless-shell") or shutil.which("chromium")
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
CONTRAST = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}
# without the preload of axe: it adds copies of the stylesheets to the page, which violates the content policy
FIND = """async options => (await axe.run(document, options)).violations.flatMap(
    rule => rule.nodes.map(node => `${rule.id}: ${node.html.slice(0, 160)}`))"""

# messages of HTMX about a request without a response; `requestfailed` contains the reason
HTMX_CUT_OFF = ("htmx:afterRequest, ", "htmx:sendAbort, ", "htmx:sendError, ")

expect.set_options(timeout=30_000)  # high, so that no test fails on a busy machine
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")  # Playwright runs a loop in the test's thread


@pytest.fixture(scope="session")
def chromium():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(autouse=True, scope="session")
def cached_static_files():
    """Let the browser keep static files as long as its context, as it keeps them in an installation."""
    serve = StaticFilesHandler.serve

    def serve_for_a_year(handler, request):
        response = serve(handler, request)
        response["Cache-Control"] = "max-age=31536000, immutable"
        return response

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StaticFilesHandler, "serve", serve_for_a_year)
        yield


@pytest.fixture
def open_page(chromium, live_server):
    """Open a page in a new browser context; faults on the page fail the test."""
    contexts, faults = [], []

    def open_(scheme="light", width=1280, javascript=True):
        context = chromium.new_context(
            color_scheme=scheme,
            viewport={"width": width, "height": 900},
            base_url=live_server.url,
            java_script_enabled=javascript,
            timezone_id="Europe/Berlin",
            reduced_motion="reduce",
        )
        contexts.append(context)
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        context.clock.install(time=timezone.now())
        page = context.new_page()
        collect_faults(page, live_server.url, faults)
        return page

    yield open_
    found = list(faults)  # before the contexts close, which aborts open requests
    for context in contexts:
        context.close()
    assert found == []


def collect_faults(page, origin: str, faults: list[str]) -> None:
    """Add each console error or warning, each request to another site and each failed request.

    A request that the page itself aborts is no fault: a newer request replaces it, or the user leaves the page.
    """

    def add_message(message) -> None:
        if message.type in ("error", "warning") and not message.text.startswith(HTMX_CUT_OFF):
            faults.append(f"{message.text} {message.location}")

    def add_external_request(request) -> None:
        if not request.url.startswith((origin, "data:")):
            faults.append(request.url)

    def add_failure(request) -> None:
        if request.failure != "net::ERR_ABORTED":
            faults.append(f"{request.failure} {request.url}")

    page.on("console", add_message)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", add_external_request)
    page.on("requestfailed", add_failure)


@pytest.fixture
def sign_in(live_server):
    """Return a function that gives a page the session of a user."""

    def sign_in(page, username="ada"):
        client = Client()
        client.force_login(User.objects.get(username=username), backend=settings.AUTHENTICATION_BACKENDS[0])
        session = client.cookies[settings.SESSION_COOKIE_NAME].value
        page.context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": live_server.url}])
        return page

    return sign_in


def press_in_sequence(page, *keys: str) -> None:
    """Press keys at one instant of the clock of the page, so that a busy machine does not separate them."""
    page.clock.pause_at(timezone.now() + timedelta(minutes=1))
    for key in keys:
        page.keyboard.press(key)
    page.clock.resume()


@pytest.fixture
def find_accessibility_faults():
    """Return the faults that axe finds on a page in its current colours, then those of contrast in the dark theme."""

    def run_axe(page, options) -> list[str]:
        if not page.evaluate("'axe' in window"):
            page.evaluate(AXE_SCRIPT)
        # a change of the theme or of the width starts transitions of colours
        page.evaluate("document.getAnimations().filter(it => it instanceof CSSTransition).forEach(it => it.finish())")
        return page.evaluate(FIND, {**options, "preload": False, "selectors": False, "resultTypes": ["violations"]})

    def check(page) -> list[str]:
        # scroll to the first hour, where the fixed headers cover no items
        page.evaluate("document.querySelectorAll('.week-wrap').forEach(wrap => { wrap.scrollTop = 0 })")
        faults = [fault for fault in run_axe(page, RULES) if not is_bar_of_history(fault)]
        page.emulate_media(color_scheme="dark")
        faults += [f"dark {fault}" for fault in run_axe(page, CONTRAST)]
        page.emulate_media(color_scheme="light")
        return faults

    def is_bar_of_history(fault: str) -> bool:
        """The bars of the run history may be small: the table of runs has the same links in full size."""
        return fault.startswith('target-size: <a href="/admin/jobs/run/') and "data-state=" in fault

    return check


@pytest.fixture
def jobs_of_all_kinds(collection, authority) -> list[Job]:
    """A job of each kind and with each type of credential; one certificate expires soon, another has expired."""
    now = timezone.now()
    soon, expired = (authority.client(expires_at=now + timedelta(days=days)) for days in (12, -3))
    authentications = {
        "certificate": {"type": "ClientCertificate", "pfx": soon.pfx, "password": soon.password},
        "ended": {"type": "ClientCertificate", "pfx": expired.pfx, "password": expired.password},
        "oauth": {
            "type": "ActiveDirectoryOAuth",
            "tenant": "contoso.example",
            "clientId": "client-1",
            "secret": "clientsecret",
        },
    }
    success = {"statusCodes": [200, "202-204"], "bodyPath": "$.state", "bodyValue": "queued"}
    call = {"uri": "https://example.com/x", "method": "POST", "followRedirects": True, "success": success}
    actions = {
        name: {
            "type": "Https",
            "request": {**call, "authentication": authentication},
            "retryPolicy": {"retryType": "Exponential"},
        }
        for name, authentication in authentications.items()
    }
    actions["storage"] = {
        "type": "StorageQueue",
        "queueMessage": {
            "storageAccount": "account1",
            "queueName": "mail",
            "sasToken": "sv=1&sig=topsecret",
            "message": "hello",
        },
    }
    actions["bus"] = {
        "type": "ServiceBusTopic",
        "serviceBusTopicMessage": {
            "namespace": "orders",
            "topicPath": "news",
            "message": "hello",
            "authentication": {"type": "SharedAccessKey", "sasKeyName": "sender", "sasKey": "c2VjcmV0a2V5"},
            "customMessageProperties": {"kind": "order"},
            "brokeredMessageProperties": {"label": "news", "timeToLive": "PT1H"},
        },
        "errorAction": actions["ended"],
    }
    schedule = {"recurrence": {"frequency": "Hour"}}
    jobs = [
        save_job(collection, name, JobDefinition(action=action, schedule=schedule), now)[0]
        for name, action in actions.items()
    ]
    new_secret(jobs[0], timedelta(0), now)
    new_secret(jobs[0], timedelta(days=1), now)
    return jobs


@pytest.fixture
def job_with_triggers(collection, make_trigger) -> Job:
    """A job with a schedule and a trigger of each format; one group has no worker, one trigger is disabled."""
    now = timezone.now()
    schedule = {"startTime": f"{now + timedelta(days=1):%Y-%m-%dT%H:%M:%SZ}"}
    action = {"type": "Http", "request": {"uri": "https://example.com/x", "method": "POST"}}
    job, _ = save_job(collection, "several", JobDefinition(action=action, schedule=schedule), now)
    cron = {"expression": "0 30 2 ? 2,3 1#5", "timeZone": "Europe/Berlin", "clockChange": "quartz"}
    lock = {"custom_lock_key": "mint.scheduler.__ORG_ID__.nightly@@@management"}
    make_trigger(
        job, "MINT.NIGHTLY@@@message-processor", definition=cron, group="message-processor", data_map=lock, now=now
    )
    make_trigger(job, "often", "simple", definition={"interval": 90_000, "repeatCount": 5}, enabled=False, now=now)
    make_trigger(job, "later", "once", definition={"at": "2099-01-01T00:00:00Z"}, now=now)
    make_trigger(job, "weekly", "azure", definition={"recurrence": {"frequency": "Week"}}, now=now)
    return job


@pytest.fixture
def job_with_runs(collection) -> Job:
    """A job with a run in each state, and running processes."""
    now = timezone.now()
    error_action = {"type": "Http", "request": {"uri": "https://alerts.example/", "method": "POST"}}
    authentication = {"type": "Basic", "username": "ada", "password": "opensesame"}
    call = {"uri": "https://example.com/x", "method": "POST", "body": "{}", "authentication": authentication}
    definition = JobDefinition(
        action={"type": "Https", "request": call, "errorAction": error_action},
        schedule={"recurrence": {"frequency": "Minute", "interval": 20}},
    )
    job = save_job(collection, "invoices", definition, now - timedelta(days=1))[0]
    job.triggers.update(next_fire_at=now + timedelta(minutes=5))
    save_job(collection, "stopped", JobDefinition(action=error_action, schedule={}, state="disabled"), now)
    for number, state in enumerate(Run.State):
        fire_at = now - timedelta(minutes=20 * (number + 1))
        has_started = state in (
            Run.State.RUNNING,
            Run.State.RETRYING,
            Run.State.SUCCEEDED,
            Run.State.FAILED,
            Run.State.LOST,
        )
        run = Run.objects.create(
            subscription=collection.subscription,
            job=job,
            action=job.action,
            collection_name=collection.name,
            job_name=job.name,
            trigger_name="default",
            fire_at=fire_at,
            publish_after=fire_at,
            state=state,
            reason="" if has_started else "why it was so",
            attempt_count=int(has_started),
            started_at=fire_at if has_started else None,
            finished_at=None if state in Run.OPEN else fire_at + timedelta(seconds=3),
        )
        if has_started:
            Attempt.objects.create(
                run=run,
                job=job,
                number=1,
                state={"succeeded": "succeeded", "running": "running"}.get(state, "failed"),
                started_at=fire_at,
                finished_at=None if state == Run.State.RUNNING else fire_at + timedelta(seconds=3),
                status_code=503,
                message="Host 'example.com' answered 'Service Unavailable'.",
                response_headers=[["Retry-After", "120"]],
                response_body="later",
                worker="worker-1",
            )
    for kind in Process.Kind:
        Process.objects.create(kind=kind, name=f"{kind}-1", queues=["default"], started_at=now, seen_at=now)
    return job
