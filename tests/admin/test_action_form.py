"""The action as fields: each type to its document and back, nothing lost, refusals at their fields."""

import base64
import json
from datetime import UTC, datetime

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from jobs.forms.action_values import action_fields_can_express, merge_action
from jobs.forms.fields import ScalarField
from jobs.models import Job
from tests.admin.actions import BEYOND, BUS, EVERY_KIND, HTTP, REQUEST, STORAGE, edit_of, stored
from tests.admin.forms import submitted

# Round trips


@pytest.mark.parametrize("action", [*EVERY_KIND.values(), *BEYOND.values()], ids=[*EVERY_KIND, *BEYOND])
def test_opening_and_saving_changes_nothing(browser, make_job, action):
    job = make_job(action=action)
    before = stored()

    page = browser.get(edit_of(job)).text
    answer = browser.post(edit_of(job), submitted(page, "job_form"))

    after = stored()
    assert answer.status_code == 302
    assert after.pk == before.pk
    assert (after.document, after.secrets) == (before.document, before.secrets)
    assert Job.objects.get().triggers.get().definition == job.triggers.get().definition


def test_a_certificate_is_described_and_stays(browser, make_job, authority):
    certificate = authority.client(expires_at=datetime(2031, 2, 3, tzinfo=UTC))
    proof = {"type": "ClientCertificate", "pfx": certificate.pfx, "password": certificate.password}
    job = make_job(action={"type": "Http", "request": {**REQUEST, "authentication": proof}})
    before = stored()

    page = browser.get(edit_of(job)).text
    browser.post(edit_of(job), {**submitted(page, "job_form"), "method": "PUT"})

    assert certificate.thumbprint in page
    assert "3 February 2031" in page
    assert stored().document["request"]["method"] == "PUT"
    assert stored().secrets == before.secrets


@pytest.mark.parametrize("action", EVERY_KIND.values(), ids=EVERY_KIND)
def test_every_kind_opens_in_fields(browser, make_job, action):
    assert browser.get(edit_of(make_job(action=action))).context["form"].mode("what") == "fields"


@pytest.mark.parametrize("action", BEYOND.values(), ids=BEYOND)
def test_what_a_line_cannot_hold_opens_as_json(browser, make_job, action):
    assert browser.get(edit_of(make_job(action=action))).context["form"].mode("what") == "json"


@pytest.mark.parametrize("name", [name for name in EVERY_KIND if name != "plain"])
def test_changing_one_member_leaves_the_others_as_they_are(browser, make_job, name):
    job = make_job(action=EVERY_KIND[name])
    before = stored()

    page = browser.get(edit_of(job)).text
    browser.post(edit_of(job), {**submitted(page, "job_form"), "error_action": "https://other.example/"})

    expected = {"type": "Https", "request": {"uri": "https://other.example/", "method": "POST"}}
    assert stored().document == {**before.document, "errorAction": expected}
    kept = {path: text for path, text in before.secrets.items() if not path.startswith("errorAction")}
    assert stored().secrets == kept


def test_members_that_no_field_knows_are_kept():
    document = {"type": "Http", "request": {**REQUEST, "timeout": "PT1M"}, "retryPolicy": {"retryCount": 2}}

    changed = merge_action(document, {"type": "Http", "retry": "Fixed", "method": "PUT"}, {"method"})

    assert changed["request"] == {**REQUEST, "timeout": "PT1M", "method": "PUT"}
    assert changed["retryPolicy"] == {"retryCount": 2}


@pytest.mark.parametrize(
    "document",
    [
        {"type": "Carrier"},
        {"type": "Http", "request": "https://example.com/"},
        {"type": "Http", "request": {"headers": ["a"]}},
        {"type": "Http", "request": {"method": "BREW"}},
        {"type": "Http", "request": {"success": {"bodyValue": {"a": 1}}}},
        {"type": "Http", "request": {"authentication": {"type": "Digest"}}},
        {"type": "Http", "request": {"authentication": {"type": "Basic", "tenant": "x"}}},
        {"type": "Http", "request": {"timeout": "PT1M"}},
        {"type": "Http", "retryPolicy": {"retryType": "Sometimes"}},
        {"type": "Http", "errorAction": "https://example.com/"},
        {"type": "StorageQueue", "request": {"uri": "https://example.com/"}},
        {"type": "ServiceBusQueue", "serviceBusTopicMessage": {"namespace": "orders"}},
        {"type": "ServiceBusQueue", "serviceBusQueueMessage": {"brokeredMessageProperties": {"timeToLive": 5}}},
        {
            "type": "ServiceBusQueue",
            "serviceBusQueueMessage": {"brokeredMessageProperties": {"scheduledEnqueueTimeUtc": "soon"}},
        },
    ],
)
def test_an_unchecked_document_that_fields_would_lose_something_of_stays_json(post, document):
    answer = post(_switch="what:fields", what="json", action_json=json.dumps(document))

    assert answer.context["form"].mode("what") == "json"
    assert not action_fields_can_express(document)


@pytest.mark.parametrize("value", ["done", "", " a ", "5", "true", "null", '"', "[1]", "NaN", 5, -1.5, True, False])
def test_a_scalar_is_read_as_it_was_written(value):
    read = ScalarField(required=False, strip=False).clean(ScalarField.write(value))

    assert (read, type(read)) == (value, type(value))


# From fields


def test_an_http_request_with_everything(post):
    post(
        **HTTP,
        headers="Accept: text/plain",
        body="one\r\ntwo {{ attempt }}",
        template="on",
        follow_redirects="on",
        follow="on",
        follow_limit="02:00:00",
        authentication="ActiveDirectoryOAuth",
        tenant="contoso.example",
        client_id="client-1",
        client_secret="clientsecret",
        audience="https://api.example/",
        status_codes="200, 202-204",
        body_contains="ready",
        body_path="$.state",
        body_value="3",
        retry="Exponential",
        retry_interval="PT30S",
        retry_most="PT1H",
        retry_count="5",
    )

    assert stored().document == {
        "type": "Http",
        "template": True,
        "follow": True,
        "followLimit": "02:00:00",
        "request": {
            "uri": "https://example.com/x",
            "method": "POST",
            "headers": {"Accept": "text/plain"},
            "body": "one\ntwo {{ attempt }}",
            "followRedirects": True,
            "success": {
                "statusCodes": [200, "202-204"],
                "bodyContains": "ready",
                "bodyPath": "$.state",
                "bodyValue": 3,
            },
            "authentication": {
                "type": "ActiveDirectoryOAuth",
                "tenant": "contoso.example",
                "clientId": "client-1",
                "audience": "https://api.example/",
            },
        },
        "retryPolicy": {
            "retryType": "Exponential",
            "retryInterval": "PT30S",
            "retryCount": 5,
            "maximumRetryInterval": "PT1H",
        },
    }
    assert stored().secrets == {"request.authentication.secret": "clientsecret"}


@pytest.mark.parametrize("way", ["file", "text"])
def test_a_client_certificate_is_uploaded_or_pasted(post, authority, way):
    certificate = authority.client()
    sent = {"pfx": certificate.pfx}
    if way == "file":
        sent = {"pfx_file": SimpleUploadedFile("job.pfx", base64.b64decode(certificate.pfx))}

    post(**HTTP, authentication="ClientCertificate", pfx_password=certificate.password, **sent)

    assert stored().document["request"]["authentication"]["certificateThumbprint"] == certificate.thumbprint
    assert stored().secrets == {
        "request.authentication.pfx": certificate.pfx,
        "request.authentication.password": certificate.password,
    }


def test_an_authority_of_the_jobs_own_is_kept(post, authority):
    post(**HTTP, certificate_authority=authority.pem.replace("\n", "\r\n"))

    assert stored().document["request"]["certificateAuthority"].splitlines() == authority.pem.splitlines()


def test_a_storage_queue(post):
    post(**STORAGE, message_format="Xml", message_encoding="Base64")

    assert stored().document == {
        "type": "StorageQueue",
        "queueMessage": {
            "storageAccount": "account1",
            "queueName": "mail",
            "message": "hello",
            "messageFormat": "Xml",
            "messageEncoding": "Base64",
        },
    }
    assert stored().secrets == {"queueMessage.sasToken": "?sv=1&sig=topsecret"}


@pytest.mark.parametrize(
    "kind, target, member, name",
    [
        ("ServiceBusQueue", {"bus_queue": "incoming"}, "serviceBusQueueMessage", "queueName"),
        ("ServiceBusTopic", {"bus_topic": "incoming"}, "serviceBusTopicMessage", "topicPath"),
    ],
)
def test_a_service_bus_message(post, kind, target, member, name):
    post(
        **BUS | {"type": kind, "bus_queue": "", **target},
        content_type="text/plain",
        time_to_live="PT1H",
        enqueue_at="2030-01-01T08:00",
        label="orders",
        force_persistence="false",
        custom_properties="kind: order\r\ncount: 2",
    )

    assert stored().document == {
        "type": kind,
        member: {
            "namespace": "orders",
            name: "incoming",
            "message": "hello",
            "authentication": {"type": "SharedAccessKey", "sasKeyName": "sender"},
            "customMessageProperties": {"kind": "order", "count": "2"},
            "brokeredMessageProperties": {
                "contentType": "text/plain",
                "label": "orders",
                "forcePersistence": False,
                "scheduledEnqueueTimeUtc": "2030-01-01T08:00:00Z",
                "timeToLive": "PT1H",
            },
        },
    }


@pytest.mark.parametrize(
    "fields",
    [
        HTTP | {"username": "ada", "password": "opensesame", "storage_account": "NO", "retry_count": "x"},
        HTTP | {"authentication": "", "pfx": "%%", "enqueue_at": "never", "custom_properties": "no colon"},
        HTTP | {"retry": "None", "retry_interval": "never", "transport": "carrier pigeon"},
    ],
)
def test_only_the_fields_of_the_choices_count(post, fields):
    post(**fields)

    assert set(stored().document) <= {"type", "request", "retryPolicy"}
    assert stored().document["request"] == REQUEST
    assert stored().secrets == {}


def test_another_type_leaves_nothing_of_the_one_before(browser, make_job):
    job = make_job(action={**EVERY_KIND["basic"], **EVERY_KIND["follow"], "retryPolicy": {"retryType": "None"}})

    page = browser.get(edit_of(job)).text
    browser.post(edit_of(job), {**submitted(page, "job_form"), **STORAGE})

    assert set(stored().document) == {"type", "queueMessage", "retryPolicy"}
    assert set(stored().secrets) == {"queueMessage.sasToken"}


def test_no_authentication_any_more_removes_the_secret(browser, make_job):
    job = make_job(action=EVERY_KIND["basic"])

    page = browser.get(edit_of(job)).text
    browser.post(edit_of(job), {**submitted(page, "job_form"), "authentication": ""})

    assert "authentication" not in stored().document["request"]
    assert stored().secrets == {}


@pytest.mark.parametrize(
    "fields, place, says",
    [
        (HTTP | {"authentication": "Basic", "password": "opensesame"}, "username", "Is required"),
        (HTTP | {"authentication": "ActiveDirectoryOAuth", "tenant": "a b"}, "tenant", "a domain name"),
        (HTTP | {"authentication": "ActiveDirectoryOAuth", "tenant": "a", "client_id": "b"}, "client_secret", "Is req"),
        (HTTP | {"authentication": "ClientCertificate"}, "pfx_file", "Is required"),
        (HTTP | {"authentication": "ClientCertificate", "pfx": "MAAwMAAwMAAw"}, "pfx", "PFX"),
        (HTTP | {"certificate_authority": "no certificate"}, "certificate_authority", "PEM"),
        (HTTP | {"status_codes": "600"}, "status_codes", "600"),
        (HTTP | {"status_codes": "some"}, "status_codes", "some"),
        (HTTP | {"body_path": "$..state"}, "body_path", "path"),
        (HTTP | {"body_value": "done"}, "body_path", "Is required"),
        (HTTP | {"body_path": "$.a", "body_value": "[1]"}, "body_value", "Write one text"),
        (HTTP | {"template": "on", "body": "{{ now }}"}, "body", "now"),
        (HTTP | {"retry": "Exponential", "retry_most": "1 day"}, "retry_most", "1 day"),
        (HTTP | {"retry": "Fixed", "retry_count": "1 2"}, "retry_count", "Write one number"),
        (STORAGE | {"storage_account": "NO"}, "storage_account", "lower case"),
        (STORAGE | {"sas_token": ""}, "sas_token", "Is required"),
        (STORAGE | {"queue_message": ""}, "queue_message", "Is required"),
        (BUS | {"namespace": ""}, "namespace", "Is required"),
        (BUS | {"bus_queue": "a b"}, "bus_queue", "path"),
        (BUS | {"type": "ServiceBusTopic"}, "bus_topic", "Is required"),
        (BUS | {"sas_key_name": ""}, "sas_key_name", "Is required"),
        (BUS | {"sas_key": ""}, "sas_key", "Is required"),
        (BUS | {"time_to_live": "long"}, "time_to_live", "long"),
        (BUS | {"enqueue_at": "soon"}, "enqueue_at", "Write a moment"),
        (BUS | {"custom_properties": "a: 1\na: 2"}, "custom_properties", "twice"),
    ],
)
def test_a_refused_member_is_said_at_its_field(post, fields, place, says):
    answer = post(**fields)

    assert not Job.objects.exists()
    errors = answer.context["form"].errors
    assert list(errors) == [place]
    assert says in errors[place][0]
    assert f'id="id_{place}_error"' in answer.text


def test_a_file_that_is_too_large_is_not_read(post):
    answer = post(**HTTP, authentication="ClientCertificate", pfx_file=SimpleUploadedFile("job.pfx", bytes(20_000)))

    assert "20,000 bytes" in answer.context["form"].errors["pfx_file"][0]


def test_either_a_file_or_its_text(post, authority):
    certificate = authority.client()
    file = SimpleUploadedFile("job.pfx", base64.b64decode(certificate.pfx))

    answer = post(**HTTP, authentication="ClientCertificate", pfx_file=file, pfx=certificate.pfx)

    assert list(answer.context["form"].errors) == ["pfx"]
