"""Secrets in the form of an action: the time at which they were set is shown, but never the values."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from jobs.forms.fields import without_credentials, without_secrets
from jobs.models import Action, Job
from tests.admin.actions import ALL_KINDS, BASIC, BUS, HTTP, REQUEST, STORAGE, edit_url, load_action
from tests.admin.forms import submitted


@pytest.mark.parametrize(
    "action, field",
    [
        (ALL_KINDS["basic"], "password"),
        (ALL_KINDS["oauth"], "client_secret"),
        (ALL_KINDS["storage"], "sas_token"),
        (ALL_KINDS["bus queue"], "sas_key"),
    ],
)
def test_secret_field_shows_when_the_secret_was_set(browser, make_job, action, field):
    job = make_job(action=action)
    path = next(iter(job.action.secrets))
    Action.objects.update(secrets_set_at={path: "2025-10-03T08:00:00+00:00"})

    page = browser.get(edit_url(job)).text

    assert f'id="id_{field}_helptext">Set on 3 October 2025. Leave empty to keep it.<' in page


def test_headers_field_shows_when_credentials_were_set(browser, make_job):
    job = make_job(action=ALL_KINDS["headers"])
    Action.objects.update(secrets_set_at={"request.headers.authorization": "2025-10-03T08:00:00+00:00"})

    assert "******** keeps the stored value: authorization set on 3 October 2025." in browser.get(edit_url(job)).text


WITH_SECRETS = [
    HTTP | {"authentication": "Basic", "username": "ada", "password": "opensesame"},
    HTTP | {"authentication": "ClientCertificate", "pfx": "b3BlbnNlc2FtZQ==opensesame", "pfx_password": "opensesame"},
    HTTP | {"authentication": "ActiveDirectoryOAuth", "tenant": "a", "client_id": "b", "client_secret": "opensesame"},
    HTTP | {"headers": "Accept: a\r\nauthorization: Bearer opensesame\r\nX-Api-Key:opensesame"},
    HTTP | {"headers": "X-Foo: opensesame\r\nX-Tag: a", "secret_headers": "X-Bar, x-foo"},
    HTTP | {"uri": "https://example.com/x?page=1&code=opensesame"},
    HTTP | {"uri": "https://example.com/x?who=opensesame", "secret_query": "who"},
    HTTP | {"error_action": "https://example.com/?sig=opensesame"},
    HTTP | {"error_action": '{"request": {"uri": "https://example.com/?sig=opensesame'},
    HTTP | {"error_action": '{"request": {"secretQuery": ["who"], "uri": "https://example.com/?who=opensesame'},
    HTTP | {"error_action": json.dumps({"type": "Http", "request": {**REQUEST, "authentication": BASIC}})},
    HTTP | {"error_action": '{"request": {"authentication": {"password": "opensesame'},
    HTTP | {"error_action": '{"a": {"password" : "open\\"opensesame", "x"}}'},
    STORAGE | {"sas_token": "opensesame"},
    BUS | {"sas_key": "opensesame"},
    {"what": "json", "action_json": json.dumps({"type": "Http", "request": {**REQUEST, "authentication": BASIC}})},
    {"what": "json", "action_json": '{"request": {"headers": {"Authorization": "opensesame"}}'},
    {"what": "json", "action_json": json.dumps({"request": {"uri": "https://example.com/?key=opensesame"}})},
    {
        "what": "json",
        "action_json": json.dumps(
            {"request": {"uri": "/?who=opensesame", "secretQuery": ["who"], "headers": {"X-Foo": "opensesame"}}}
            | {"errorAction": {"request": {"headers": {"X-Foo": "opensesame"}, "secretHeaders": ["x-foo"]}}}
        ).replace('"X-Foo": "opensesame"', '"X-Foo": "a"', 1),
    },
    {"what": "json", "action_json": '{"request": {"secretHeaders": ["X-Foo"], "headers": {"X-Foo": "opensesame"}'},
]


@pytest.mark.parametrize("fields", WITH_SECRETS)
@pytest.mark.parametrize("button", [{"interval": "0"}, {"_preview": "1"}, {"_use": "interval:2"}])
def test_entered_secret_is_not_sent_back_to_the_page(post, fields, button):
    response = post(**fields, **button)

    assert not Job.objects.exists()
    assert "opensesame" not in response.text
    assert "Enter these again" in response.text


@pytest.mark.parametrize("fields", [fields for fields in WITH_SECRETS if "what" not in fields])
def test_switching_to_json_does_not_show_secrets_of_fields(post, fields):
    assert "opensesame" not in post(**fields, _switch="what:json").text


MARKED = {
    "type": "Http",
    "request": {
        "uri": "https://example.com/x?code=opensesame&who=amber-lantern",
        "method": "POST",
        "headers": {"X-Foo": "copper-meadow"},
        "secretHeaders": ["X-Foo"],
        "secretQuery": ["who"],
    },
    "errorAction": {"type": "Https", "request": {"uri": "https://example.com/?sig=ivory-forest", "method": "POST"}},
}


def test_unchanged_form_keeps_secrets_and_secret_marks(browser, make_job):
    job = make_job(action=MARKED)
    before = load_action()

    page = browser.get(edit_url(job)).text
    browser.post(edit_url(job), submitted(page, "job_form") | {"overlap": ["allow"]})

    assert Job.objects.get().overlap == "allow"
    assert (load_action().pk, load_action().secrets) == (before.pk, before.secrets)
    assert "https://example.com/x?code=********&amp;who=********" in page
    assert "https://example.com/?sig=********" in page


def test_uri_field_shows_when_its_secrets_were_set(browser, make_job):
    job = make_job(action=MARKED)
    Action.objects.update(secrets_set_at={"request.query.code": "2025-10-03T08:00:00+00:00"})

    assert "******** keeps the stored value: code set on 3 October 2025." in browser.get(edit_url(job)).text
    assert "Parameter code" in browser.get(f"/admin/jobs/job/{job.pk}/").text


def test_name_of_a_secret_parameter_is_escaped(browser, make_job):
    request = {"uri": "https://x.example/?<b>token=abcdefgh", "method": "GET"}
    job = make_job(action={"type": "Https", "request": request})

    page = browser.get(edit_url(job)).text

    assert "&lt;b&gt;token set" in page
    assert "<b>token" not in page


def test_secret_marks_are_stored(post):
    response = post(
        **HTTP | {"uri": "https://example.com/x?who=amber-lantern", "headers": "X-Foo: copper-meadow\r\nX-Tag: a"},
        secret_query="who",
        secret_headers="x-foo",
    )

    assert response.status_code == 302, response.context["form"].errors
    assert load_action().document["request"]["uri"] == "https://example.com/x?who=********"
    assert load_action().document["request"]["headers"] == {"X-Foo": "********", "X-Tag": "a"}
    assert load_action().secrets == {"request.query.who": "amber-lantern", "request.headers.x-foo": "copper-meadow"}


def test_removed_secret_mark_requires_the_value_again(browser, post, make_job):
    job = make_job(action=MARKED)
    fields = submitted(browser.get(edit_url(job)).text, "job_form") | {"secret_headers": [""]}

    refused = browser.post(edit_url(job), fields)
    assert "headers" in refused.context["form"].errors
    browser.post(edit_url(job), fields | {"headers": ["X-Foo: public"]})

    assert load_action().document["request"]["headers"] == {"X-Foo": "public"}
    assert "secretHeaders" not in load_action().document["request"]


@pytest.mark.parametrize(
    "field, text", [("secret_headers", "X-Fooo"), ("secret_query", "whoo"), ("secret_headers", "a/b")]
)
def test_error_of_a_secret_mark_is_shown_at_its_field(post, field, text):
    assert field in post(**HTTP | {"headers": "X-Foo: a"}, **{field: text}).context["form"].errors


def test_run_page_masks_secrets_of_the_uri_and_headers(browser, make_job, make_run):
    page = browser.get(f"/admin/jobs/run/{make_run(make_job(action=MARKED)).pk}/change/").text

    assert "POST /x?code=********&amp;who=********" in page
    assert "X-Foo: ********" in page


def test_refused_credential_is_not_sent_back(post):
    response = post(**HTTP, headers="Authorization: Bearer open\u00fcsesame")

    assert "headers" in response.context["form"].errors
    assert "sesame" not in response.text


def test_only_secrets_are_masked():
    text = json.dumps({"serviceBusQueueMessage": {"customMessageProperties": {"token": "x", "password": "y"}}})

    assert without_secrets(text) == text
    assert without_credentials("Cookie: a=b\nX-Tag: token") == "Cookie: ********\nX-Tag: token"


def test_form_shows_when_the_certificate_expires(browser, make_job, authority):
    certificate = authority.client(expires_at=datetime.now(UTC) + timedelta(days=5))
    authentication = {"type": "ClientCertificate", "pfx": certificate.pfx, "password": certificate.password}
    job = make_job(action={"type": "Http", "request": {**REQUEST, "authentication": authentication}})

    assert "in 4 days" in browser.get(edit_url(job)).text
