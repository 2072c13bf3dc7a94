"""A collection that is being deleted refuses all writes, from each API and page."""

import json
import re

import pytest
from django.contrib.admin.models import LogEntry

from jobs.models import Action, Job, JobCollection, Run, SigningSecret
from maintenance.models import JobMaintenancePolicy
from tests.conftest import ACTION
from tests.jobs.arm_client import ArmClient
from triggers.models import Trigger

SCHEDULE = {"format": "once", "at": "2030-01-01T00:00:00Z"}
MINT = "MINT.SUITE@@@management-server@@@DEFAULT"
MINT_ID = f"{MINT}@@@management-server@@@DEFAULT"
MODELS = (JobCollection, Job, Action, Trigger, SigningSecret, JobMaintenancePolicy, Run, LogEntry)


@pytest.fixture
def ids(collection, make_job, make_trigger):
    """The values of placeholders in addresses and bodies."""
    job = make_job()
    make_trigger(job, MINT)
    return {"collection": collection.pk, "job": job.pk, "trigger": make_trigger(job).pk, "mint": MINT_ID}


@pytest.fixture
def rows_before(arm, ids):
    assert arm.delete(arm.collection()).status_code == 202
    return load_rows()


def load_rows() -> list:
    return [list(model.objects.order_by("pk").values()) for model in MODELS]


@pytest.mark.parametrize(
    "method, address, body",
    [
        ("PUT", "/api/collections/{collection}", {}),
        ("PATCH", "/api/collections/{collection}", {"tags": {}}),
        ("POST", "/api/collections/{collection}/enable", None),
        ("POST", "/api/collections/{collection}/disable", None),
        ("POST", "/api/jobs", {"collection": "{collection}", "name": "new", "action": ACTION}),
        ("PUT", "/api/jobs/{job}", {"action": ACTION}),
        ("PATCH", "/api/jobs/{job}", {"state": "disabled"}),
        ("DELETE", "/api/jobs/{job}", None),
        ("POST", "/api/jobs/{job}/run", None),
        ("POST", "/api/jobs/{job}/pause", None),
        ("POST", "/api/jobs/{job}/resume", None),
        ("POST", "/api/jobs/{job}/signing-secret", None),
        ("DELETE", "/api/jobs/{job}/signing-secret", None),
        ("PUT", "/api/jobs/{job}/maintenance", {"resources": ["db-1"], "during": "hold"}),
        ("DELETE", "/api/jobs/{job}/maintenance", None),
        ("POST", "/api/triggers", {"job": "{job}", "name": "new", "schedule": SCHEDULE}),
        ("PUT", "/api/triggers/{trigger}", {"schedule": SCHEDULE}),
        ("PATCH", "/api/triggers/{trigger}", {"priority": 7}),
        ("DELETE", "/api/triggers/{trigger}", None),
        ("POST", "/api/triggers/{trigger}/enable", None),
        ("POST", "/api/triggers/{trigger}/disable", None),
        ("PUT", "/v1/mint/triggers/{mint}", {"id": MINT_ID, "cronExpression": "0 0 5 * * ?"}),
    ],
)
def test_rest_apis_refuse_writes_during_a_deletion(api, ids, rows_before, method, address, body):
    body = {name: ids.get(str(value).strip("{}"), value) for name, value in (body or {}).items()}

    refused = api.generic(method, address.format(**ids), json.dumps(body), content_type="application/json")

    assert refused.status_code == 409, refused.content
    assert load_rows() == rows_before


@pytest.mark.parametrize(
    "method, path, body",
    [
        ("PUT", "", {}),
        ("PATCH", "", {"tags": {}}),
        ("POST", "/enable", None),
        ("POST", "/disable", None),
        ("PUT", "/jobs/new", {"properties": {"action": ACTION}}),
        ("PUT", "/jobs/backup", {"properties": {"action": ACTION}}),
        ("PATCH", "/jobs/backup", {"properties": {"state": "Disabled"}}),
        ("DELETE", "/jobs/backup", None),
        ("POST", "/jobs/backup/run", None),
    ],
)
def test_resource_manager_api_refuses_writes_during_a_deletion(arm: ArmClient, rows_before, method, path, body):
    refused = arm.call(method, arm.collection() + path, body)

    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "ConflictError")
    assert "Retry-After" not in refused  # a later request would fail, too
    assert load_rows() == rows_before


@pytest.mark.parametrize(
    "address, form",
    [
        ("/admin/jobs/job/{job}/run/", {}),
        ("/admin/jobs/job/{job}/state/", {"state": "disabled"}),
        ("/admin/jobs/job/{job}/signing/", {"order": "new", "overlap": "0"}),
        ("/admin/jobs/job/{job}/signing/", {"order": "remove"}),
        ("/admin/jobs/job/{job}/delete/", {"post": "yes"}),
        ("/admin/jobs/job/", {"action": "delete_selected", "_selected_action": "{job}", "post": "yes"}),
        ("/admin/triggers/trigger/{trigger}/state/", {"enabled": "no"}),
        ("/admin/triggers/trigger/{trigger}/delete/", {"post": "yes"}),
        ("/maintenance/jobs/{job}", {"labels": "rack=r7", "during": "hold", "after": "run_once", "lead": "0"}),
    ],
)
def test_pages_refuse_writes_during_a_deletion(client, owner, ids, rows_before, address, form):
    client.force_login(owner)

    page = client.post(address.format(**ids), {name: text.format(**ids) for name, text in form.items()}, follow=True)

    assert page.status_code == 200
    assert re.search("is being deleted|is deleted: its jobs cannot be run", page.text)
    assert load_rows() == rows_before
