"""Secrets in the form of an action: since when they are set, and never shown."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from jobs.forms.fields import without_credentials, without_secrets
from jobs.models import Action, Job
from tests.admin.actions import BASIC, BUS, EVERY_KIND, HTTP, REQUEST, STORAGE, edit_of, stored
from tests.admin.forms import submitted


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


KEYED = {
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


def test_a_form_that_nobody_touched_keeps_keys_and_marks(browser, make_job):
    job = make_job(action=KEYED)
    before = stored()

    page = browser.get(edit_of(job)).text
    browser.post(edit_of(job), submitted(page, "job_form") | {"overlap": ["allow"]})

    assert Job.objects.get().overlap == "allow"
    assert (stored().pk, stored().secrets) == (before.pk, before.secrets)
    assert "https://example.com/x?code=********&amp;who=********" in page
    assert "https://example.com/?sig=********" in page


def test_beside_the_address_stands_since_when_its_keys_are_set(browser, make_job):
    job = make_job(action=KEYED)
    Action.objects.update(secrets_set_at={"request.query.code": "2025-10-03T08:00:00+00:00"})

    assert "******** keeps what is stored: code set on 3 October 2025." in browser.get(edit_of(job)).text
    assert "Parameter code" in browser.get(f"/admin/jobs/job/{job.pk}/").text


def test_the_name_of_a_key_is_shown_as_text(browser, make_job):
    request = {"uri": "https://x.example/?<b>token=abcdefgh", "method": "GET"}
    job = make_job(action={"type": "Https", "request": request})

    page = browser.get(edit_of(job)).text

    assert "&lt;b&gt;token set" in page
    assert "<b>token" not in page


def test_marks_are_written_in_the_form(post):
    answer = post(
        **HTTP | {"uri": "https://example.com/x?who=amber-lantern", "headers": "X-Foo: copper-meadow\r\nX-Tag: a"},
        secret_query="who",
        secret_headers="x-foo",
    )

    assert answer.status_code == 302, answer.context["form"].errors
    assert stored().document["request"]["uri"] == "https://example.com/x?who=********"
    assert stored().document["request"]["headers"] == {"X-Foo": "********", "X-Tag": "a"}
    assert stored().secrets == {"request.query.who": "amber-lantern", "request.headers.x-foo": "copper-meadow"}


def test_a_mark_that_is_taken_away_needs_the_value_again(browser, post, make_job):
    job = make_job(action=KEYED)
    fields = submitted(browser.get(edit_of(job)).text, "job_form") | {"secret_headers": [""]}

    refused = browser.post(edit_of(job), fields)
    assert "headers" in refused.context["form"].errors
    browser.post(edit_of(job), fields | {"headers": ["X-Foo: public"]})

    assert stored().document["request"]["headers"] == {"X-Foo": "public"}
    assert "secretHeaders" not in stored().document["request"]


@pytest.mark.parametrize(
    "field, text", [("secret_headers", "X-Fooo"), ("secret_query", "whoo"), ("secret_headers", "a/b")]
)
def test_wrong_marks_are_refused_beside_their_field(post, field, text):
    assert field in post(**HTTP | {"headers": "X-Foo: a"}, **{field: text}).context["form"].errors


def test_the_page_of_a_run_shows_the_address_masked(browser, make_job, make_run):
    page = browser.get(f"/admin/jobs/run/{make_run(make_job(action=KEYED)).pk}/change/").text

    assert "POST /x?code=********&amp;who=********" in page
    assert "X-Foo: ********" in page


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
