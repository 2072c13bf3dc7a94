"""Secrets in the form of an action: since when they are set, and never shown."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from jobs.models import Action, Job
from jobs.notations import without_credentials, without_secrets
from tests.admin.actions import BASIC, BUS, EVERY_KIND, HTTP, REQUEST, STORAGE, edit_of


@pytest.mark.parametrize(
    "action, field",
    [
        (EVERY_KIND["basic"], "password"),
        (EVERY_KIND["oauth"], "client_secret"),
        (EVERY_KIND["storage"], "sas_token"),
        (EVERY_KIND["bus queue"], "sas_key"),
    ],
)
def test_beside_a_secret_stands_since_when_it_is_set(browser, make_job, action, field):
    job = make_job(action=action)
    path = next(iter(job.action.secrets))
    Action.objects.update(secrets_set_at={path: "2025-10-03T08:00:00+00:00"})

    page = browser.get(edit_of(job)).text

    assert f'id="id_{field}_helptext">Set on 3 October 2025. Empty keeps it.<' in page


def test_the_credentials_among_the_headers_say_since_when(browser, make_job):
    job = make_job(action=EVERY_KIND["headers"])
    Action.objects.update(secrets_set_at={"request.headers.authorization": "2025-10-03T08:00:00+00:00"})

    assert "******** keeps what is stored: authorization set on 3 October 2025." in browser.get(edit_of(job)).text


WRITTEN = [
    HTTP | {"authentication": "Basic", "username": "ada", "password": "opensesame"},
    HTTP | {"authentication": "ClientCertificate", "pfx": "b3BlbnNlc2FtZQ==opensesame", "pfx_password": "opensesame"},
    HTTP | {"authentication": "ActiveDirectoryOAuth", "tenant": "a", "client_id": "b", "client_secret": "opensesame"},
    HTTP | {"headers": "Accept: a\r\nauthorization: Bearer opensesame\r\nX-Api-Key:opensesame"},
    HTTP | {"error_action": json.dumps({"type": "Http", "request": {**REQUEST, "authentication": BASIC}})},
    HTTP | {"error_action": '{"request": {"authentication": {"password": "opensesame'},
    HTTP | {"error_action": '{"a": {"password" : "open\\"opensesame", "x"}}'},
    STORAGE | {"sas_token": "opensesame"},
    BUS | {"sas_key": "opensesame"},
    {"what": "json", "action_json": json.dumps({"type": "Http", "request": {**REQUEST, "authentication": BASIC}})},
    {"what": "json", "action_json": '{"request": {"headers": {"Authorization": "opensesame"}}'},
]


@pytest.mark.parametrize("fields", WRITTEN)
@pytest.mark.parametrize("how", [{"interval": "0"}, {"_preview": "1"}, {"_switch": "when:json"}])
def test_a_written_secret_does_not_come_back_to_the_page(post, fields, how):
    answer = post(**fields, **how)

    assert not Job.objects.exists()
    assert "opensesame" not in answer.text
    assert "To be written again" in answer.text


@pytest.mark.parametrize("fields", [fields for fields in WRITTEN if "what" not in fields])
def test_switching_to_json_does_not_show_what_was_written_into_fields(post, fields):
    assert "opensesame" not in post(**fields, _switch="what:json").text


def test_a_refused_credential_is_not_repeated(post):
    answer = post(**HTTP, headers="Authorization: Bearer open\u00fcsesame")

    assert "headers" in answer.context["form"].errors
    assert "sesame" not in answer.text


def test_masks_stand_where_secrets_are_and_nowhere_else():
    text = json.dumps({"serviceBusQueueMessage": {"customMessageProperties": {"token": "x", "password": "y"}}})

    assert without_secrets(text) == text
    assert without_credentials("Cookie: a=b\nX-Tag: token") == "Cookie: ********\nX-Tag: token"


def test_the_certificate_shows_when_it_ends(browser, make_job, authority):
    certificate = authority.client(expires_at=datetime.now(UTC) + timedelta(days=5))
    proof = {"type": "ClientCertificate", "pfx": certificate.pfx, "password": certificate.password}
    job = make_job(action={"type": "Http", "request": {**REQUEST, "authentication": proof}})

    assert "in 4 days" in browser.get(edit_of(job)).text
