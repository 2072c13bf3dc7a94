"""The action as fields: each type to its document and back, nothing lost, refusals at their fields, secrets unseen."""

import base64
import json
from datetime import UTC, datetime, timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from jobs.action_values import changed_action, fields_do
from jobs.models import Action, Job
from jobs.notations import ScalarField, without_credentials, without_secrets
from tests.admin.forms import submitted

ADD = "/admin/jobs/job/add/"
FORM = {
    "name": "backup",
    "state": "enabled",
    "when": "fields",
    "what": "fields",
    "frequency": "Day",
    "start": "2027-01-05T08:00",
    "misfire": "fire_once",
    "overlap": "skip",
    "delivery": "at_least_once",
}
HTTP = {"type": "Http", "method": "POST", "uri": "https://example.com/x"}
STORAGE = {
    "type": "StorageQueue",
    "storage_account": "account1",
    "storage_queue": "mail",
    "sas_token": "?sv=1&sig=topsecret",
    "queue_message": "hello",
}
BUS = {
    "type": "ServiceBusQueue",
    "namespace": "orders",
    "bus_queue": "incoming",
    "bus_authentication": "SharedAccessKey",
    "sas_key_name": "sender",
    "sas_key": "c2VjcmV0a2V5",
    "bus_message": "hello",
}

REQUEST = {"uri": "https://example.com/x", "method": "POST"}
BASIC = {"type": "Basic", "username": "ada", "password": "opensesame"}
OAUTH = {
    "type": "ActiveDirectoryOAuth",
    "tenant": "contoso.example",
    "clientId": "client-1",
    "secret": "clientsecret",
    "audience": "https://api.example/",
    "authority": "https://login.example",
}
QUEUE = {"storageAccount": "account1", "queueName": "mail", "sasToken": "sig=topsecret", "message": " two\r\nlines "}
MESSAGE = {
    "namespace": "orders",
    "message": "hello",
    "transportType": "AMQP",
    "authentication": {"type": "SharedAccessKey", "sasKeyName": "sender", "sasKey": "c2VjcmV0a2V5"},
    "customMessageProperties": {"kind": "order", "token": "not a secret"},
    "brokeredMessageProperties": {
        "contentType": "text/plain",
        "correlationId": "c-1",
        "forcePersistence": False,
        "label": "orders",
        "messageId": "m-1",
        "partitionKey": "s",
        "replyTo": "answers",
        "replyToSessionId": "r",
        "scheduledEnqueueTimeUtc": "2030-01-01T08:00:00.25Z",
        "sessionId": "s",
        "timeToLive": "01:00:00",
        "to": "x",
        "viaPartitionKey": "v",
    },
}
EVERY_KIND = {
    "plain": {"type": "Http", "request": REQUEST},
    "empty": {"type": "Http", "request": {**REQUEST, "headers": {}, "body": ""}},
    "lines": {"type": "Http", "request": {**REQUEST, "body": "\n a\r\nb\n\n"}, "retryPolicy": {"retryCount": 0}},
    "mixed": {"type": "Https", "request": {**REQUEST, "uri": "http://example.com/"}, "template": True},
    "basic": {"type": "Http", "request": {**REQUEST, "authentication": BASIC}},
    "oauth": {"type": "Https", "request": {**REQUEST, "authentication": OAUTH, "followRedirects": True}},
    "follow": {"type": "Http", "request": REQUEST, "follow": True, "followLimit": "PT2H"},
    "follows": {"type": "Https", "request": REQUEST, "follow": True},
    "headers": {
        "type": "Http",
        "request": {**REQUEST, "headers": {"X-Tag": "a:b", "Authorization": "Bearer abcdefgh"}},
    },
    "success": {
        "type": "Http",
        "request": {
            **REQUEST,
            "success": {
                "statusCodes": [200, "300-399"],
                "bodyContains": " ok ",
                "bodyPath": "$.a[0]",
                "bodyValue": "5",
            },
        },
    },
    "exponential": {
        "type": "Http",
        "request": REQUEST,
        "retryPolicy": {
            "retryType": "Exponential",
            "retryInterval": "00:00:30",
            "retryCount": 3,
            "maximumRetryInterval": "PT1H",
        },
    },
    "storage": {"type": "StorageQueue", "queueMessage": QUEUE},
    "envelope": {
        "type": "StorageQueue",
        "queueMessage": {**QUEUE, "messageFormat": "Xml", "messageEncoding": "Base64"},
    },
    "bus queue": {"type": "ServiceBusQueue", "serviceBusQueueMessage": {**MESSAGE, "queueName": "incoming"}},
    "bus topic": {"type": "ServiceBusTopic", "serviceBusTopicMessage": {**MESSAGE, "topicPath": "news/all"}},
    "bare bus": {"type": "ServiceBusQueue", "serviceBusQueueMessage": {"namespace": "orders", "queueName": "incoming"}},
    "error action": {
        "type": "Http",
        "request": REQUEST,
        "errorAction": {"type": "StorageQueue", "queueMessage": QUEUE, "retryPolicy": {"retryType": "None"}},
    },
    "alarm": {
        "type": "Http",
        "request": REQUEST,
        "errorAction": {"type": "Https", "request": {"uri": "https://alerts.example/", "method": "POST"}},
    },
}
# what a line of a form cannot hold
BEYOND = {"header with spaces": {"type": "Http", "request": {**REQUEST, "headers": {"X-Tag": " a "}}}}


@pytest.fixture
def post(browser, collection):
    def send(address=ADD, **fields):
        return browser.post(address, {**FORM, "collection": collection.pk, **fields})

    return send


def edit_of(job) -> str:
    return f"/admin/jobs/job/{job.pk}/change/"


def stored() -> Action:
    return Job.objects.get().action


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

    changed = changed_action(document, {"type": "Http", "retry": "Fixed", "method": "PUT"}, {"method"})

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
    assert not fields_do(document)


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


# Secrets


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


# Notations


@pytest.mark.parametrize("value", ["done", "", " a ", "5", "true", "null", '"', "[1]", "NaN", 5, -1.5, True, False])
def test_a_scalar_is_read_as_it_was_written(value):
    read = ScalarField(required=False, strip=False).clean(ScalarField.write(value))

    assert (read, type(read)) == (value, type(value))


def test_the_certificate_shows_when_it_ends(browser, make_job, authority):
    certificate = authority.client(expires_at=datetime.now(UTC) + timedelta(days=5))
    proof = {"type": "ClientCertificate", "pfx": certificate.pfx, "password": certificate.password}
    job = make_job(action={"type": "Http", "request": {**REQUEST, "authentication": proof}})

    assert "in 4 days" in browser.get(edit_of(job)).text
