"""Rotation of the key that encrypts stored secrets."""

from io import StringIO

import pytest
from django.core.checks import run_checks
from django.core.management import CommandError, call_command

from jobs import rotation
from jobs.encryption import Secrets
from jobs.models import Action, AsyncOperation, Attempt, Run, SigningSecret
from scheduler_site.keys import new_encryption_key
from tests.conftest import NOW

pytestmark = pytest.mark.database

OLD, NEW, OTHER = new_encryption_key(), new_encryption_key(), new_encryption_key()
PASSWORD = Secrets({"request.authentication.password": "violet-harbour-31"})
SIGNING = Secrets(signing="whsec_" + "cm90YXRlZA" * 3)
ADDRESS = Secrets({AsyncOperation.ADDRESS: "https://hooks.example/operations/7?key=violet-harbour-32"})


@pytest.fixture
def stored(settings, make_job):
    """A row of each model with a secret encrypted with the old key, and an action without secrets."""
    settings.ENCRYPTION_KEYS = [OLD]
    job = make_job()
    action = Action.objects.create(document={"type": "Http"}, secrets=PASSWORD)
    signing = SigningSecret.objects.create(job=job, secrets=SIGNING, created_at=NOW)
    run = Run.objects.create(subscription=job.collection.subscription, job=job, fire_at=NOW, publish_after=NOW)
    attempt = Attempt.objects.create(run=run, number=1, started_at=NOW)
    operation = AsyncOperation.objects.create(
        run=run, attempt=attempt, secrets=ADDRESS, started_at=NOW, gives_up_at=NOW
    )
    return action, signing, operation


def rotate() -> tuple[str, str]:
    output, errors = StringIO(), StringIO()
    try:
        call_command("rotate_encryption_keys", stdout=output, stderr=errors)
    except CommandError as error:
        errors.write(str(error))
    return output.getvalue(), errors.getvalue()


def test_old_key_can_be_removed_after_a_rotation(stored, settings):
    action, signing, operation = stored
    settings.ENCRYPTION_KEYS = [NEW, OLD]

    output, errors = rotate()

    assert output == (
        "jobs.Action: 1 encrypted with the first key, 0 were already\n"
        "jobs.SigningSecret: 1 encrypted with the first key, 0 were already\n"
        "jobs.AsyncOperation: 1 encrypted with the first key, 0 were already\n"
    )
    assert errors == ""
    settings.ENCRYPTION_KEYS = [NEW]
    assert Action.objects.get(pk=action.pk).secrets == PASSWORD
    assert SigningSecret.objects.get(pk=signing.pk).secrets == SIGNING
    assert AsyncOperation.objects.get(pk=operation.pk).secrets == ADDRESS


def test_second_rotation_writes_nothing(stored, settings):
    settings.ENCRYPTION_KEYS = [NEW, OLD]
    rotate()
    before = list(rotation.stored(Action, "secrets"))

    output, _ = rotate()

    assert output.splitlines()[0] == "jobs.Action: 0 encrypted with the first key, 1 were already"
    assert list(rotation.stored(Action, "secrets")) == before


def test_row_that_cannot_be_decrypted_is_named_and_the_others_are_rotated(stored, settings):
    _, signing, _ = stored
    settings.ENCRYPTION_KEYS = [OTHER]
    lost = Action.objects.create(document={}, secrets=PASSWORD)
    settings.ENCRYPTION_KEYS = [NEW, OLD]

    output, errors = rotate()

    assert output.splitlines()[0] == "jobs.Action: 1 encrypted with the first key, 0 were already"
    assert f"jobs.Action {lost.pk}: no key opens its secrets\n" in errors
    assert errors.endswith("no key in ENCRYPTION_KEYS opens the secrets of 1 rows; drop none yet")
    settings.ENCRYPTION_KEYS = [NEW]
    assert SigningSecret.objects.get(pk=signing.pk).secrets == SIGNING


def test_rotation_works_in_batches(stored, settings, monkeypatch):
    monkeypatch.setattr(rotation, "BATCH", 2)
    for _ in range(4):
        Action.objects.create(document={}, secrets=PASSWORD)
    settings.ENCRYPTION_KEYS = [NEW, OLD]

    output, _ = rotate()

    assert output.splitlines()[0] == "jobs.Action: 5 encrypted with the first key, 0 were already"


def test_rotation_does_not_overwrite_a_concurrent_change(stored, settings):
    _action, *_ = stored
    settings.ENCRYPTION_KEYS = [NEW, OLD]
    ((pk, sealed),) = rotation.stored(Action, "secrets")
    Action.objects.filter(pk=pk).update(secrets=Secrets(a="written-in-between"))

    assert rotation.write(Action, "secrets", pk, sealed, "what the old one said") is False

    assert Action.objects.get(pk=pk).secrets == {"a": "written-in-between"}


def test_row_changed_during_its_rotation_is_rotated_again(stored, settings, monkeypatch):
    action, *_ = stored
    write, changes = rotation.write, ["written-in-between"]

    def write_late(model, name, pk, before, after):
        if changes:
            settings.ENCRYPTION_KEYS = [OLD]  # as by a process that has not been restarted
            Action.objects.filter(pk=action.pk).update(secrets=Secrets(a=changes.pop()))
        return write(model, name, pk, before, after)

    monkeypatch.setattr(rotation, "write", write_late)
    settings.ENCRYPTION_KEYS = [NEW, OLD]
    rotate()

    settings.ENCRYPTION_KEYS = [NEW]
    assert Action.objects.get(pk=action.pk).secrets == {"a": "written-in-between"}


def test_row_deleted_during_its_rotation_is_skipped(stored, settings, monkeypatch):
    write = rotation.write

    def write_late(model, name, pk, before, after):
        model.objects.filter(pk=pk).delete()
        return write(model, name, pk, before, after)

    monkeypatch.setattr(rotation, "write", write_late)
    settings.ENCRYPTION_KEYS = [NEW, OLD]

    output, errors = rotate()

    assert output.splitlines()[0] == "jobs.Action: 0 encrypted with the first key, 0 were already"
    assert errors == ""


def test_every_model_with_secrets_is_found():
    assert (Action, "secrets") in rotation.secret_fields()
    assert (SigningSecret, "secrets") in rotation.secret_fields()
    assert (AsyncOperation, "secrets") in rotation.secret_fields()


def test_check_warns_of_a_missing_key_and_names_the_command(stored, settings):
    settings.ENCRYPTION_KEYS = [NEW]

    (warning,) = [message for message in run_checks() if message.id == "jobs.W001"]

    assert warning.msg == f"No key in ENCRYPTION_KEYS opens the secrets of jobs.Action {stored[0].pk}."
    assert "manage.py rotate_encryption_keys" in warning.hint
    settings.ENCRYPTION_KEYS = [NEW, OLD]
    assert [message for message in run_checks() if message.id == "jobs.W001"] == []


def test_check_for_missing_keys_reads_one_row_of_each_model(stored, django_assert_num_queries):
    with django_assert_num_queries(3) as queries:
        rotation.unreadable_rows()

    assert all("LIMIT 1" in query["sql"] for query in queries.captured_queries)
