"""Signed requests: a job's secrets, how they are replaced, and what a receiver makes of the headers."""

from datetime import timedelta

import pytest
from django.db import IntegrityError
from django.utils import timezone
from standardwebhooks import Webhook, WebhookVerificationError

from accounts.models import ApiToken, Membership, Role, Subscription
from jobs.encryption import Secrets
from jobs.errors import Invalid
from jobs.models import SECRET_PATH, JobCollection, SigningSecret
from jobs.signing import LIVE_MOST, new_secret, remove_secrets, signature_headers
from tests.conftest import NOW

DAY = timedelta(days=1)
RUN_ID = "6f0a4f0e-8f5e-4c0c-9d6a-2f3b9d8f4e11"
BODY = '{"kind": "weekly"}'


@pytest.fixture
def job(make_job):
    return make_job()


@pytest.fixture
def address(job):
    return f"/api/jobs/{job.pk}/signing-secret"


def live(now) -> list[str]:
    return [each.secrets[SECRET_PATH] for each in SigningSecret.objects.live(now)]


def headers_for(secrets, body=BODY, sent_at=None) -> dict[str, str]:
    return signature_headers(secrets, RUN_ID, sent_at or timezone.now(), body)


# Secrets


def test_a_new_secret_signs_beside_the_one_that_it_replaces_until_the_overlap_ends(job):
    first = new_secret(job, DAY, NOW)
    second = new_secret(job, DAY, NOW + DAY)

    assert live(NOW + DAY) == [second, first]
    assert live(NOW + 2 * DAY - timedelta(microseconds=1)) == [second, first]
    assert live(NOW + 2 * DAY) == [second]


def test_without_an_overlap_the_old_one_ends_at_once(job):
    new_secret(job, DAY, NOW)

    assert live(NOW) != [new_secret(job, timedelta(0), NOW)]
    assert len(live(NOW)) == 1


def test_what_has_ended_is_removed_by_the_next_one(job):
    for days in range(3):
        new_secret(job, timedelta(hours=1), NOW + days * DAY)

    assert SigningSecret.objects.count() == 2


@pytest.mark.parametrize("overlap", [-timedelta(microseconds=1), timedelta(days=30, microseconds=1)])
def test_an_overlap_is_at_most_thirty_days(job, overlap):
    with pytest.raises(Invalid) as refusal:
        new_secret(job, overlap, NOW)

    assert (refusal.value.path, refusal.value.code) == ("overlap", "out_of_range")
    assert not SigningSecret.objects.exists()


def test_only_the_last_ones_sign_however_often_a_secret_is_made(job):
    made = [new_secret(job, DAY, NOW) for _ in range(LIVE_MOST + 2)]

    assert live(NOW) == made[: -LIVE_MOST - 1 : -1]


def test_a_job_has_one_secret_without_an_end(job):
    new_secret(job, DAY, NOW)

    with pytest.raises(IntegrityError):
        SigningSecret.objects.create(job=job, secrets=Secrets({SECRET_PATH: "whsec_c2Vjb25k"}), created_at=NOW)


def test_removed_secrets_sign_nothing_more(job, make_job):
    other = make_job("other")
    kept = new_secret(other, DAY, NOW)
    new_secret(job, DAY, NOW)
    remove_secrets(job)

    assert live(NOW) == [kept]


def test_secrets_are_long_and_never_the_same(job):
    secrets = {new_secret(job, timedelta(0), NOW) for _ in range(20)}

    assert len(secrets) == 20
    assert all(secret.startswith("whsec_") and len(secret) == 6 + 44 for secret in secrets)


# Headers


def test_a_receiver_accepts_the_signature(job):
    secret = new_secret(job, DAY, NOW)

    assert Webhook(secret).verify(BODY, headers_for([secret])) == {"kind": "weekly"}


def test_during_an_overlap_receivers_with_either_secret_accept_it(job):
    old, new = new_secret(job, DAY, NOW), new_secret(job, DAY, NOW)
    headers = headers_for([new, old])

    assert len(headers["webhook-signature"].split(" ")) == 2
    for secret in (old, new):
        Webhook(secret).verify(BODY, headers)


@pytest.mark.parametrize(
    "change",
    [
        {"webhook-id": "another"},
        {"webhook-timestamp": "1"},  # long ago
        {"webhook-signature": "v1,AAAA"},
    ],
)
def test_a_receiver_refuses_what_was_changed_on_the_way(job, change):
    secret = new_secret(job, DAY, NOW)

    with pytest.raises(WebhookVerificationError):
        Webhook(secret).verify(BODY, headers_for([secret]) | change)


def test_a_receiver_refuses_another_body(job):
    secret = new_secret(job, DAY, NOW)

    with pytest.raises(WebhookVerificationError):
        Webhook(secret).verify("{}", headers_for([secret]))


def test_every_attempt_at_a_run_has_the_same_id(job):
    secret = new_secret(job, DAY, NOW)
    now = timezone.now()

    first, second = (headers_for([secret], sent_at=now - wait) for wait in (timedelta(0), timedelta(minutes=1)))

    assert first["webhook-id"] == second["webhook-id"] == RUN_ID
    assert first["webhook-signature"] != second["webhook-signature"]


def test_without_secrets_there_are_no_headers():
    assert headers_for([]) == {}


# The API


def test_the_secret_is_shown_once(api, job, address):
    before = timezone.now()

    response = api.post(address)

    assert response.status_code == 201, response.content
    answer = response.json()
    assert set(answer) == {"secret", "createdAt", "overlapEndsAt"}
    assert live(timezone.now()) == [answer["secret"]]
    assert response["Cache-Control"] == "no-store"
    stored = SigningSecret.objects.get()
    assert stored.created_at >= before
    assert answer["createdAt"] == f"{stored.created_at:%Y-%m-%dT%H:%M:%S.%fZ}"
    assert answer["overlapEndsAt"] is None  # there was none before


def test_the_job_says_since_when_it_is_signed_and_with_how_many(api, job, address):
    assert api.get(f"/api/jobs/{job.pk}").json()["signing"] is None
    first = api.post(address).json()
    second = api.post(address, {"overlap": "01:30:00"}).json()

    signing = api.get(f"/api/jobs/{job.pk}").json()["signing"]

    assert signing == {
        "since": second["createdAt"],
        "secrets": [
            {"createdAt": second["createdAt"], "expiresAt": None},
            {"createdAt": first["createdAt"], "expiresAt": second["overlapEndsAt"]},
        ],
    }
    assert api.get("/api/jobs").json()["value"][0]["signing"] == signing


@pytest.mark.parametrize(
    "body, overlap",
    [
        (None, timedelta(hours=24)),
        ({}, timedelta(hours=24)),
        ({"overlap": "PT0S"}, timedelta(0)),
        ({"overlap": "P30D"}, timedelta(days=30)),
        ({"overlap": "1.00:00:01"}, timedelta(days=1, seconds=1)),
    ],
)
def test_the_old_secret_signs_for_as_long_as_was_asked(api, address, body, overlap):
    api.post(address)
    api.post(address, body)

    new, old = SigningSecret.objects.order_by("-created_at", "-pk")
    assert old.expires_at == new.created_at + overlap
    assert new.expires_at is None


@pytest.mark.parametrize(
    "overlap", [None, 5, True, "", "soon", "P31D", "PT1X", "-PT1H", ["PT1H"], {"hours": 1}, "9" * 9000, "P9999Y"]
)
def test_a_wrong_overlap_is_refused_with_its_path_and_changes_nothing(api, address, overlap):
    api.post(address)

    response = api.post(address, {"overlap": overlap})

    assert response.status_code == 400, response.content
    assert response.json()["error"]["target"] == "overlap"
    assert SigningSecret.objects.get().expires_at is None


def test_signing_ends_when_the_secret_is_deleted(api, job, address):
    api.post(address)

    assert api.delete(address).status_code == 204
    assert api.delete(address).status_code == 204  # repeatable
    assert api.get(f"/api/jobs/{job.pk}").json()["signing"] is None
    assert not SigningSecret.objects.exists()


def test_secrets_go_with_their_job(api, job, address):
    api.post(address)
    api.delete(f"/api/jobs/{job.pk}")

    assert not SigningSecret.objects.exists()


@pytest.mark.parametrize("method", ["post", "delete"])
def test_a_reader_may_neither_make_nor_remove_one(make_user, api_of, job, address, method):
    secret = new_secret(job, DAY, NOW)
    client = api_of(ApiToken.objects.issue(make_user("rita", Role.READER), "t")[1])

    assert getattr(client, method)(address).status_code == 403
    assert live(NOW) == [secret]


@pytest.mark.parametrize("method", ["post", "delete"])
def test_a_job_of_others_looks_missing(api, owner, make_job, method):
    elsewhere = Subscription.objects.create(name="elsewhere")
    theirs = make_job("theirs", in_collection=JobCollection.objects.create(subscription=elsewhere, name="c"))
    foreign = getattr(api, method)(f"/api/jobs/{theirs.pk}/signing-secret")
    missing = getattr(api, method)("/api/jobs/999999/signing-secret")

    assert foreign.status_code == missing.status_code == 404
    assert foreign.content == missing.content
    Membership.objects.create(subscription=elsewhere, user=owner, role=Role.OPERATOR)
    assert getattr(api, method)(f"/api/jobs/{theirs.pk}/signing-secret").status_code in (201, 204)


@pytest.mark.parametrize("method", ["get", "put", "patch"])
def test_another_method_is_refused(api, address, method):
    response = getattr(api, method)(address)

    assert (response.status_code, response.json()["error"]["code"]) == (405, "method_not_allowed")
