"""Headers that hold a credential are stored apart."""

import pytest

from jobs.actions import documents
from jobs.errors import Invalid
from jobs.models import Action


def with_headers(headers, uri="https://api.example/hook"):
    return {"type": "Https", "request": {"uri": uri, "method": "GET", "headers": headers}}


@pytest.mark.parametrize(
    "name",
    [
        *("Authorization", "authorization", "Cookie", "X-Api-Key", "X-Auth-Token", "X-Auth", "X-Auth-Key"),
        # of the services to which the original's jobs were sent
        *("x-functions-key", "Ocp-Apim-Subscription-Key", "aeg-sas-key"),
    ],
)
def test_a_header_that_holds_a_credential_is_stored_apart(name):
    parsed = documents.parse(with_headers({name: "Bearer opensesame", "Accept": "*/*"}))

    assert parsed.document["request"]["headers"] == {name: "********", "Accept": "*/*"}
    assert parsed.secrets == {f"request.headers.{name.lower()}": "Bearer opensesame"}


@pytest.mark.parametrize("name", ["Author", "Authors", "X-Partition-Key", "X-Routing-Key", "X-Key", "Accept"])
def test_other_headers_are_answered_as_they_are(name):
    assert documents.parse(with_headers({name: "plain"})).document["request"]["headers"] == {name: "plain"}


def test_the_mask_keeps_a_headers_credential_at_the_same_host_only():
    first = documents.parse(with_headers({"Authorization": "Bearer opensesame"}))
    stored = Action(document=first.document, secrets=first.secrets)

    again = documents.parse(with_headers({"authorization": "********"}), stored)
    assert again.secrets == first.secrets

    with pytest.raises(Invalid) as refusal:
        documents.parse(with_headers({"Authorization": "********"}, "https://elsewhere.example/"), stored)
    assert refusal.value.path == "action.request.headers.Authorization"


def test_brackets_hold_an_ipv6_address():
    with pytest.raises(Invalid):
        documents.parse(with_headers({}, "http://[v1.x]/"))
    documents.parse(with_headers({}, "http://[2001:db8::1]/"))
