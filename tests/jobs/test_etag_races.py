"""Several clients that have read one version write at the same moment: one of them succeeds.

Each client has its own connection.  On SQLite they wait for each other; on PostgreSQL they run together, separated
only by row locks.
"""

from threading import Barrier, Thread

import pytest
from django.db import connection

from jobs.finishing import finish_jobs
from jobs.models import Job, JobCollection
from operations.models import Operation
from tests.conftest import NOW
from tests.jobs.arm_client import ArmClient

pytestmark = pytest.mark.django_db(transaction=True)

WRITERS = 6


def send_at_once(token: str, requests: list) -> list:
    """Send all requests, each a (method, address, body, headers), at the same moment; return the responses."""
    barrier, responses = Barrier(len(requests)), [None] * len(requests)

    def send(position: int, method: str, address: str, body: object, headers: dict[str, str]) -> None:
        try:
            client = ArmClient(token)
            barrier.wait(10)
            if address.startswith("/api/"):
                responses[position] = getattr(client.client, method.lower())(
                    address, body, headers=headers, format="json"
                )
            else:
                responses[position] = client.call(method, address, body, headers=headers)
        finally:
            connection.close()

    threads = [Thread(target=send, args=(position, *request)) for position, request in enumerate(requests)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return responses


def statuses(responses: list) -> list[int]:
    return sorted(response.status_code for response in responses)


def job_body(number: int) -> dict:
    uri = f"http://127.0.0.1:9/{number}"
    return {"properties": {"action": {"type": "Http", "request": {"uri": uri, "method": "GET"}}}}


def job_patch(number: int) -> dict:
    return {"properties": {"action": {"request": {"uri": f"http://127.0.0.1:9/{number}"}}}}


@pytest.mark.parametrize("round", range(3))
@pytest.mark.parametrize("kind", ["collection", "job"])
@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_one_of_several_writes_with_the_same_etag_succeeds(arm, token, make_job, kind, method, round):
    make_job()
    address = arm.job() if kind == "job" else arm.collection()
    known = arm.get(address)["ETag"]
    bodies = {
        ("collection", "PUT"): lambda number: {"tags": {"number": str(number)}},
        ("collection", "PATCH"): lambda number: {"tags": {"number": str(number)}},
        ("job", "PUT"): job_body,
        ("job", "PATCH"): job_patch,
    }
    body_of = bodies[kind, method]

    responses = send_at_once(
        token, [(method, address, body_of(number), {"If-Match": known}) for number in range(WRITERS)]
    )

    assert statuses(responses) == [200] + [412] * (WRITERS - 1)
    accepted = next(response for response in responses if response.status_code == 200)
    assert arm.get(address)["ETag"] == accepted["ETag"]
    assert (Job if kind == "job" else JobCollection).objects.get().revision == 2


@pytest.mark.parametrize("kind", ["collection", "job"])
def test_one_of_several_writes_with_if_none_match_creates_the_resource(arm, token, collection, kind):
    address = arm.job("new") if kind == "job" else arm.collection("new")
    body_of = job_body if kind == "job" else lambda number: {"tags": {"number": str(number)}}

    responses = send_at_once(
        token, [("PUT", address, body_of(number), {"If-None-Match": "*"}) for number in range(WRITERS)]
    )

    assert statuses(responses) == [201] + [412] * (WRITERS - 1)


def test_one_of_several_changes_and_deletions_of_a_job_succeeds(arm, token, make_job):
    job = make_job()
    known, ours = arm.get(arm.job())["ETag"], f"/api/jobs/{job.pk}"

    responses = send_at_once(
        token,
        [
            ("DELETE", arm.job(), None, {"If-Match": known}),
            ("PATCH", arm.job(), job_patch(1), {"If-Match": known}),
            ("PATCH", ours, {"misfire": "skip"}, {"If-Match": known}),
            ("POST", f"{ours}/pause", None, {"If-Match": known}),
        ],
    )

    done = [response for response in responses if response.status_code == 200]
    assert len(done) == 1
    assert {response.status_code for response in responses} <= {200, 404, 412}
    assert Job.objects.exists() is (done[0] is not responses[0])


def test_one_of_several_changes_and_deletions_of_a_collection_succeeds(arm, token, make_job):
    collection = make_job().collection
    address = arm.collection()
    known, ours = arm.get(address)["ETag"], f"/api/collections/{collection.pk}"

    responses = send_at_once(
        token,
        [
            ("DELETE", address, None, {"If-Match": known}),
            ("POST", f"{address}/disable", None, {"If-Match": known}),
            ("PATCH", address, {"tags": {"a": "b"}}, {"If-Match": known}),
            ("PATCH", ours, {"location": "here"}, {"If-Match": known}),
        ],
    )

    assert len([response for response in responses if response.status_code in (200, 202)]) == 1
    assert {response.status_code for response in responses} <= {200, 202, 409, 412}
    assert JobCollection.objects.get().revision == 2
    assert Operation.objects.count() == len([response for response in responses if response.status_code == 202])


def test_job_that_ends_while_it_is_saved_gets_two_revisions(arm, token, make_job):
    """Two versions never have the same number, in either order."""
    job = make_job()

    def end() -> None:
        try:
            finish_jobs([job.pk], Job.State.COMPLETED, NOW)
        finally:
            connection.close()

    ending = Thread(target=end)
    ending.start()
    saved = arm.patch(arm.job(), job_patch(1))
    ending.join(30)

    assert saved.status_code in (200, 409)
    assert Job.objects.get().revision == (3 if saved.status_code == 200 else 2)
