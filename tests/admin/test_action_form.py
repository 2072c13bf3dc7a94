"""The form of an action: fields are converted to documents and back without loss, and errors are at their fields."""

import base64
import json
from datetime import UTC, datetime

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from jobs.forms.action_fields import MEMBERS
from jobs.forms.action_values import action_fields_can_express, merge_action
from jobs.forms.fields import ScalarField
from jobs.models import Job
from tests.admin.actions import ADD, ALL_KINDS, BUS, HTTP, ONLY_AS_JSON, REQUEST, STORAGE, edit_url, load_action
from tests.admin.forms import submitted

# Round trips


@pytest.mark.parametrize("action", [*ALL_KINDS.values(), *ONLY_AS_JSON.values()], ids=[*ALL_KINDS, *ONLY_AS_JSON])
def test_saving_an_unchanged_action_form_changes_nothing(browser, make_job, action):
    job = make_job(action=action)
    before = load_action()

    page = browser.get(edit_url(job)).text
    response = browser.post(edit_url(job), submitted(page, "job_form"))

    after = load_action()
    assert response.status_code == 302
    assert after.pk == before.pk
    assert (after.document, after.secrets) == (before.document, before.secrets)
    assert Job.objects.get().triggers.get().definition == job.triggers.get().definition


def test_certificate_is_described_and_kept_on_saving(browser, make_job, authority):
    certificate = authority.client(expires_at=datetime(2031, 2, 3, tzinfo=UTC))
    authentication = {"type": "ClientCertificate", "pfx": certificate.pfx, "password": certificate.password}
    job = make_job(action={"type": "Http", "request": {**REQUEST, "authentication": authentication}})
    before = load_action()

    page = browser.get(edit_url(job)).text
    browser.post(edit_url(job), {**submitted(page, "job_form"), "method": "PUT"})

    assert certificate.thumbprint in page
    assert "3 February 2031" in page
    assert load_action().document["request"]["method"] == "PUT"
    assert load_action().secrets == before.secrets


@pytest.mark.parametrize("action", ALL_KINDS.values(), ids=ALL_KINDS)
def test_each_action_kind_is_shown_as_fields(browser, make_job, action):
    assert browser.get(edit_url(make_job(action=action))).context["form"].what_mode == "fields"


@pytest.mark.parametrize("action", ONLY_AS_JSON.values(), ids=ONLY_AS_JSON)
def test_action_that_fields_cannot_express_is_shown_as_json(browser, make_job, action):
    assert browser.get(edit_url(make_job(action=action))).context["form"].what_mode == "json"


@pytest.mark.parametrize("name", [name for name in ALL_KINDS if name != "plain"])
def test_changing_one_member_of_an_action_keeps_the_others(browser, make_job, name):
    job = make_job(action=ALL_KINDS[name])
    before = load_action()

    page = browser.get(edit_url(job)).text
    browser.post(edit_url(job), {**submitted(page, "job_form"), "error_action": "https://other.example/"})

    expected = {"type": "Https", "request": {"uri": "https://other.example/", "method": "POST"}}
    assert load_action().document == {**before.document, "errorAction": expected}
    expected_secrets = {path: text for path, text in before.secrets.items() if not path.startswith("errorAction")}
    assert load_action().secrets == expected_secrets


def test_members_without_a_field_are_kept():
    document = {"type": "Http", "request": {**REQUEST, "timeout": "PT1M"}, "retryPolicy": {"retryCount": 2}}

    changed = merge_action(document, {"type": "Http", "retry": "Fixed", "method": "PUT"}, {"method"})

    assert changed["request"] == {**REQUEST, "timeout": "PT1M", "method": "PUT"}
    assert changed["retryPolicy"] == {"retryCount": 2}


@pytest.mark.parametrize(
    "document",
    [
        {"type": "Carrier"},
        {"type": {"type": "Http"}},
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
def test_document_that_fields_cannot_express_stays_json(post, document):
    response = post(_switch="what:fields", what="json", action_json=json.dumps(document))

    assert response.context["form"].what_mode == "json"
    assert not action_fields_can_express(document)


def test_page_has_every_declared_field(browser, collection):
    page = browser.get(ADD).text

    assert [name for name in MEMBERS if f'name="{name}"' not in page] == []


@pytest.mark.parametrize("value", ["done", "", " a ", "5", "true", "null", '"', "[1]", "NaN", 5, -1.5, True, False])
def test_scalar_field_reads_the_value_that_it_wrote(value):
    read = ScalarField(required=False, strip=False).clean(ScalarField.write(value))

    assert (read, type(read)) == (value, type(value))


# From fields


def test_all_fields_of_an_http_request_are_stored(post):
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

    assert load_action().document == {
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
    assert load_action().secrets == {"request.authentication.secret": "clientsecret"}


@pytest.mark.parametrize("source", ["file", "text"])
def test_client_certificate_can_be_uploaded_or_pasted(post, authority, source):
    certificate = authority.client()
    fields = {"pfx": certificate.pfx}
    if source == "file":
        fields = {"pfx_file": SimpleUploadedFile("job.pfx", base64.b64decode(certificate.pfx))}

    post(**HTTP, authentication="ClientCertificate", pfx_password=certificate.password, **fields)

    assert load_action().document["request"]["authentication"]["certificateThumbprint"] == certificate.thumbprint
    assert load_action().secrets == {
        "request.authentication.pfx": certificate.pfx,
        "request.authentication.password": certificate.password,
    }


def test_certificate_authority_of_a_job_is_stored(post, authority):
    post(**HTTP, certificate_authority=authority.pem.replace("\n", "\r\n"))

    assert load_action().document["request"]["certificateAuthority"].splitlines() == authority.pem.splitlines()


def test_fields_of_a_storage_queue_are_stored(post):
    post(**STORAGE, message_format="Xml", message_encoding="Base64")

    assert load_action().document == {
        "type": "StorageQueue",
        "queueMessage": {
            "storageAccount": "account1",
            "queueName": "mail",
            "message": "hello",
            "messageFormat": "Xml",
            "messageEncoding": "Base64",
        },
    }
    assert load_action().secrets == {"queueMessage.sasToken": "?sv=1&sig=topsecret"}


@pytest.mark.parametrize(
    "kind, target, member, name",
    [
        ("ServiceBusQueue", {"bus_queue": "incoming"}, "serviceBusQueueMessage", "queueName"),
        ("ServiceBusTopic", {"bus_topic": "incoming"}, "serviceBusTopicMessage", "topicPath"),
    ],
)
def test_fields_of_a_service_bus_message_are_stored(post, kind, target, member, name):
    post(
        **BUS | {"type": kind, "bus_queue": "", **target},
        content_type="text/plain",
        time_to_live="PT1H",
        enqueue_at="2030-01-01T08:00",
        label="orders",
        force_persistence="false",
        custom_properties="kind: order\r\ncount: 2",
    )

    assert load_action().document == {
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
def test_fields_of_other_choices_are_ignored(post, fields):
    post(**fields)

    assert set(load_action().document) <= {"type", "request", "retryPolicy"}
    assert load_action().document["request"] == REQUEST
    assert load_action().secrets == {}


def test_changed_action_type_removes_members_of_the_old_type(browser, make_job):
    job = make_job(action={**ALL_KINDS["basic"], **ALL_KINDS["follow"], "retryPolicy": {"retryType": "None"}})

    page = browser.get(edit_url(job)).text
    browser.post(edit_url(job), {**submitted(page, "job_form"), **STORAGE})

    assert set(load_action().document) == {"type", "queueMessage", "retryPolicy"}
    assert set(load_action().secrets) == {"queueMessage.sasToken"}


def test_removed_authentication_removes_its_secret(browser, make_job):
    job = make_job(action=ALL_KINDS["basic"])

    page = browser.get(edit_url(job)).text
    browser.post(edit_url(job), {**submitted(page, "job_form"), "authentication": ""})

    assert "authentication" not in load_action().document["request"]
    assert load_action().secrets == {}


def test_removed_service_bus_key_is_removed_with_its_name(browser, make_job):
    job = make_job(action=ALL_KINDS["bus queue"])

    page = browser.get(edit_url(job)).text
    browser.post(edit_url(job), {**submitted(page, "job_form"), "bus_authentication": ""})

    assert "authentication" not in load_action().document["serviceBusQueueMessage"]
    assert load_action().secrets == {}


@pytest.mark.parametrize(
    "fields, field, message",
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
        (HTTP | {"body_path": "$.a", "body_value": "[1]"}, "body_value", "Enter one text"),
        (HTTP | {"template": "on", "body": "{{ now }}"}, "body", "now"),
        (HTTP | {"retry": "Exponential", "retry_most": "1 day"}, "retry_most", "1 day"),
        (HTTP | {"retry": "Fixed", "retry_count": "1 2"}, "retry_count", "Enter one number"),
        (STORAGE | {"storage_account": "NO"}, "storage_account", "lower case"),
        (STORAGE | {"sas_token": ""}, "sas_token", "Is required"),
        (STORAGE | {"queue_message": ""}, "queue_message", "Is required"),
        (BUS | {"namespace": ""}, "namespace", "Is required"),
        (BUS | {"bus_queue": "a b"}, "bus_queue", "path"),
        (BUS | {"type": "ServiceBusTopic"}, "bus_topic", "Is required"),
        (BUS | {"sas_key_name": ""}, "sas_key_name", "Is required"),
        (BUS | {"sas_key": ""}, "sas_key", "Is required"),
        (BUS | {"time_to_live": "long"}, "time_to_live", "long"),
        (BUS | {"enqueue_at": "soon"}, "enqueue_at", "Enter a date and a time"),
        (BUS | {"custom_properties": "a: 1\na: 2"}, "custom_properties", "twice"),
    ],
)
def test_error_of_an_action_is_shown_at_its_field(post, fields, field, message):
    response = post(**fields)

    assert not Job.objects.exists()
    errors = response.context["form"].errors
    assert list(errors) == [field]
    assert message in errors[field][0]
    assert f'id="id_{field}_error"' in response.text


def test_too_large_certificate_file_is_refused(post):
    response = post(**HTTP, authentication="ClientCertificate", pfx_file=SimpleUploadedFile("job.pfx", bytes(20_000)))

    assert "20,000 bytes" in response.context["form"].errors["pfx_file"][0]


def test_certificate_file_together_with_text_is_refused(post, authority):
    certificate = authority.client()
    file = SimpleUploadedFile("job.pfx", base64.b64decode(certificate.pfx))

    response = post(**HTTP, authentication="ClientCertificate", pfx_file=file, pfx=certificate.pfx)

    assert list(response.context["form"].errors) == ["pfx"]
