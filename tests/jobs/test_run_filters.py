"""/api/runs: the reasons of failed runs, the filters, and the members of pages."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Membership, Role, Subscription
from api import viewsets
from jobs.models import Attempt, Job, JobCollection, Poll, Run
from tests.conftest import NOW

pytestmark = pytest.mark.database

RUNS, JOBS = 4000, 100


@pytest.fixture
def make_run(make_job):
    def make(job=None, minutes: int = 0, answers: tuple = (), **fields) -> Run:
        """Create a run; `answers` are the status codes and messages of its attempts."""
        job = job or Job.objects.first() or make_job()
        defaults = {
            "subscription_id": job.collection.subscription_id,
            "job_name": job.name,
            "collection_name": job.collection.name,
            "fire_at": NOW + timedelta(minutes=minutes),
            "publish_after": NOW,
            "trigger_name": "default",
            "state": "failed",
            "attempt_count": len(answers),
        }
        run = Run.objects.create(job=job, **defaults | fields)
        for number, (code, message) in enumerate(answers, 1):
            Attempt.objects.create(
                run=run, number=number, state="failed", started_at=NOW, status_code=code, message=message
            )
        return run

    return make


@pytest.fixture
def list_runs(api):
    def list_runs(query: str = "") -> list[dict]:
        response = api.get(f"/api/runs?{query}")
        assert response.status_code == 200, response.content
        return response.json()["value"]

    return list_runs


@pytest.fixture
def fires(list_runs):
    return lambda query="": [run["fireAt"][14:16] for run in list_runs(query)]


# Reasons


@pytest.mark.parametrize(
    "fields, answers, shown",
    [
        ({}, [(500, "no"), (503, "Host 'x' answered 503.")], ("Host 'x' answered 503.", 503)),
        ({}, [(500, "no"), (None, "Connection refused.")], ("Connection refused.", None)),
        ({"state": "retrying"}, [(503, "busy")], ("busy", 503)),
        ({"state": "lost"}, [(None, "The worker vanished.")], ("The worker vanished.", None)),
        ({"state": "succeeded"}, [(503, "busy"), (204, "Done.")], ("", 204)),
        ({"state": "running"}, [(503, "busy"), (None, "")], ("", None)),
        (
            {"state": "failed", "reason": "its schedule cannot be followed"},
            [],
            ("its schedule cannot be followed", None),
        ),
        ({"state": "cancelled", "reason": "cancelled by ada"}, [(503, "busy")], ("cancelled by ada", 503)),
        ({"state": "missed", "reason": "too late"}, [], ("too late", None)),
    ],
)
def test_failed_run_shows_its_reason_and_its_last_status_code(api, list_runs, make_run, fields, answers, shown):
    run = make_run(answers=answers, **fields)

    for each in (list_runs()[0], api.get(f"/api/runs/{run.pk}").json()):
        assert (each["reason"], each["statusCode"]) == shown


def test_status_code_of_a_followed_run_is_that_of_the_last_poll(list_runs, make_run):
    run = make_run(answers=[(202, "The operation ended as Failed.")], reason="The operation ended as Failed.")
    attempt = run.attempts.get()
    for number, code in enumerate((200, 404, None), 1):
        Poll.objects.create(attempt=attempt, number=number, started_at=NOW, finished_at=NOW, status_code=code)

    assert list_runs()[0]["statusCode"] == 404


def test_number_of_queries_for_reasons_does_not_depend_on_the_number_of_runs(api, make_run):
    def count() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert len(api.get("/api/runs?limit=1000").json()["value"]) == Run.objects.count()
        return len(queries)

    make_run(answers=[(500, "no")])
    api.get("/api/runs")  # writes when the token was last used
    for_one = count()
    for minutes in range(1, 30):
        make_run(minutes=minutes, answers=[(500, "no"), (503, "busy")])

    assert count() == for_one


def test_last_attempts_of_a_page_are_found_by_an_index(api, make_run):
    for minutes in range(50):
        make_run(minutes=minutes, answers=[(500, "no")] * 5)
    with CaptureQueriesContext(connection) as queries:
        api.get("/api/runs?limit=2")
    [query] = [each["sql"] for each in queries if "jobs_attempt" in each["sql"]]

    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off")  # as with many rows
    plan = plan_of(query)

    assert "jobs_attempt" in plan
    assert not re.search("(SCAN|Seq Scan on) jobs_(attempt|poll)", plan), plan


# Filters


@pytest.mark.parametrize(
    "states, expected",
    [("failed", ["00"]), ("failed,lost", ["01", "00"]), ("lost,failed,failed", ["01", "00"]), ("held", [])],
)
def test_filter_by_several_states_returns_one_list(make_run, fires, states, expected):
    for minutes, state in enumerate(("failed", "lost", "succeeded")):
        make_run(minutes=minutes, state=state)

    assert fires(f"state={states}") == expected


@pytest.mark.parametrize("max_parts", [0, 10])
@pytest.mark.parametrize("order", ["newest", "oldest"])
def test_filter_by_several_states_in_several_subscriptions_is_read_page_by_page(
    api, owner, make_run, make_job, monkeypatch, order, max_parts
):
    monkeypatch.setattr(viewsets, "MOST_PARTS", max_parts)
    second = Subscription.objects.create(name="second")
    Membership.objects.create(subscription=second, user=owner, role=Role.READER)
    theirs = make_job("sweep", in_collection=JobCollection.objects.create(subscription=second, name="weekly"))
    for minutes in range(12):
        make_run(minutes=minutes // 2, state=("failed", "lost", "succeeded")[minutes % 3], trigger_name=None)
        make_run(theirs, minutes=minutes // 2, state=("failed", "lost", "succeeded")[minutes % 3], trigger_name=None)
    seen, address = [], f"/api/runs?limit=3&order={order}&state=lost,failed"
    while address:
        page = api.get(address).json()
        seen += [run["id"] for run in page["value"]]
        address = page["nextLink"]

    expected = Run.objects.filter(state__in=["failed", "lost"])
    expected = expected.order_by(*(("fire_at", "id") if order == "oldest" else ("-fire_at", "-id")))
    assert seen == [str(run.pk) for run in expected]


def test_runs_are_filtered_by_trigger_and_by_subscription(make_run, make_job, fires, subscription, owner):
    job, other = make_job(), make_job("other")
    make_run(job, 1, trigger_name="hourly")
    make_run(job, 2)
    make_run(other, 3, trigger_name="hourly")
    second = Subscription.objects.create(name="second")
    Membership.objects.create(subscription=second, user=owner, role=Role.READER)
    theirs = make_job("sweep", in_collection=JobCollection.objects.create(subscription=second, name="weekly"))
    make_run(theirs, 4)

    assert fires(f"job={job.pk}&trigger=hourly") == ["01"]
    assert fires(f"job={job.pk}&trigger=Hourly") == []
    assert fires(f"subscription={subscription.pk}") == ["03", "02", "01"]
    assert fires(f"subscription={second.pk}&state=failed,lost") == ["04"]
    assert fires(f"subscription={second.pk}&job={job.pk}") == []


@pytest.mark.parametrize(
    "query, target",
    [
        ("state=failed,asleep", "state"),
        ("state=failed,", "state"),
        ("state=,", "state"),
        ("state=Failed", "state"),
        ("state=failed&state=lost", "state"),
        ("trigger=hourly", "trigger"),
        ("job=1&trigger=" + "x" * 101, "trigger"),
        ("subscription=default", "subscription"),
    ],
)
def test_wrong_filter_of_runs_is_refused_by_its_name(api, query, target):
    response = api.get(f"/api/runs?{query}")

    assert (response.status_code, response.json()["error"]["target"]) == (400, target)
    assert "Select a valid choice" not in response.json()["error"]["message"]


def test_filter_by_another_subscription_is_like_one_by_a_missing_subscription(make_run, list_runs):
    theirs = Subscription.objects.create(name="theirs")
    Run.objects.filter(pk=make_run().pk).update(subscription=theirs)

    assert (
        list_runs(f"subscription={theirs.pk}") == list_runs("subscription=5b2f8a52-2c3c-4a47-a7de-8a2f7f3c9d10") == []
    )


def plan_of(sql: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {'' if connection.vendor == 'postgresql' else 'QUERY PLAN'} {sql}")
        return "\n".join(str(line[-1]) for line in cursor.fetchall())


@pytest.fixture
def history(make_job, subscription):
    """Create many runs of many jobs; one in a hundred has failed or is lost."""
    first = make_job()
    Job.objects.bulk_create(
        Job(collection=first.collection, action=first.action, name=f"job-{number}") for number in range(JOBS)
    )
    jobs = list(Job.objects.exclude(pk=first.pk))
    other = Subscription.objects.create(name="other")
    Run.objects.bulk_create(
        Run(
            subscription=subscription if number % 2 else other,
            job=jobs[number % len(jobs)],
            job_name="backup",
            collection_name="nightly",
            trigger_name="hourly" if number % (2 * JOBS) < JOBS else "default",
            fire_at=NOW - timedelta(days=1, minutes=number),
            publish_after=NOW,
            state={0: "failed", 1: "failed", 100: "lost", 101: "lost"}.get(number % 200, "succeeded"),
        )
        for number in range(RUNS)
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return jobs


@pytest.mark.parametrize(
    "query, indexes",
    [
        ("job={job}", "run_of_job"),
        ("job={job}&trigger=hourly", "run_once_per_fire_time|run_of_job|autoindex_jobs_run"),
        ("subscription={subscription}", "run_of_subscription|run_newest"),
        ("state=failed,lost", "run_by_state|run_of_subscription"),
        ("state=succeeded,failed", "run_by_state|run_of_subscription|run_newest"),
    ],
)
def test_filtered_runs_are_read_from_an_index_and_no_further_than_the_page(api, history, subscription, query, indexes):
    with CaptureQueriesContext(connection) as queries:
        response = api.get(f"/api/runs?limit=10&{query.format(job=history[1].pk, subscription=subscription.pk)}")
    listings = [each["sql"] for each in queries if "ORDER BY" in each["sql"] and '"jobs_run"."fire_at"' in each["sql"]]

    assert len(response.json()["value"]) == 10
    for plan in map(plan_of, listings):
        assert re.search(indexes, plan), plan
        assert "SCAN jobs_run\n" not in plan


# Addresses of the next page and of created resources


def test_page_has_the_next_cursor_in_addition_to_the_next_link(api, make_run):
    for minutes in range(3):
        make_run(minutes=minutes)
    first = api.get("/api/runs?limit=2").json()

    by_cursor = api.get(f"/api/runs?limit=2&cursor={first['nextCursor']}").json()
    by_link = api.get(first["nextLink"]).json()

    assert by_cursor == by_link
    assert (by_link["nextLink"], by_link["nextCursor"]) == (None, None)
    assert len(by_link["value"]) == 1


@pytest.mark.parametrize(
    "path",
    [
        *("collections", "jobs", "triggers", "runs", "operations", "notices", "resources", "subscriptions", "tokens"),
        *("calendars", "events", "feeds", "occurrences?from=2026-01-01T00:00:00Z&to=2026-02-01T00:00:00Z"),
    ],
)
def test_every_list_has_a_next_cursor(api, path):
    page = api.get(f"/api/{path}").json()

    assert list(page) == ["value", "nextLink", "nextCursor"]
    assert page["nextCursor"] is None


@pytest.mark.parametrize("public", ["", "https://quando.example.org"])
def test_location_and_next_link_are_both_absolute(api, make_job, settings, public):
    settings.PUBLIC_URL = public
    address = f"/api/jobs/{make_job().pk}/run"

    made = [api.post(address), api.post(address)]
    page = api.get("/api/runs?limit=1").json()

    root = public or "http://testserver"
    assert made[0]["Location"] == f"{root}/api/runs/{made[0].json()['id']}"
    assert page["nextLink"].startswith(f"{root}/api/runs?limit=1&cursor=")
    assert page["nextLink"].endswith(page["nextCursor"])


def test_location_of_an_operation_is_absolute(api, collection):
    response = api.delete(f"/api/collections/{collection.pk}")

    assert response["Location"] == f"http://testserver/api/operations/{response.json()['id']}"
