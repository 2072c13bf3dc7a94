"""Moving the database with a fixture: all secrets are moved, and none can be read in the fixture."""

import json
from datetime import datetime

import pytest
from django.core.checks import run_checks
from django.core.management import CommandError, call_command

from accounts.models import ApiToken
from calendars import feeds
from calendars.models import Calendar, Feed
from jobs import rotation, signing
from jobs.encryption import Secrets
from jobs.models import SECRET_PATH, Action, AsyncOperation, Attempt, Job, Run, SigningSecret
from maintenance import resources
from maintenance.models import Resource
from scheduler_site.keys import new_encryption_key
from tests.conftest import NOW

pytestmark = pytest.mark.database

PASSWORD, HEADER = "violet-harbour-31", "amber-lantern-77"
ADDRESS = "https://hooks.example/operations/7?key=violet-harbour-32"
ACTION = {
    "type": "Https",
    "request": {
        "uri": "https://hooks.example/",
        "method": "GET",
        "headers": {"X-Api-Key": HEADER},
        "authentication": {"type": "Basic", "username": "ada", "password": PASSWORD},
    },
}
TABLES = (AsyncOperation, Attempt, Run, SigningSecret, Job, Action, Feed, Resource, ApiToken)


@pytest.fixture
def secret_texts(make_job, owner, subscription) -> dict[str, str]:
    """Create one object of each kind with a secret, as the product stores it; return the secret texts."""
    job = make_job(action=ACTION)
    run = Run.objects.create(subscription=subscription, job=job, fire_at=NOW, publish_after=NOW)
    attempt = Attempt.objects.create(run=run, number=1, started_at=NOW)
    AsyncOperation.objects.create(
        run=run, attempt=attempt, secrets=Secrets({AsyncOperation.ADDRESS: ADDRESS}), started_at=NOW, gives_up_at=NOW
    )
    return {
        "password": PASSWORD,
        "header": HEADER,
        "address": ADDRESS,
        "signing": signing.new_secret(job, signing.OVERLAP_MOST, NOW),
        "feed": feeds.make(owner, "phone", NOW, calendar=Calendar.objects.default_of(owner))[1],
        "machine": resources.register(subscription, "db-2", "", {}, NOW)[1],
        "token": ApiToken.objects.issue(owner, "tests")[1],
    }


def dump_and_load(path, format: str) -> str:
    """Dump all rows, delete them, and load them again; return the text of the fixture."""
    fixture = path / f"all.{format}"
    call_command("dumpdata", format=format, output=str(fixture), verbosity=0)
    for model in TABLES:
        model._base_manager.all().delete()
    assert not Action.objects.exists()
    assert not ApiToken.objects.exists()
    call_command("loaddata", str(fixture), verbosity=0)
    return fixture.read_text()


def rows() -> dict[str, list[dict]]:
    """Return all stored rows without times: in JSON, Django truncates them to milliseconds."""
    return {
        model.__name__: [
            {name: value for name, value in row.items() if not isinstance(value, datetime)}
            for row in model._base_manager.order_by("pk").values()
        ]
        for model in TABLES
    }


@pytest.mark.parametrize("format", ["json", "jsonl", "xml"])
def test_fixture_moves_all_secrets_and_contains_none_in_clear_text(secret_texts, tmp_path, format):
    before = rows()

    fixture_text = dump_and_load(tmp_path, format)

    assert [
        name
        for name, text in secret_texts.items()
        if text in fixture_text or text.removeprefix("whsec_") in fixture_text
    ] == []
    assert rows() == before
    assert Job.objects.get().action.secrets == {
        "request.authentication.password": PASSWORD,
        "request.headers.x-api-key": HEADER,
    }
    assert SigningSecret.objects.get().secrets == {SECRET_PATH: secret_texts["signing"]}
    assert AsyncOperation.objects.get().secrets == {AsyncOperation.ADDRESS: ADDRESS}


def test_check_warns_of_a_loaded_fixture_whose_key_is_missing(secret_texts, tmp_path, settings):
    own = settings.ENCRYPTION_KEYS
    fixture = tmp_path / "all.json"
    call_command("dumpdata", output=str(fixture), verbosity=0)
    settings.ENCRYPTION_KEYS = [new_encryption_key()]

    call_command("loaddata", str(fixture), verbosity=0)

    assert [message.id for message in run_checks() if message.id.startswith("jobs.")] == ["jobs.W001"]
    settings.ENCRYPTION_KEYS = [*settings.ENCRYPTION_KEYS, *own]
    assert [message.id for message in run_checks() if message.id.startswith("jobs.")] == []
    assert SigningSecret.objects.get().secrets == {SECRET_PATH: secret_texts["signing"]}


def test_dumping_secrets_that_cannot_be_decrypted_fails(secret_texts, tmp_path, settings):
    settings.ENCRYPTION_KEYS = [new_encryption_key()]

    with pytest.raises(CommandError, match="ENCRYPTION_KEYS"):
        call_command("dumpdata", "jobs.action", output=str(tmp_path / "all.json"))


def test_a_fixture_with_a_secret_in_clear_text_is_refused(secret_texts, tmp_path):
    fixture = tmp_path / "all.json"
    call_command("dumpdata", "jobs.action", output=str(fixture), verbosity=0)
    (row, *_) = json.loads(fixture.read_text())
    row["fields"]["secrets"] = PASSWORD
    fixture.write_text(json.dumps([row]))

    with pytest.raises(ValueError, match="must be encrypted") as refused:
        call_command("loaddata", str(fixture), verbosity=0)

    assert PASSWORD not in str(refused.value)
    assert rotation.unreadable_rows() is None
