"""What migrations do with existing rows."""

from datetime import UTC, datetime
from importlib import import_module

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from jobs.actions import documents
from jobs.encryption import Secrets, UnreadableSecret
from scheduler_site.keys import new_encryption_key
from tests.conftest import NOW
from tests.secrets_watch import separate_watch

SCHEMA, DATA = ("jobs", "0003_certificate_expiry"), ("jobs", "0004_certificate_expiries")


def migrated(*targets):
    executor = MigrationExecutor(connection)
    executor.migrate(list(targets))
    return executor.loader.project_state(list(targets)).apps


@pytest.fixture
def restore_newest_migration(transactional_db):
    yield
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())


def with_certificates(*expiries):
    """Return an action with client certificates in its request and in the request of its error action."""
    own, *others = [
        {"request": {"authentication": {"type": "ClientCertificate", "certificateExpirationDate": expiry}}}
        for expiry in expiries
    ]
    return {"type": "Http", **own, **({"errorAction": {"type": "Http", **others[0]}} if others else {})}


def test_migration_sets_the_expiry_of_stored_certificates(restore_newest_migration):
    actions = migrated(SCHEMA).get_model("jobs", "Action").objects
    plain = actions.create(document={"type": "StorageQueue", "queueMessage": {}}).pk
    one = actions.create(document=with_certificates("2030-01-02T00:00:00Z")).pk
    both = actions.create(document=with_certificates("2031-01-02T00:00:00Z", "2029-01-02T00:00:00Z")).pk

    expiries = dict(migrated(DATA).get_model("jobs", "Action").objects.values_list("pk", "certificate_expires_at"))

    assert expiries == {plain: None, one: datetime(2030, 1, 2, tzinfo=UTC), both: datetime(2029, 1, 2, tzinfo=UTC)}


UNENCRYPTED, ENCRYPTED = ("jobs", "0009_collection_revision"), ("jobs", "0010_encrypt_keys_in_addresses")
MASKED_HISTORY = ("jobs", "0011_mask_keys_in_history")
URI = "https://api.example/hook?code=violet-harbour&page=1;key=amber%2Dlantern"


def calling(uri, headers=None, **members):
    return {"type": "Http", "request": {"uri": uri, "method": "GET", "headers": headers or {}}, **members}


def columns_of(table: str, name: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {name} FROM {table}")
        return str(cursor.fetchall())


@pytest.fixture
def small_batches(monkeypatch):
    """Make batches so small that every loop runs more than once."""
    for migration in (ENCRYPTED, MASKED_HISTORY):
        monkeypatch.setattr(import_module(f"jobs.migrations.{migration[1]}"), "BATCH", 2)
    monkeypatch.setattr(import_module(f"jobs.migrations.{MASKED_HISTORY[1]}"), "WINDOW", 2)


def test_migration_encrypts_credentials_in_clear_text(restore_newest_migration, small_batches):
    actions = migrated(UNENCRYPTED).get_model("jobs", "Action").objects
    headers = {"X-Passwd": "violet-forest", "X-Tag": "a", "Authorization": "********"}
    document = {**calling(URI, headers), "errorAction": calling("https://b.example/?sig=copper-meadow")}
    stored = Secrets({"request.headers.authorization": "Bearer silver-canyon"})
    pk = actions.create(document=document, secrets=stored, secrets_set_at={"request.headers.authorization": "then"}).pk
    filled = calling("https://c.example/?key={{ run_id }}", {"X-Session": "a-{{ run_id }}"}, template=True)
    others = [actions.create(document=each).pk for each in (calling("https://c.example/?page=1"), filled, {}, filled)]

    action = migrated(ENCRYPTED).get_model("jobs", "Action").objects.get(pk=pk)

    assert action.document["request"] == {
        "uri": "https://api.example/hook?code=********&page=1;key=********",
        "method": "GET",
        "headers": {"X-Passwd": "********", "X-Tag": "a", "Authorization": "********"},
    }
    assert action.document["errorAction"]["request"]["uri"] == "https://b.example/?sig=********"
    assert action.secrets == {
        "request.query.code": "violet-harbour",
        "request.query.key": "amber%2Dlantern",
        "request.headers.x-passwd": "violet-forest",
        "request.headers.authorization": "Bearer silver-canyon",
        "errorAction.request.query.sig": "copper-meadow",
    }
    assert action.secrets_set_at.pop("request.headers.authorization") == "then"
    assert action.secrets_set_at == dict.fromkeys(
        set(action.secrets) - {"request.headers.authorization"}, f"{action.created_at:%Y-%m-%dT%H:%M:%SZ}"
    )
    text = columns_of("jobs_action", "document")
    assert not [each for each in ("violet", "amber", "copper") if each in text]
    unchanged = migrated(ENCRYPTED).get_model("jobs", "Action").objects.filter(pk__in=others).order_by("pk")
    assert [(each.document, each.secrets) for each in unchanged] == [
        (calling("https://c.example/?page=1"), {}),
        (filled, {}),
        ({}, {}),
        (filled, {}),
    ]


def test_reverse_migration_restores_addresses_that_can_be_called(restore_newest_migration, small_batches):
    document = {
        **calling(URI, {"X-Passwd": "violet-forest"}),
        "errorAction": calling("https://b.example/?sig=copper-1"),
    }
    pk = migrated(UNENCRYPTED).get_model("jobs", "Action").objects.create(document=document).pk
    moved = migrated(ENCRYPTED).get_model("jobs", "Action").objects.get(pk=pk)
    parsed = documents.parse(document)
    assert (moved.document, moved.secrets) == (parsed.document, parsed.secrets)

    with separate_watch():  # after the reverse migration they are in clear text
        actions = migrated(UNENCRYPTED).get_model("jobs", "Action").objects
        action = actions.get(pk=pk)
        actions.all().delete()

    assert action.document["request"]["uri"] == URI
    assert action.document["errorAction"] == document["errorAction"]
    assert action.document["request"]["headers"] == {"X-Passwd": "********"}
    assert action.secrets == {"request.headers.x-passwd": "violet-forest"}
    assert set(action.secrets_set_at) == {"request.headers.x-passwd"}


def test_migration_stops_at_a_row_that_cannot_be_decrypted_and_names_it(restore_newest_migration, settings):
    actions = migrated(UNENCRYPTED).get_model("jobs", "Action").objects
    plain = calling("https://c.example/")
    actions.create(document=plain, secrets=Secrets({"request.headers.authorization": "Bearer x"}))
    pk = actions.create(document=calling(URI), secrets=Secrets({"request.headers.authorization": "Bearer x"})).pk
    keys, settings.ENCRYPTION_KEYS = settings.ENCRYPTION_KEYS, [new_encryption_key()]

    with pytest.raises(UnreadableSecret, match=f"opens the secrets of action {pk}"):
        migrated(ENCRYPTED)

    settings.ENCRYPTION_KEYS = keys
    assert "request.query.code" in migrated(ENCRYPTED).get_model("jobs", "Action").objects.get(pk=pk).secrets


def test_migration_masks_credentials_in_the_history(restore_newest_migration, small_batches):
    apps = migrated(UNENCRYPTED)
    subscription = apps.get_model("accounts", "Subscription").objects.create(name="default")
    keyed, plain = (
        apps.get_model("jobs", "Action").objects.create(document=document)
        for document in (calling(URI, {"X-Passwd": "violet-forest"}), calling("https://c.example/"))
    )
    repeated = 'violet-harbour, amber-lantern, amber%2Dlantern, {"X-Passwd": "violet-forest"}, dmlvbGV0LWZvcmVzdA==, 1'
    for action, reason in ((plain, "for nobody"), *[(keyed, "for violet-harbour")] * 3):
        run = apps.get_model("jobs", "Run").objects.create(
            subscription=subscription, action=action, fire_at=NOW, publish_after=NOW, reason=reason
        )
        if action == plain:
            continue
        attempt = apps.get_model("jobs", "Attempt").objects.create(
            run=run,
            number=1,
            started_at=NOW,
            message="no violet-forest",
            response_body=repeated,
            response_headers=[["Location", URI]],
        )
        apps.get_model("jobs", "Poll").objects.create(
            attempt=attempt, number=1, started_at=NOW, message="no violet-forest", body=repeated
        )

    apps = migrated(MASKED_HISTORY)

    attempts = apps.get_model("jobs", "Attempt").objects.order_by("pk")
    masked = [
        (each.run.reason, each.message, each.response_headers, each.response_body, poll.message, poll.body)
        for each in attempts
        for poll in each.polls.all()
    ]
    body = '********, ********, ********, {"X-Passwd": "********"}, ********, 1'
    location = [["Location", "https://api.example/hook?code=********&page=1;key=********"]]
    assert masked == [("for ********", "no ********", location, body, "no ********", body)] * 3
    assert apps.get_model("jobs", "Run").objects.filter(reason="for nobody").count() == 1


HELD_AND_BLOCKED, MADE_UP_RUNS = ("jobs", "0014_held_and_blocked_runs"), ("jobs", "0015_made_up_runs")
MADE_UP = "made up for, after the runs before it"


@pytest.fixture
def make_old_run(restore_newest_migration):
    apps = migrated(HELD_AND_BLOCKED)
    subscription = apps.get_model("accounts", "Subscription").objects.create(name="default")
    runs = apps.get_model("jobs", "Run").objects

    def make(**fields):
        return runs.create(subscription=subscription, fire_at=NOW, publish_after=NOW, **fields)

    yield make
    subscription.delete()


def test_migration_marks_waiting_made_up_runs(make_old_run):
    waiting, retrying = [make_old_run(state=state, reason=MADE_UP).pk for state in ("waiting", "retrying")]
    for fields in ({"state": "waiting"}, {"state": "succeeded", "reason": MADE_UP}):
        make_old_run(**fields)

    runs = migrated(MADE_UP_RUNS).get_model("jobs", "Run").objects

    assert set(runs.filter(is_made_up=True).values_list("pk", flat=True)) == {waiting, retrying}


def test_migration_creates_holds_for_held_runs(make_old_run):
    held = {"state": "held", "held_by": "notice 1", "reason": "held by maintenance: Reboot of db-2"}
    before, recorded = make_old_run(**held), make_old_run(**held)
    recorded.holds.create(key="notice 1", reason=held["reason"], held_at=NOW)
    make_old_run(state="waiting")

    holds = migrated(MADE_UP_RUNS).get_model("jobs", "RunHold").objects

    present = {
        (before.pk, "notice 1", held["reason"], before.created_at, None),
        (recorded.pk, "notice 1", held["reason"], NOW, None),
    }
    assert set(holds.values_list("run", "key", "reason", "held_at", "released_at")) == present


PLAIN_NAMES = ("jobs", "0016_plain_names")


def test_renamed_fields_keep_their_values(restore_newest_migration):
    apps = migrated(MADE_UP_RUNS)
    subscription = apps.get_model("accounts", "Subscription").objects.create(name="default")
    run = apps.get_model("jobs", "Run").objects.create(
        subscription=subscription, fire_at=NOW, publish_after=NOW, state="held", held_by="notice 1"
    )
    attempt = run.attempts.create(number=1, started_at=NOW)
    secrets = Secrets({"address": "https://x.example/operations/1"})
    last_poll = NOW.replace(year=NOW.year + 1)
    fields = {"host": "x.example:443", "secrets": secrets, "poll_count": 2}
    apps.get_model("jobs", "Following").objects.create(
        run=run, attempt=attempt, by="status", since=NOW, until=last_poll, trouble_count=1, **fields
    )

    renamed = migrated(PLAIN_NAMES).get_model("jobs", "Run").objects.get()

    assert renamed.hold_key == "notice 1"
    operation = renamed.async_operation
    assert (operation.source, operation.started_at, operation.gives_up_at) == ("status", NOW, last_poll)
    assert (operation.failed_poll_count, operation.attempt_id) == (1, attempt.pk)
    assert {name: getattr(operation, name) for name in fields} == fields
    with connection.cursor() as cursor:
        indexes = connection.introspection.get_constraints(cursor, "jobs_run")
    assert indexes["run_held"]["columns"] == ["hold_key", "job_id"]
    renamed.subscription.delete()
