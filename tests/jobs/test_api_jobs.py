"""/api/jobs."""

from datetime import timedelta

import pytest

from accounts.models import ApiToken, Membership, Role, Subscription
from jobs.models import Action, Attempt, Job, JobCollection, Run
from jobs.signing import new_secret
from scheduler_site.keys import new_encryption_key
from tests.conftest import ACTION, NOW, WEDNESDAY
from triggers.models import Trigger

HOOK = {"type": "Http", "request": {"uri": "https://example.com/hook", "method": "POST", "body": "hello"}}
SECRET = "s3cr3t-of-the-hook"
GUARDED = {
    "type": "Https",
    "request": {
        "uri": "https://example.com/hook",
        "method": "GET",
        "authentication": {"type": "Basic", "username": "bob", "password": SECRET},
    },
}
IN_A_WEEK = f"{WEDNESDAY + timedelta(days=7):%Y-%m-%dT08:00:00Z}"


@pytest.fixture
def body(collection):
    return {
        "collection": collection.pk,
        "name": "report",
        "action": HOOK,
        "startTime": IN_A_WEEK,
        "recurrence": {"frequency": "Day", "interval": 2},
    }


def test_created_job_is_returned_completely(api, body):
    response = api.post("/api/jobs", body)

    assert response.status_code == 201, response.content
    job = response.json()
    assert response["Location"] == f"http://testserver/api/jobs/{job['id']}"
    assert {name: job[name] for name in body} == body
    assert job["collectionName"] == "nightly"
    assert (job["state"], job["overlap"], job["delivery"], job["misfire"]) == (
        *("enabled", "skip", "at_least_once"),
        "fire_once",
    )
    assert (job["nextRunAt"], job["lastRunAt"], job["finishedAt"]) == (IN_A_WEEK, None, None)
    assert (job["executionCount"], job["failureCount"], job["faultedCount"], job["revision"]) == (0, 0, 0, 1)
    assert api.get(f"/api/jobs/{job['id']}").json() == job


def test_enum_values_are_returned_in_their_documented_spelling(api, body):
    recurrence = {"frequency": "week", "schedule": {"weekDays": ["monday"], "hours": [5]}}

    job = api.post("/api/jobs", body | {"recurrence": recurrence, "startTime": None}).json()

    assert job["recurrence"] == {"frequency": "Week", "schedule": {"weekDays": ["Monday"], "hours": [5]}}
    assert job["startTime"] is None


def test_read_only_members_of_a_request_are_ignored(api, body):
    job = api.post("/api/jobs", body | {"executionCount": 7, "id": 99}).json()

    assert job["executionCount"] == 0
    assert job["id"] != 99


def test_name_of_a_job_is_unique_in_its_collection_in_any_case(api, body):
    api.post("/api/jobs", body)

    response = api.post("/api/jobs", body | {"name": "REPORT"})

    assert response.status_code == 409
    assert response.json()["error"]["target"] == "name"
    assert Job.objects.get().name == "report"


def test_repeated_put_leaves_one_job_and_returns_the_same_document(api, body):
    job = api.post("/api/jobs", body).json()
    replacement = {"action": ACTION, "recurrence": {"frequency": "Hour"}, "startTime": IN_A_WEEK}

    first = api.put(f"/api/jobs/{job['id']}", replacement)
    second = api.put(f"/api/jobs/{job['id']}", replacement)

    assert first.status_code == second.status_code == 200
    volatile = ("revision", "updatedAt")
    assert [{**r.json(), **dict.fromkeys(volatile)} for r in (first,)] == [
        {**r.json(), **dict.fromkeys(volatile)} for r in (second,)
    ]
    assert Job.objects.count() == Trigger.objects.count() == 1


def test_put_resets_omitted_members(api, body):
    job = api.post("/api/jobs", body | {"overlap": "allow", "misfire": "skip", "delivery": "at_most_once"}).json()
    assert (job["overlap"], job["misfire"], job["delivery"]) == ("allow", "skip", "at_most_once")

    replaced = api.put(f"/api/jobs/{job['id']}", {"action": HOOK, "startTime": IN_A_WEEK}).json()

    assert replaced["recurrence"] is None
    assert (replaced["overlap"], replaced["misfire"], replaced["delivery"]) == ("skip", "fire_once", "at_least_once")


def test_patch_keeps_omitted_members(api, body):
    job = api.post("/api/jobs", body | {"overlap": "allow"}).json()

    patched = api.patch(f"/api/jobs/{job['id']}", {"recurrence": {"interval": 3}, "misfire": "skip"})

    assert patched.status_code == 200, patched.content
    changed = patched.json()
    assert changed["recurrence"] == {"frequency": "Day", "interval": 3}
    assert (changed["overlap"], changed["misfire"], changed["action"]) == ("allow", "skip", job["action"])


def test_null_in_a_patch_removes_the_member(api, body):
    job = api.post("/api/jobs", body).json()

    patched = api.patch(f"/api/jobs/{job['id']}", {"recurrence": None}).json()

    assert patched["recurrence"] is None


@pytest.mark.parametrize("write", ["post", "put", "patch"])
def test_secret_is_in_no_response_and_is_preserved_by_later_writes(api, body, write):
    created = api.post("/api/jobs", body | {"action": GUARDED})
    assert created.status_code == 201, created.content
    address = created["Location"]
    without = {"type": "Https", "request": {k: v for k, v in GUARDED["request"].items() if k != "authentication"}}
    without["request"]["authentication"] = {"type": "Basic", "username": "bob"}
    responses = [created, api.get(address), api.get("/api/jobs")]
    if write == "put":
        responses.append(api.put(address, {"action": without}))
    if write == "patch":
        responses.append(api.patch(address, {"action": {"request": {"method": "POST"}}}))
    responses.append(api.post(f"{address}/run"))
    responses.append(api.get(f"/api/runs/{responses[-1].json()['id']}"))

    for response in responses:
        assert response.status_code in (200, 201), response.content
        assert SECRET not in response.content.decode()
    assert SECRET in Action.objects.latest("id").secrets.values()


def test_job_shows_when_each_secret_was_written(api, body):
    headers = {"X-Api-Key": "amber-lantern-77"}
    request = GUARDED["request"] | {"headers": headers}
    created = api.post("/api/jobs", body | {"action": GUARDED | {"request": request}}).json()
    long_ago = dict.fromkeys(created["secretsSetAt"], "2025-01-01T00:00:00Z")
    Action.objects.update(secrets_set_at=long_ago)

    changed = {"action": {"request": {"authentication": {"password": "violet-harbour-31"}}}}
    response = api.patch(f"/api/jobs/{created['id']}", changed).json()

    assert set(created["secretsSetAt"]) == {"request.authentication.password", "request.headers.x-api-key"}
    set_at = response["secretsSetAt"]
    assert set_at["request.headers.x-api-key"] == "2025-01-01T00:00:00Z"  # unchanged, like the secret itself
    assert set_at["request.authentication.password"] > created["createdAt"][:19]
    assert api.get("/api/jobs").json()["value"][0]["secretsSetAt"] == set_at


def test_secrets_that_cannot_be_decrypted_must_be_sent_again(api, body, settings):
    address = api.post("/api/jobs", body | {"action": GUARDED})["Location"]
    settings.ENCRYPTION_KEYS = [new_encryption_key()]

    preserved = api.patch(address, {"overlap": "allow"})
    replaced = api.put(address, {"action": GUARDED})

    assert (preserved.status_code, preserved.json()["error"]["target"]) == (
        400,
        "action.request.authentication.password",
    )
    assert replaced.status_code == 200, replaced.content
    assert Job.objects.get().action.secrets == {"request.authentication.password": SECRET}


def test_a_job_without_secrets_has_no_dates_and_no_warnings(api, body):
    job = api.post("/api/jobs", body).json()

    assert (job["secretsSetAt"], job["signing"], job["warnings"]) == ({}, None, [])


def test_credentials_over_http_are_accepted_with_a_warning(api, body):
    plain = GUARDED | {"request": GUARDED["request"] | {"uri": "http://example.com/hook"}}

    job = api.post("/api/jobs", body | {"action": plain}).json()

    (warning,) = job["warnings"]
    assert set(warning) == {"code", "target", "message"}
    assert (warning["code"], warning["target"]) == ("credentials_over_http", "action.request.authentication")
    assert api.get("/api/jobs").json()["value"][0]["warnings"] == [warning]


def test_additions_to_the_original_contract_in_an_action_are_stored_and_returned(api, body):
    """The original contract does not have these members; they are returned only if they were sent."""
    action = {
        "type": "Https",
        "template": True,
        "request": {
            "uri": "https://example.com/{{ job.name }}",
            "method": "POST",
            "body": "{{ run_id }}",
            "followRedirects": True,
            "success": {"statusCodes": [200, "202-204"], "bodyPath": "$.state", "bodyValue": "done"},
        },
        "retryPolicy": {"retryType": "Exponential", "retryCount": 3, "maximumRetryInterval": "PT1H"},
        "errorAction": {
            "type": "StorageQueue",
            "queueMessage": {
                "storageAccount": "account",
                "queueName": "alarms",
                "message": "failed",
                "messageFormat": "Xml",
                "messageEncoding": "Base64",
                "sasToken": "sv=2023-11-03&sig=amber-lantern",
            },
        },
    }
    created = api.post("/api/jobs", body | {"action": action})

    assert created.status_code == 201, created.content
    returned = created.json()["action"]
    del action["errorAction"]["queueMessage"]["sasToken"]
    assert returned == action
    assert (
        api.patch(created["Location"], {"action": {"template": None, "request": {"uri": "https://x.org"}}}).json()[
            "action"
        ]["request"]["success"]
        == action["request"]["success"]
    )


def test_write_with_the_etag_of_an_older_version_is_refused(api, body):
    created = api.post("/api/jobs", body)
    address, known = created["Location"], created["ETag"]
    changed = api.patch(address, {"misfire": "skip"}, headers={"If-Match": known})
    assert changed.status_code == 200

    for refused in (
        api.patch(address, {"misfire": "fire_all"}, headers={"If-Match": known}),
        api.put(address, {"action": HOOK}, headers={"If-Match": known}),
        api.delete(address, headers={"If-Match": known}),
    ):
        assert refused.status_code == 412
        assert refused.json()["error"]["code"] == "stale"
    assert api.get(address).json() == changed.json()
    assert api.delete(address, headers={"If-Match": changed["ETag"]}).status_code == 204


def test_job_is_paused_and_resumed(api, body):
    address = api.post("/api/jobs", body)["Location"]

    paused = api.post(f"{address}/pause").json()
    assert (paused["state"], paused["nextRunAt"]) == ("disabled", None)
    assert api.post(f"{address}/pause").status_code == 200  # repeatable
    resumed = api.post(f"{address}/resume").json()
    assert (resumed["state"], resumed["nextRunAt"]) == ("enabled", IN_A_WEEK)


def test_ended_job_cannot_be_changed(api, make_job):
    job = make_job()
    Job.objects.update(state=Job.State.COMPLETED)

    for response in (
        api.put(f"/api/jobs/{job.pk}", {"action": HOOK}),
        api.patch(f"/api/jobs/{job.pk}", {"misfire": "skip"}),
        api.post(f"/api/jobs/{job.pk}/pause"),
        api.post(f"/api/jobs/{job.pk}/resume"),
        api.post(f"/api/jobs/{job.pk}/run"),
    ):
        assert response.status_code == 409, response.content
    assert api.delete(f"/api/jobs/{job.pk}").status_code == 204


def test_manual_run_is_created(api, make_job):
    job = make_job()

    response = api.post(f"/api/jobs/{job.pk}/run")

    assert response.status_code == 201
    run = response.json()
    assert (run["job"], run["origin"], run["state"], run["trigger"]) == (job.pk, "manual", "waiting", None)
    assert api.get(response["Location"]).json()["id"] == run["id"]


def test_same_idempotency_key_creates_one_run(api, make_job):
    address = f"/api/jobs/{make_job().pk}/run"

    first = api.post(address, {"key": "deploy-42"})
    again = api.post(address, {"key": "deploy-42"})
    by_header = api.post(address, headers={"Idempotency-Key": "deploy-42"})
    other = api.post(address, headers={"Idempotency-Key": "deploy-43"})

    assert [r.status_code for r in (first, again, by_header, other)] == [201, 200, 200, 201]
    assert first.json() == again.json() == by_header.json()
    assert Run.objects.count() == 2


@pytest.mark.parametrize(
    "key, header",
    [("", None), ("x" * 101, None), (5, None), (None, "x" * 101), (None, ""), (None, "é"), ("a", "b")],
)
def test_wrong_idempotency_key_creates_no_run(api, make_job, key, header):
    response = api.post(
        f"/api/jobs/{make_job().pk}/run",
        {} if key is None else {"key": key},
        headers={} if header is None else {"Idempotency-Key": header},
    )

    assert response.status_code == 400, response.content
    assert not Run.objects.exists()


def test_deleting_a_job_keeps_its_history(api, make_job):
    job = make_job()
    run = api.post(f"/api/jobs/{job.pk}/run").json()

    assert api.delete(f"/api/jobs/{job.pk}").status_code == 204

    assert api.get(f"/api/jobs/{job.pk}").status_code == 404
    history = api.get(f"/api/runs/{run['id']}").json()
    assert (history["job"], history["jobName"], history["state"]) == (None, "backup", "cancelled")


def test_jobs_are_filtered(api, make_job, subscription):
    other = JobCollection.objects.create(subscription=subscription, name="other")
    make_job("a")
    make_job("b", state="disabled")
    make_job("a", in_collection=other)

    def names(query: str) -> list[tuple]:
        return [(job["collectionName"], job["name"]) for job in api.get(f"/api/jobs?{query}").json()["value"]]

    assert names(f"collection={other.pk}") == [("other", "a")]
    assert names("state=disabled") == [("nightly", "b")]
    assert names("name=A") == [("nightly", "a"), ("other", "a")]
    assert names(f"name=a&collection={other.pk}&state=enabled") == [("other", "a")]
    assert names("name=") == names("")


def test_number_of_queries_does_not_depend_on_the_number_of_jobs(api, make_job, django_assert_num_queries):
    for number in range(3):
        make_job(f"job{number}")
    api.get("/api/jobs")  # writes when the token was last used

    # the token, the jobs with collection and action, their triggers, the notices, and the signing secrets
    with django_assert_num_queries(5):
        assert len(api.get("/api/jobs").json()["value"]) == 3
    for number in range(3, 20):
        new_secret(make_job(f"job{number}"), timedelta(0), NOW)
    with django_assert_num_queries(5):
        assert len(api.get("/api/jobs").json()["value"]) == 20


def wrong_action(**request) -> dict:
    return {"action": {"type": "Http", "request": {"uri": "https://example.com", "method": "GET"} | request}}


@pytest.mark.parametrize(
    "change, status, target",
    [
        ({"collection": None}, 400, "collection"),
        ({"collection": "nightly"}, 400, "collection"),
        ({"collection": True}, 400, "collection"),
        ({"collection": 1.0}, 400, "collection"),
        ({"collection": 10**18}, 400, "collection"),
        ({"name": None}, 400, "name"),
        ({"name": 5}, 400, "name"),
        ({"name": ""}, 400, "name"),
        ({"name": "1st"}, 400, "name"),
        ({"name": "a/b"}, 400, "name"),
        ({"name": ".."}, 400, "name"),
        ({"name": "a" * 101}, 400, "name"),
        ({"name": "ab\u202ecd"}, 400, "name"),
        ({"action": None}, 400, "action"),
        ({"action": []}, 400, "action"),
        ({"action": {}}, 400, "action.type"),
        ({"action": {"type": "Ftp"}}, 400, "action.type"),
        ({"action": {"type": "Http"}}, 400, "action.request"),
        (wrong_action(uri="ftp://example.com"), 400, "action.request.uri"),
        (wrong_action(uri="https://a@example.com"), 400, "action.request.uri"),
        (wrong_action(method="SHOUT"), 400, "action.request.method"),
        (wrong_action(headers={"X": "a\r\nb"}), 400, "action.request.headers.X"),
        (wrong_action(body=5), 400, "action.request.body"),
        ({"startTime": "soon"}, 400, "startTime"),
        ({"startTime": ["2030-01-01T00:00:00Z"]}, 400, "startTime"),
        ({"startTime": "2999-01-01T00:00:00Z"}, 400, "startTime"),
        ({"recurrence": []}, 400, "recurrence"),
        ({"recurrence": {}}, 400, "recurrence.frequency"),
        ({"recurrence": {"frequency": "Day", "interval": 0}}, 400, "recurrence.interval"),
        ({"recurrence": {"frequency": "Day", "count": True}}, 400, "recurrence.count"),
        ({"recurrence": {"frequency": "Day", "endTime": "2020-01-01T00:00:00Z"}}, 400, "recurrence.endTime"),
        (
            {"recurrence": {"frequency": "Day", "schedule": {"weekDays": ["Monday"]}}},
            400,
            "recurrence.schedule.weekDays",
        ),
        ({"state": "completed"}, 400, "state"),
        ({"state": None}, 400, "state"),
        ({"overlap": "maybe"}, 400, "overlap"),
        ({"overlap": {}}, 400, "overlap"),
        ({"delivery": "exactly_once"}, 400, "delivery"),
        ({"misfire": 1}, 400, "misfire"),
    ],
)
def test_wrong_member_is_refused_with_its_path_and_no_job_is_created(api, body, change, status, target):
    response = api.post("/api/jobs", body | change)

    assert response.status_code == status, response.content
    error = response.json()["error"]
    assert error["target"] == target, error
    assert len(error["message"]) <= 300
    assert not Job.objects.exists()
    assert not Action.objects.exists()


def test_job_beyond_the_limit_of_its_plan_is_a_conflict(api, body, collection):
    collection.max_job_count = 1
    collection.save()
    api.post("/api/jobs", body)

    response = api.post("/api/jobs", body | {"name": "second"})

    assert (response.status_code, response.json()["error"]["code"]) == (409, "quota_exceeded")


def test_a_body_over_16_kib_is_refused(api, body):
    padded = body | {"padding": "x" * 16_384}

    response = api.post("/api/jobs", padded)

    assert (response.status_code, response.json()["error"]["code"]) == (400, "too_large")
    assert not Job.objects.exists()


def test_reader_cannot_change_jobs(make_user, api_of, make_job):
    job = make_job()
    client = api_of(ApiToken.objects.issue(make_user("rita", Role.READER), "t")[1])

    assert client.get(f"/api/jobs/{job.pk}").status_code == 200
    for response in (
        client.post("/api/jobs", {"collection": job.collection_id, "name": "x", "action": HOOK}),
        client.put(f"/api/jobs/{job.pk}", {"action": HOOK}),
        client.patch(f"/api/jobs/{job.pk}", {}),
        client.delete(f"/api/jobs/{job.pk}"),
        *(client.post(f"/api/jobs/{job.pk}/{verb}") for verb in ("run", "pause", "resume")),
    ):
        assert response.status_code == 403
        assert response.json()["error"]["code"] == "forbidden"
    job.refresh_from_db()
    assert job.revision == 1
    assert not Run.objects.exists()


def test_operator_can_create_and_run_jobs(make_user, api_of, body):
    client = api_of(ApiToken.objects.issue(make_user("otto", Role.OPERATOR), "t")[1])

    created = client.post("/api/jobs", body)

    assert created.status_code == 201
    assert client.post(f"{created['Location']}/run").status_code == 201


def test_job_cannot_be_created_in_a_collection_of_another_subscription(api, body):
    elsewhere = Subscription.objects.create(name="elsewhere")
    theirs = JobCollection.objects.create(subscription=elsewhere, name="theirs")

    inaccessible = api.post("/api/jobs", body | {"collection": theirs.pk})
    missing = api.post("/api/jobs", body | {"collection": theirs.pk + 1})

    assert inaccessible.status_code == missing.status_code == 400
    assert inaccessible.json() == missing.json()
    assert not Job.objects.exists()


def test_reader_of_another_subscription_cannot_create_jobs_there(api, owner, body):
    elsewhere = Subscription.objects.create(name="elsewhere")
    Membership.objects.create(subscription=elsewhere, user=owner, role=Role.READER)
    theirs = JobCollection.objects.create(subscription=elsewhere, name="theirs")

    assert api.post("/api/jobs", body | {"collection": theirs.pk}).status_code == 403


def test_counters_of_a_job_are_returned(api, make_job):
    job = make_job()
    Job.objects.update(execution_count=5, failure_count=4, faulted_count=1, last_execution_at=NOW)

    response = api.get(f"/api/jobs/{job.pk}").json()

    assert (response["executionCount"], response["failureCount"], response["faultedCount"]) == (5, 4, 1)
    assert response["lastRunAt"] == "2026-01-01T00:00:00Z"
    assert not Attempt.objects.exists()


@pytest.mark.parametrize("method", ["put", "patch"])
def test_ended_job_that_is_sent_back_is_refused_because_it_has_ended(api, make_job, method):
    job = make_job()
    Job.objects.filter(pk=job.pk).update(state=Job.State.COMPLETED, finished_at=NOW)
    address = f"/api/jobs/{job.pk}"

    response = getattr(api, method)(address, api.get(address).json())

    assert (response.status_code, response.json()["error"]["code"]) == (409, "conflict")
    assert "which is final" in response.json()["error"]["message"]
