"""Keys in URIs and secret headers through the APIs: masked, sent back, with warnings, and rotated."""

import json
from copy import deepcopy

import pytest
from django.core.management import call_command
from django.utils import timezone

from jobs.call_test import Part, run_call_test
from jobs.models import Action, Job
from jobs.warnings import warnings_of
from scheduler_site.keys import new_encryption_key
from tests.conftest import NOW
from tests.jobs.arm_client import ArmClient
from tests.peers.server import Answer

KEYED = {
    "type": "Https",
    "request": {
        "uri": "https://example.com/hook?code=violet-harbour&who=amber-lantern&page=1",
        "method": "POST",
        "headers": {"X-Foo": "copper-meadow", "X-Passwd": "silver-canyon", "X-Tag": "a"},
        "secretHeaders": ["X-Foo"],
        "secretQuery": ["who"],
    },
    "errorAction": {"type": "Https", "request": {"uri": "https://example.com/?sig=ivory-forest", "method": "POST"}},
}
SECRETS = {
    "request.query.code": "violet-harbour",
    "request.query.who": "amber-lantern",
    "request.headers.x-foo": "copper-meadow",
    "request.headers.x-passwd": "silver-canyon",
    "errorAction.request.query.sig": "ivory-forest",
}


def masked() -> dict:
    action = deepcopy(KEYED)
    action["request"]["uri"] = "https://example.com/hook?code=********&who=********&page=1"
    action["request"]["headers"] |= {"X-Foo": "********", "X-Passwd": "********"}
    action["errorAction"]["request"]["uri"] = "https://example.com/?sig=********"
    return action


@pytest.fixture
def arm(token, subscription):
    return ArmClient(token)


def test_own_api_returns_masks_and_accepts_them(api, collection):
    created = api.post("/api/jobs", {"collection": collection.pk, "name": "backup", "action": KEYED})
    address = created["Location"]

    assert created.status_code == 201, created.content
    assert created.json()["action"] == masked()
    assert set(created.json()["secretsSetAt"]) == set(SECRETS)
    again = api.put(address, {"action": created.json()["action"]})
    assert (again.status_code, again.json()["revision"]) == (200, 1)
    patched = api.patch(address, {"action": {"request": {"headers": {"X-Tag": "b"}}}})
    assert patched.status_code == 200
    assert api.patch(address, {"action": {"request": {"headers": {"X-Foo": None}}}}).status_code == 200
    assert Job.objects.get().action.secrets == {
        path: text for path, text in SECRETS.items() if path != "request.headers.x-foo"
    }


def test_azure_contract_returns_masks_and_accepts_them(arm, collection):
    created = arm.put(arm.job(), {"properties": {"action": KEYED, "state": "Disabled"}})

    assert created.status_code == 201, created.content
    document = arm.get(arm.job()).json()
    assert document["properties"]["action"] == masked()
    assert arm.put(arm.job(), {"properties": document["properties"]}).status_code == 200
    assert Job.objects.get().action.secrets == SECRETS


def test_azure_client_that_drops_our_members_preserves_the_secrets(arm, collection):
    arm.put(arm.job(), {"properties": {"action": KEYED, "state": "Disabled"}})
    properties = arm.get(arm.job()).json()["properties"]
    del properties["action"]["request"]["secretHeaders"], properties["action"]["request"]["secretQuery"]

    assert arm.put(arm.job(), {"properties": properties}).status_code == 200
    assert Job.objects.get().action.secrets == SECRETS
    assert arm.get(arm.job()).json()["properties"]["action"] == masked()


def test_key_is_required_again_for_another_host(arm, collection):
    arm.put(arm.job(), {"properties": {"action": KEYED, "state": "Disabled"}})
    uri = "https://elsewhere.example/?code=********"

    refused = arm.patch(arm.job(), {"properties": {"action": {"request": {"uri": uri}}}})

    assert refused.status_code == 400
    assert "properties.action.request.uri" in json.dumps(refused.json())


def test_test_call_sends_the_keys_and_shows_masks(make_job, target, settings):
    settings.EGRESS_ALLOW = ["127.0.0.0/8"]
    path = "/hook?code=violet%2Dharbour&who=amber-lantern"
    target.answers[path] = [Answer(body=f"no {path} and no violet-harbour")]
    request = {"uri": target.url + path, "method": "GET", "secretQuery": ["who"]}
    job = make_job(action={"type": "Http", "request": request})

    tested = run_call_test(job, Part.ACTION, NOW)

    assert target.calls[0].path == path
    assert tested.request["uri"] == f"{target.url}/hook?code=********&who=********"
    assert tested.result.body == "no /hook?code=********&who=******** and no ********"


def test_keys_over_plain_http_have_a_warning_with_their_names():
    request = {"uri": "http://example.com/?code=********&page=1&who=********", "method": "GET", "secretQuery": ["who"]}

    (warning,) = warnings_of({"type": "Http", "request": request}, NOW)

    assert (warning.code, warning.target) == ("credentials_over_http", "action.request.uri")
    assert "(code, who)" in warning.message


def test_keys_of_uris_are_rotated(make_job, settings):
    make_job(action=KEYED)
    settings.ENCRYPTION_KEYS = [new_encryption_key(), *settings.ENCRYPTION_KEYS]

    call_command("rotate_encryption_keys", verbosity=0)

    settings.ENCRYPTION_KEYS = settings.ENCRYPTION_KEYS[:1]
    assert Action.objects.get().secrets == SECRETS


def test_only_a_new_key_gets_a_new_date(api, collection):
    address = api.post("/api/jobs", {"collection": collection.pk, "name": "backup", "action": KEYED})["Location"]
    Action.objects.update(secrets_set_at=dict.fromkeys(SECRETS, "2025-10-03T08:00:00Z"))
    uri = "https://example.com/hook?code=indigo-harbour&who=********"

    api.patch(address, {"action": {"request": {"uri": uri}}})

    set_at = Job.objects.get().action.secrets_set_at
    new = {path for path, text in set_at.items() if text != "2025-10-03T08:00:00Z"}
    assert new == {"request.query.code"}
    assert set_at["request.query.code"] > f"{timezone.now():%Y}"
