"""/api/runs."""

import base64
import json
import re
import uuid
from datetime import timedelta

import pytest
from django.db import connection

from accounts.models import ApiToken, Membership, Role, Subscription
from api import viewsets
from jobs.models import Attempt, Job, JobCollection, Poll, Run
from tests.conftest import NOW


@pytest.fixture
def make_run(make_job):
    def make(job=None, minutes: int = 0, **fields) -> Run:
        job = job or Job.objects.first() or make_job()
        defaults = {
            "subscription_id": job.collection.subscription_id,
            "job_name": job.name,
            "collection_name": job.collection.name,
            "fire_at": NOW + timedelta(minutes=minutes),
            "publish_after": NOW,
            "trigger_name": "default",
            "state": "succeeded",
        }
        return Run.objects.create(job=job, **defaults | fields)

    return make


@pytest.fixture
def fires(api):
    def fires(query: str = "") -> list[str]:
        response = api.get(f"/api/runs?{query}")
        assert response.status_code == 200, response.content
        return [run["fireAt"][11:16] for run in response.json()["value"]]

    return fires


def test_run_is_returned_with_its_attempts(api, make_run):
    run = make_run(state="retrying", attempt_count=1, not_before=NOW + timedelta(seconds=30), started_at=NOW)
    Attempt.objects.create(
        run=run,
        number=1,
        state="failed",
        worker="w1",
        started_at=NOW,
        finished_at=NOW,
        status_code=503,
        message="503 Service Unavailable",
        response_headers=[["Server", "x"]],
        response_body="busy",
    )
    error = make_run(origin="error_action", parent=run, trigger_name=None, minutes=1)

    answer = api.get(f"/api/runs/{run.pk}").json()

    assert answer["attempts"] == [
        {
            "number": 1,
            "state": "failed",
            "worker": "w1",
            "startedAt": "2026-01-01T00:00:00Z",
            "finishedAt": "2026-01-01T00:00:00Z",
            "statusCode": 503,
            "message": "503 Service Unavailable",
            "responseHeaders": [["Server", "x"]],
            "responseBody": "busy",
            "polls": [],
        }
    ]
    assert (answer["state"], answer["attemptCount"], answer["nextAttemptAt"]) == ("retrying", 1, "2026-01-01T00:00:30Z")
    assert answer["errorRun"] == str(error.pk)
    assert api.get(f"/api/runs/{error.pk}").json()["parent"] == str(run.pk)


def test_run_that_follows_is_returned_with_its_polls(api, make_run):
    due_at = NOW + timedelta(seconds=30)
    run = make_run(state="following", attempt_count=1, not_before=due_at, started_at=NOW)
    attempt = Attempt.objects.create(run=run, number=1, state="running", started_at=NOW, status_code=202)
    polled = {"worker": "w1", "started_at": NOW, "finished_at": NOW, "status_code": 200}
    Poll.objects.create(attempt=attempt, number=2, **polled, message="No JSON.", body="<html>")
    Poll.objects.create(attempt=attempt, number=1, **polled, status="Running", percent=12.5, retry_after_s=30)

    answer = api.get(f"/api/runs/{run.pk}").json()

    first, second = answer["attempts"][0]["polls"]
    assert (answer["state"], answer["nextPollAt"], answer["nextAttemptAt"]) == (
        "following",
        "2026-01-01T00:00:30Z",
        None,
    )
    assert first == {
        "number": 1,
        "worker": "w1",
        "startedAt": "2026-01-01T00:00:00Z",
        "finishedAt": "2026-01-01T00:00:00Z",
        "statusCode": 200,
        "status": "Running",
        "percentComplete": 12.5,
        "retryAfterInSeconds": 30,
        "message": "",
        "responseBody": "",
    }
    assert (second["number"], second["status"], second["message"], second["responseBody"]) == (
        2,
        "",
        "No JSON.",
        "<html>",
    )


def test_run_that_follows_can_be_cancelled(api, make_run):
    run = make_run(state="following", attempt_count=1, started_at=NOW)

    answer = api.post(f"/api/runs/{run.pk}/cancel").json()

    assert (answer["state"], answer["nextPollAt"]) == ("cancelled", None)


def test_runs_are_listed_newest_or_oldest_first(make_run, fires):
    for minutes in (2, 0, 1):
        make_run(minutes=minutes)

    assert fires() == fires("order=newest") == ["00:02", "00:01", "00:00"]
    assert fires("order=oldest") == ["00:00", "00:01", "00:02"]


def test_runs_are_filtered(make_run, make_job, fires, subscription):
    other = JobCollection.objects.create(subscription=subscription, name="other")
    backup, sweep = make_job("backup"), make_job("sweep", in_collection=other)
    make_run(backup, 0)
    make_run(backup, 1, state="failed")
    make_run(sweep, 2, origin="manual")

    assert fires(f"job={backup.pk}") == ["00:01", "00:00"]
    assert fires(f"collection={other.pk}") == ["00:02"]
    assert fires("state=failed") == ["00:01"]
    assert fires("origin=manual") == ["00:02"]
    assert fires(f"job={backup.pk}&state=succeeded") == ["00:00"]
    assert fires("job=999") == []


def test_error_actions_are_listed_by_their_origin_only_and_named_in_their_runs(api, make_run):
    failed, succeeded = make_run(state="failed"), make_run(minutes=1)
    error_run = make_run(origin="error_action", parent=failed, trigger_name=None, minutes=2)

    listed = api.get("/api/runs").json()["value"]
    error_actions = api.get("/api/runs?origin=error_action").json()["value"]

    assert [(run["id"], run["errorRun"]) for run in listed] == [
        (str(succeeded.pk), None),
        (str(failed.pk), str(error_run.pk)),
    ]
    assert [(run["id"], run["parent"]) for run in error_actions] == [(str(error_run.pk), str(failed.pk))]


def test_window_of_runs_includes_from_and_excludes_to(make_run, fires):
    for minutes in range(4):
        make_run(minutes=minutes)

    assert fires("from=2026-01-01T00:01:00Z&to=2026-01-01T00:03:00Z") == ["00:02", "00:01"]
    assert fires("from=2026-01-01T01:03:00%2B01:00") == ["00:03"]


@pytest.mark.parametrize(
    "query, target",
    [
        ("colour=red", "colour"),
        ("job__collection__subscription=x", "job__collection__subscription"),
        ("Job=1", "Job"),
        ("job=1&job=2", "job"),
        ("job=one", "job"),
        ("job=-1", "job"),
        ("job=1.0", "job"),
        ("job=%D9%A1", "job"),  # an Arabic digit
        ("job=99999999999999999999", "job"),
        ("collection=%00", "collection"),
        ("state=done", "state"),
        ("state=%00", "state"),
        ("origin=x", "origin"),
        ("order=random", "order"),
        ("from=2026-01-01", "from"),
        ("from=2026-01-01T00:00:00", "from"),
        ("from=2026-01-01T00:00:00+01:00", "from"),  # a plus sign that is not written %2B is a space
        ("to=0001-01-01T00:00:00%2B10:00", "to"),
        ("to=%25d", "to"),
        ("state=%25d", "state"),
        ("job=%25d", "job"),
        ("%25d=1", "%d"),
        ("limit=0", "limit"),
        ("limit=1001", "limit"),
        ("limit=-1", "limit"),
        ("limit=ten", "limit"),
        ("limit=1e2", "limit"),
        ("limit=%D9%A1", "limit"),
        ("limit=", "limit"),
        ("cursor=x", "cursor"),
        ("cursor=bnVsbA", "cursor"),  # null
        ("cursor=W1tdLFtdXQ", "cursor"),  # [[],[]]
        ("cursor=%00", "cursor"),
    ],
)
def test_wrong_parameter_of_the_list_of_runs_is_refused_by_name(api, query, target):
    response = api.get(f"/api/runs?{query}")

    assert response.status_code == 400, response.content
    assert response.json()["error"]["target"] == target


@pytest.mark.parametrize("fire_at", [None, 7, "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_forged_cursor_is_refused(api, fire_at):
    forged = json.dumps([["-fire_at", "-id"], [fire_at, str(uuid.uuid4())]])
    cursor = base64.urlsafe_b64encode(forged.encode()).decode().rstrip("=")

    response = api.get(f"/api/runs?cursor={cursor}")

    assert (response.status_code, response.json()["error"]["target"]) == (400, "cursor")


def test_long_list_of_runs_is_read_page_by_page(api, make_run, make_job):
    job = make_job()
    # many runs have the same fire time, like jobs at midnight: the id decides their order
    template = make_run(job, trigger_name=None)
    rows = [
        Run(
            subscription_id=template.subscription_id,
            job=job,
            job_name="backup",
            collection_name="nightly",
            fire_at=NOW + timedelta(minutes=number // 20),
            publish_after=NOW,
            state="succeeded",
        )
        for number in range(50)
    ]
    Run.objects.bulk_create(rows)
    seen, address = [], "/api/runs?limit=7&state=succeeded"
    while address:
        page = api.get(address).json()
        assert len(page["value"]) == 7 or page["nextLink"] is None
        seen += [run["id"] for run in page["value"]]
        address = page["nextLink"]

    expected = Run.objects.order_by("-fire_at", "-id").values_list("id", flat=True)
    assert seen == [str(run_id) for run_id in expected]


@pytest.mark.parametrize("max_parts", [0, 10])
@pytest.mark.parametrize("order", ["newest", "oldest"])
def test_runs_of_several_subscriptions_are_merged_into_one_list(
    api, owner, make_run, make_job, monkeypatch, max_parts, order
):
    monkeypatch.setattr(viewsets, "MOST_PARTS", max_parts)  # more subscriptions than that are read by one query
    second = Subscription.objects.create(name="second")
    Membership.objects.create(subscription=second, user=owner)
    theirs = make_job("sweep", in_collection=JobCollection.objects.create(subscription=second, name="weekly"))
    for minutes in range(0, 10, 2):
        make_run(minutes=minutes)
        make_run(theirs, minutes=minutes + 1)
        make_run(theirs, minutes=minutes, trigger_name=None)
    seen, address = [], f"/api/runs?limit=4&order={order}"
    while address:
        page = api.get(address).json()
        seen += [run["id"] for run in page["value"]]
        address = page["nextLink"]

    expected = Run.objects.order_by(*(("fire_at", "id") if order == "oldest" else ("-fire_at", "-id")))
    assert seen == [str(run.pk) for run in expected]
    assert len(seen) == 15


def test_the_newest_runs_are_found_by_an_index(make_run):
    one = make_run(trigger_name=None)
    copied_fields = ("subscription_id", "job_id", "job_name", "collection_name", "publish_after", "state")
    Run.objects.bulk_create(
        Run(fire_at=NOW + timedelta(minutes=number), **{name: getattr(one, name) for name in copied_fields})
        for number in range(2000)
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE jobs_run")
    runs = Run.objects.filter(subscription=one.subscription_id).order_by("-fire_at", "-id")

    # the index of all runs is as good when all runs belong to one subscription
    assert re.search("run_of_subscription|run_newest", runs[:101].explain())


def test_pages_of_runs_are_stable_while_new_runs_are_added(api, make_run):
    for minutes in range(6):
        make_run(minutes=minutes)
    first = api.get("/api/runs?limit=3").json()

    make_run(minutes=60)
    second = api.get(first["nextLink"]).json()

    assert first["nextLink"].startswith("http://testserver/api/runs?")
    assert [run["fireAt"][14:16] for run in first["value"] + second["value"]] == ["05", "04", "03", "02", "01", "00"]
    assert second["nextLink"] is None


def test_cursor_of_a_list_in_another_order_is_refused(api, make_run):
    for minutes in range(2):
        make_run(minutes=minutes)
    address = api.get("/api/runs?limit=1").json()["nextLink"]

    assert api.get(f"{address}&order=oldest").status_code == 400


def test_list_of_runs_takes_three_queries_at_any_length(api, make_run, django_assert_num_queries):
    make_run()
    api.get("/api/runs")
    for minutes in range(1, 10):
        with django_assert_num_queries(3):  # the token, the subscriptions, the runs of the only subscription
            assert len(api.get("/api/runs").json()["value"]) == minutes
        make_run(minutes=minutes)


def test_cancelled_run_names_the_user_who_cancelled_it(api, make_run):
    run = make_run(state="waiting")

    response = api.post(f"/api/runs/{run.pk}/cancel")

    assert response.status_code == 200
    assert (response.json()["state"], response.json()["reason"]) == ("cancelled", "cancelled by ada")
    assert response.json()["finishedAt"] is not None
    assert api.post(f"/api/runs/{run.pk}/cancel").status_code == 409


@pytest.mark.parametrize("state", ["running", "succeeded", "failed", "missed", "skipped", "lost"])
def test_run_that_does_not_wait_cannot_be_cancelled(api, make_run, state):
    run = make_run(state=state)

    assert api.post(f"/api/runs/{run.pk}/cancel").status_code == 409
    run.refresh_from_db()
    assert run.state == state


def test_cancelling_the_last_run_ends_the_job(api, make_run):
    run = make_run(state="waiting", is_last=True)

    api.post(f"/api/runs/{run.pk}/cancel")

    assert Job.objects.get().state == "completed"


def test_cancelling_a_run_publishes_the_next_run_in_the_queue(api, make_job, make_run):
    run = make_run(make_job(overlap="queue_all"), state="retrying", lock_key="job:1")
    waiting = make_run(state="waiting", lock_key="job:1", minutes=1, publish_after=NOW + timedelta(days=9999))

    api.post(f"/api/runs/{run.pk}/cancel")

    waiting.refresh_from_db()
    assert waiting.publish_after < NOW + timedelta(days=9999)


def test_reader_cannot_cancel_a_run(make_user, api_of, make_run):
    run = make_run(state="waiting")
    client = api_of(ApiToken.objects.issue(make_user("rita", Role.READER), "t")[1])

    assert client.get(f"/api/runs/{run.pk}").status_code == 200
    assert client.post(f"/api/runs/{run.pk}/cancel").status_code == 403


def test_unknown_run_is_not_found(api):
    assert api.get(f"/api/runs/{uuid.uuid4()}").status_code == 404
    assert api.get("/api/runs/not-an-id").status_code == 404
