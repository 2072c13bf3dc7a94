"""Headers that contain a credential are stored separately."""

import re

import pytest

from api.errors import Invalid
from jobs.actions import documents
from jobs.models import Action


def with_headers(headers, uri="https://api.example/hook"):
    return {"type": "Https", "request": {"uri": uri, "method": "GET", "headers": headers}}


@pytest.mark.parametrize(
    "name",
    [
        *("Authorization", "authorization", "Cookie", "X-Api-Key", "X-Auth-Token", "X-Auth", "X-Auth-Key"),
        # of services that jobs of the original service called
        *("x-functions-key", "Ocp-Apim-Subscription-Key", "aeg-sas-key"),
        *("DD-APPLICATION-KEY", "DD-API-KEY", "api_key", "apikey", "X-Passwd", "X-Signing-Key", "jwt", "bearer"),
        *("X-License-Key", "X-Key", "X-Shopify-Access-Token", "PRIVATE-TOKEN", "X-Vault-Token", "X-Amz-Security-Token"),
        *("sid", "X-Session", "X-Session-Id", "JSESSIONID", "X-Hub-Signature-256", "signature", "X-Pwd", "userPin"),
        *("userpass", "dbpass", "smtp_pass", "dbpwd", "upwd", "rootpw", "pass_phrase", "X-Creds", "user_cred", "tkn"),
        *("key1", "access_key_1", "accesskey2", "Subscription-Key-1", "X-Key-V1", "mfa", "mfa_code", "otpCode"),
        *(
            "X-OTP",
            "X-CSRF",
            "X-Client-Assertion",
            "X-Connection-String",
            "Cookie2",
            "X-PSK",
            "X-Consumer-Key",
            "accessCode",
        ),
    ],
)
def test_header_with_a_credential_is_stored_separately(name):
    parsed = documents.parse(with_headers({name: "Bearer opensesame", "Accept": "*/*"}))

    assert parsed.document["request"]["headers"] == {name: "********", "Accept": "*/*"}
    assert parsed.secrets == {f"request.headers.{name.lower()}": "Bearer opensesame"}


@pytest.mark.parametrize(
    "name",
    [
        *("Author", "Authors", "X-Partition-Key", "X-Routing-Key", "X-Idempotency-Key", "Accept", "User-Agent"),
        *("author_id", "authorName", "X-Authority", "sort_key_2", "X-Keyword", "compass", "bypass"),
        *("X-Country-Code", "X-Keyboard", "X-Tenant", "X-Request-Id", "Content-Type", "Digest", "X-Zip-Code"),
    ],
)
def test_other_headers_are_returned_unmasked(name):
    assert documents.parse(with_headers({name: "plain"})).document["request"]["headers"] == {name: "plain"}


def test_mask_preserves_the_credential_of_a_header_for_the_same_host_only():
    first = documents.parse(with_headers({"Authorization": "Bearer opensesame"}))
    stored = Action(document=first.document, secrets=first.secrets)

    again = documents.parse(with_headers({"authorization": "********"}), stored)
    assert again.secrets == first.secrets

    with pytest.raises(Invalid) as refusal:
        documents.parse(with_headers({"Authorization": "********"}, "https://elsewhere.example/"), stored)
    assert refusal.value.path == "action.request.headers.Authorization"


MARKED = with_headers({"X-Foo": "opensesame", "X-Tag": "a"})
MARKED["request"]["secretHeaders"] = ["x-foo"]


def saved(document, previous=None) -> Action:
    parsed = documents.parse(document, previous)
    return Action(document=parsed.document, secrets=parsed.secrets)


def refused(document, previous=None) -> tuple[str, str]:
    with pytest.raises(Invalid) as refusal:
        documents.parse(document, previous)
    assert not {"opensesame", "75737"} & set(re.findall("[a-z0-9]+", str(refusal.value)))
    return refusal.value.path, refusal.value.code


def test_header_in_secret_headers_is_stored_separately():
    action = saved(MARKED)

    assert action.document["request"]["headers"] == {"X-Foo": "********", "X-Tag": "a"}
    assert action.document["request"]["secretHeaders"] == ["x-foo"]
    assert action.secrets == {"request.headers.x-foo": "opensesame"}


def test_returned_document_can_be_sent_back():
    action = saved(MARKED)

    assert documents.parse(documents.render(action), action) == documents.ParsedAction(action.document, action.secrets)


def test_client_without_secret_headers_preserves_them():
    action = saved(MARKED)
    sent = documents.render(action)
    del sent["request"]["secretHeaders"]

    assert saved(sent, action).secrets == action.secrets
    sent["request"]["headers"]["X-Foo"] = "open-sesame-2"
    changed = saved(sent, action)
    assert changed.secrets == {"request.headers.x-foo": "open-sesame-2"}
    assert changed.document == action.document


def test_mark_of_a_missing_header_is_preserved_for_its_next_value():
    action = saved(MARKED)
    sent = documents.render(action)
    del sent["request"]["secretHeaders"], sent["request"]["headers"]["X-Foo"]
    without_header = saved(sent, action)
    assert without_header.secrets == {}
    assert documents.parse(documents.render(without_header), without_header).document == without_header.document

    sent["request"]["headers"]["X-Foo"] = "open-sesame-2"

    assert saved(sent, without_header).secrets == {"request.headers.x-foo": "open-sesame-2"}
    sent["request"]["secretHeaders"] = []
    assert saved(sent, without_header).secrets == {}


def test_name_is_removed_from_secret_headers_only_with_a_new_value():
    action = saved(MARKED)
    sent = documents.render(action)
    sent["request"]["secretHeaders"] = []

    assert refused(sent, action) == ("action.request.headers.X-Foo", "required")
    sent["request"]["headers"]["X-Foo"] = "public"
    assert saved(sent, action).document["request"]["headers"] == {"X-Foo": "public", "X-Tag": "a"}


@pytest.mark.parametrize(
    "marks, code",
    [
        ("X-Foo", "wrong_type"),
        ({"X-Foo": 1}, "wrong_type"),
        ([1], "malformed"),
        (["X Foo"], "malformed"),
        ([""], "malformed"),
        (["X-Foo"] * 51, "too_long"),
        (["X-Fooo"], "unknown_value"),  # a typing error, which would leave X-Foo in clear text
    ],
)
def test_wrong_secret_headers_are_refused(marks, code):
    sent = with_headers({"X-Foo": "a"})
    sent["request"]["secretHeaders"] = marks

    assert refused(sent) == ("action.request.secretHeaders", code)


def test_secret_header_is_not_reused_for_another_host():
    sent = documents.render(saved(MARKED))
    sent["request"]["uri"] = "https://elsewhere.example/"

    assert refused(sent, saved(MARKED)) == ("action.request.headers.X-Foo", "required")


def test_mask_is_refused_as_the_value_of_a_new_header():
    assert refused(with_headers({"X-Tag": "********"})) == ("action.request.headers.X-Tag", "required")


@pytest.mark.parametrize(
    "value, code",
    [("opensesame\u00fc", "malformed"), (["opensesame"], "wrong_type"), (75737, "wrong_type"), (None, "required")],
)
def test_error_for_a_refused_credential_does_not_contain_it(value, code):
    assert refused(with_headers({"X-Passwd": value})) == ("action.request.headers.X-Passwd", code)


def test_header_of_placeholders_only_is_not_a_credential():
    sent = {**with_headers({"X-Session": "{{ run_id }}", "X-Passwd": "opensesame"}), "template": True}

    assert saved(sent).document["request"]["headers"] == {"X-Session": "{{ run_id }}", "X-Passwd": "********"}


def test_host_in_brackets_must_be_an_ipv6_address():
    with pytest.raises(Invalid):
        documents.parse(with_headers({}, "http://[v1.x]/"))
    documents.parse(with_headers({}, "http://[2606:4700::1111]/"))
