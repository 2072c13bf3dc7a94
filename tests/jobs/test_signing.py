"""Signed requests: the secrets of a job, their replacement, and the verification of the headers."""

from datetime import timedelta

import pytest
from django.db import IntegrityError
from django.utils import timezone
from standardwebhooks import Webhook, WebhookVerificationError

from accounts.models import ApiToken, Membership, Role, Subscription
from api.errors import Invalid
from jobs.encryption import Secrets
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


def live_secrets(now) -> list[str]:
    return [each.secrets[SECRET_PATH] for each in SigningSecret.objects.live(now)]


def headers_for(secrets, body=BODY, sent_at=None) -> dict[str, str]:
    return signature_headers(secrets, RUN_ID, sent_at or timezone.now(), body)


# Secrets


def test_new_and_replaced_secrets_both_sign_until_the_overlap_ends(job):
    first = new_secret(job, DAY, NOW)
    second = new_secret(job, DAY, NOW + DAY)

    assert live_secrets(NOW + DAY) == [second, first]
    assert live_secrets(NOW + 2 * DAY - timedelta(microseconds=1)) == [second, first]
    assert live_secrets(NOW + 2 * DAY) == [second]


def test_old_secret_ends_at_once_without_an_overlap(job):
    new_secret(job, DAY, NOW)

    assert live_secrets(NOW) != [new_secret(job, timedelta(0), NOW)]
    assert len(live_secrets(NOW)) == 1


def test_ended_secrets_are_deleted_by_the_next_new_secret(job):
    for days in range(3):
        new_secret(job, timedelta(hours=1), NOW + days * DAY)

    assert SigningSecret.objects.count() == 2


@pytest.mark.parametrize("overlap", [-timedelta(microseconds=1), timedelta(days=30, microseconds=1)])
def test_an_overlap_is_at_most_thirty_days(job, overlap):
    with pytest.raises(Invalid) as refusal:
        new_secret(job, overlap, NOW)

    assert (refusal.value.path, refusal.value.code) == ("overlap", "out_of_range")
    assert not SigningSecret.objects.exists()


def test_number_of_secrets_that_sign_has_a_limit(job):
    made = [new_secret(job, DAY, NOW) for _ in range(LIVE_MOST + 2)]

    assert live_secrets(NOW) == made[: -LIVE_MOST - 1 : -1]


def test_a_job_has_one_secret_without_an_end(job):
    new_secret(job, DAY, NOW)

    with pytest.raises(IntegrityError):
        SigningSecret.objects.create(job=job, secrets=Secrets({SECRET_PATH: "whsec_c2Vjb25k"}), created_at=NOW)


def test_removed_secrets_no_longer_sign(job, make_job):
    other = make_job("other")
    secret_of_other = new_secret(other, DAY, NOW)
    new_secret(job, DAY, NOW)
    remove_secrets(job)

    assert live_secrets(NOW) == [secret_of_other]


def test_secrets_are_long_and_unique(job):
    secrets = {new_secret(job, timedelta(0), NOW) for _ in range(20)}

    assert len(secrets) == 20
    assert all(secret.startswith("whsec_") and len(secret) == 6 + 44 for secret in secrets)


# Headers


def test_a_receiver_accepts_the_signature(job):
    secret = new_secret(job, DAY, NOW)

    assert Webhook(secret).verify(BODY, headers_for([secret])) == {"kind": "weekly"}


def test_receivers_with_either_secret_accept_the_signature_during_the_overlap(job):
    old, new = new_secret(job, DAY, NOW), new_secret(job, DAY, NOW)
    headers = headers_for([new, old])

    assert len(headers["webhook-signature"].split(" ")) == 2
    for secret in (old, new):
        Webhook(secret).verify(BODY, headers)


@pytest.mark.parametrize(
    "change",
    [
        {"webhook-id": "another"},
        {"webhook-timestamp": "1"},  # years ago
        {"webhook-signature": "v1,AAAA"},
    ],
)
def test_receiver_refuses_changed_headers(job, change):
    secret = new_secret(job, DAY, NOW)

    with pytest.raises(WebhookVerificationError):
        Webhook(secret).verify(BODY, headers_for([secret]) | change)


def test_a_receiver_refuses_another_body(job):
    secret = new_secret(job, DAY, NOW)

    with pytest.raises(WebhookVerificationError):
        Webhook(secret).verify("{}", headers_for([secret]))


def test_attempts_of_a_run_have_the_same_webhook_id(job):
    secret = new_secret(job, DAY, NOW)
    now = timezone.now()

    first, second = (headers_for([secret], sent_at=now - wait) for wait in (timedelta(0), timedelta(minutes=1)))

    assert first["webhook-id"] == second["webhook-id"] == RUN_ID
    assert first["webhook-signature"] != second["webhook-signature"]


def test_no_signature_headers_without_secrets():
    assert headers_for([]) == {}


# The API


def test_new_signing_secret_is_returned_once(api, job, address):
    before = timezone.now()

    response = api.post(address)

    assert response.status_code == 201, response.content
    document = response.json()
    assert set(document) == {"secret", "createdAt", "overlapEndsAt"}
    assert live_secrets(timezone.now()) == [document["secret"]]
    assert response["Cache-Control"] == "no-store"
    stored = SigningSecret.objects.get()
    assert stored.created_at >= before
    assert document["createdAt"] == f"{stored.created_at:%Y-%m-%dT%H:%M:%S.%fZ}"
    assert document["overlapEndsAt"] is None  # there was no secret before


def test_job_shows_the_dates_of_its_signing_secrets(api, job, address):
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
def test_old_secret_signs_until_the_requested_overlap_ends(api, address, body, overlap):
    api.post(address)
    api.post(address, body)

    new, old = SigningSecret.objects.order_by("-created_at", "-pk")
    assert old.expires_at == new.created_at + overlap
    assert new.expires_at is None


@pytest.mark.parametrize(
    "overlap", [None, 5, True, "", "soon", "P31D", "PT1X", "-PT1H", ["PT1H"], {"hours": 1}, "9" * 9000, "P9999Y"]
)
def test_wrong_overlap_is_refused_and_changes_nothing(api, address, overlap):
    api.post(address)

    response = api.post(address, {"overlap": overlap})

    assert response.status_code == 400, response.content
    assert response.json()["error"]["target"] == "overlap"
    assert SigningSecret.objects.get().expires_at is None


def test_deleting_the_secret_ends_signing(api, job, address):
    api.post(address)

    assert api.delete(address).status_code == 204
    assert api.delete(address).status_code == 204  # repeatable
    assert api.get(f"/api/jobs/{job.pk}").json()["signing"] is None
    assert not SigningSecret.objects.exists()


def test_signing_secrets_are_deleted_with_their_job(api, job, address):
    api.post(address)
    api.delete(f"/api/jobs/{job.pk}")

    assert not SigningSecret.objects.exists()


@pytest.mark.parametrize("method", ["post", "delete"])
def test_reader_can_neither_create_nor_delete_a_signing_secret(make_user, api_of, job, address, method):
    secret = new_secret(job, DAY, NOW)
    client = api_of(ApiToken.objects.issue(make_user("rita", Role.READER), "t")[1])

    assert getattr(client, method)(address).status_code == 403
    assert live_secrets(NOW) == [secret]


@pytest.mark.parametrize("method", ["post", "delete"])
def test_job_of_another_subscription_is_treated_as_missing(api, owner, make_job, method):
    elsewhere = Subscription.objects.create(name="elsewhere")
    theirs = make_job("theirs", in_collection=JobCollection.objects.create(subscription=elsewhere, name="c"))
    inaccessible = getattr(api, method)(f"/api/jobs/{theirs.pk}/signing-secret")
    missing = getattr(api, method)("/api/jobs/999999/signing-secret")

    assert inaccessible.status_code == missing.status_code == 404
    assert inaccessible.content == missing.content
    Membership.objects.create(subscription=elsewhere, user=owner, role=Role.OPERATOR)
    assert getattr(api, method)(f"/api/jobs/{theirs.pk}/signing-secret").status_code in (201, 204)


@pytest.mark.parametrize("method", ["get", "put", "patch"])
def test_other_methods_of_the_signing_secret_are_refused(api, address, method):
    response = getattr(api, method)(address)

    assert (response.status_code, response.json()["error"]["code"]) == (405, "method_not_allowed")
