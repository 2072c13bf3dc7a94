"""Several who have read one version write at the very same moment: one of them wins.

Each has a connection of its own.  On SQLite they wait for each other; on PostgreSQL they run together, held apart by
row locks alone.
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


def at_once(token: str, requests: list) -> list:
    """Send all of the requests, each a (method, address, body, headers), at one moment; return the answers."""
    barrier, answers = Barrier(len(requests)), [None] * len(requests)

    def send(position: int, method: str, address: str, body: object, headers: dict[str, str]) -> None:
        try:
            client = ArmClient(token)
            barrier.wait(10)
            if address.startswith("/api/"):
                answers[position] = getattr(client.client, method.lower())(
                    address, body, headers=headers, format="json"
                )
            else:
                answers[position] = client.call(method, address, body, headers=headers)
        finally:
            connection.close()

    threads = [Thread(target=send, args=(position, *request)) for position, request in enumerate(requests)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return answers


def statuses(answers: list) -> list[int]:
    return sorted(answer.status_code for answer in answers)


def job_body(number: int) -> dict:
    uri = f"http://127.0.0.1:9/{number}"
    return {"properties": {"action": {"type": "Http", "request": {"uri": uri, "method": "GET"}}}}


def job_patch(number: int) -> dict:
    return {"properties": {"action": {"request": {"uri": f"http://127.0.0.1:9/{number}"}}}}


@pytest.mark.parametrize("round", range(3))
@pytest.mark.parametrize("kind", ["collection", "job"])
@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_of_writers_who_know_one_version_one_wins(arm, token, make_job, kind, method, round):
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

    answers = at_once(token, [(method, address, body_of(number), {"If-Match": known}) for number in range(WRITERS)])

    assert statuses(answers) == [200] + [412] * (WRITERS - 1)
    won = next(answer for answer in answers if answer.status_code == 200)
    assert arm.get(address)["ETag"] == won["ETag"]
    assert (Job if kind == "job" else JobCollection).objects.get().revision == 2


@pytest.mark.parametrize("kind", ["collection", "job"])
def test_of_writers_who_believe_that_there_is_none_one_creates_it(arm, token, collection, kind):
    address = arm.job("new") if kind == "job" else arm.collection("new")
    body_of = job_body if kind == "job" else lambda number: {"tags": {"number": str(number)}}

    answers = at_once(token, [("PUT", address, body_of(number), {"If-None-Match": "*"}) for number in range(WRITERS)])

    assert statuses(answers) == [201] + [412] * (WRITERS - 1)


def test_a_job_is_deleted_or_changed_by_who_knows_its_version(arm, token, make_job):
    job = make_job()
    known, ours = arm.get(arm.job())["ETag"], f"/api/jobs/{job.pk}"

    answers = at_once(
        token,
        [
            ("DELETE", arm.job(), None, {"If-Match": known}),
            ("PATCH", arm.job(), job_patch(1), {"If-Match": known}),
            ("PATCH", ours, {"misfire": "skip"}, {"If-Match": known}),
            ("POST", f"{ours}/pause", None, {"If-Match": known}),
        ],
    )

    done = [answer for answer in answers if answer.status_code == 200]
    assert len(done) == 1
    assert {answer.status_code for answer in answers} <= {200, 404, 412}
    assert Job.objects.exists() is (done[0] is not answers[0])


def test_a_collection_is_changed_or_deleted_by_who_knows_its_version(arm, token, make_job):
    collection = make_job().collection
    address = arm.collection()
    known, ours = arm.get(address)["ETag"], f"/api/collections/{collection.pk}"

    answers = at_once(
        token,
        [
            ("DELETE", address, None, {"If-Match": known}),
            ("POST", f"{address}/disable", None, {"If-Match": known}),
            ("PATCH", address, {"tags": {"a": "b"}}, {"If-Match": known}),
            ("PATCH", ours, {"location": "here"}, {"If-Match": known}),
        ],
    )

    assert len([answer for answer in answers if answer.status_code in (200, 202)]) == 1
    assert {answer.status_code for answer in answers} <= {200, 202, 409, 412}
    assert JobCollection.objects.get().revision == 2
    assert Operation.objects.count() == len([answer for answer in answers if answer.status_code == 202])


def test_a_job_that_ends_while_it_is_saved_counts_both(arm, token, make_job):
    """No two versions have one number, whichever comes first."""
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
