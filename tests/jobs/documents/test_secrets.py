"""Secrets of an action are masked, are preserved by their mask, and are not reused for another target."""

import pytest

from jobs.actions import documents
from jobs.encryption import MASK
from tests.jobs.documents.samples import BASIC, OAUTH, SERVICE_BUS, STORAGE, http, refusal, stored


@pytest.mark.parametrize("type", ["None", "NotSpecified", "notspecified"])
def test_authentication_of_type_none_is_not_returned(type):
    assert documents.parse(http({"type": type})).document == http()


@pytest.mark.parametrize(
    "document, place, text",
    [
        (http(BASIC), "request.authentication.password", "pw"),
        (http(OAUTH), "request.authentication.secret", "s3cret"),
        (STORAGE, "queueMessage.sasToken", "?sig=1"),
        (SERVICE_BUS, "serviceBusQueueMessage.authentication.sasKey", "k3y"),
        ({**http(), "errorAction": http(BASIC)}, "errorAction.request.authentication.password", "pw"),
    ],
)
class TestSecrets:
    def test_are_stored_separately_from_the_document(self, document, place, text):
        parsed = documents.parse(document)

        assert parsed.secrets == {place: text}
        assert text not in repr(parsed)

    def test_are_preserved_when_absent(self, document, place, text):
        action = stored(document)

        again = documents.parse(documents.render(action), action)

        assert again == documents.ParsedAction(action.document, action.secrets)

    def test_are_preserved_when_masked(self, document, place, text):
        action = stored(document)
        sent = documents.render(action)
        parent = sent
        *parents, name = place.split(".")
        for part in parents:
            parent = parent[part]
        parent[name] = MASK

        assert documents.parse(sent, action).secrets == {place: text}


@pytest.mark.parametrize(
    "sent",
    [
        http({"type": "Basic", "username": "eve"}),
        http({"type": "Basic", "username": "ada"}, uri="https://evil.example/hook"),
        http({"type": "Basic", "username": "ada"}, uri="http://example.com/hook"),  # it would be sent in clear text
        http({"type": "Basic", "username": "ada"}, uri="https://example.com:444/hook"),
    ],
)
def test_password_is_not_reused_for_another_user_or_host(sent):
    assert refusal(sent, stored(http(BASIC))) == ("action.request.authentication.password", "required")


def test_password_is_not_reused_with_another_certificate_authority(authority):
    sent = http({"type": "Basic", "username": "ada"}, certificateAuthority=authority.pem)

    assert refusal(sent, stored(http(BASIC))) == ("action.request.authentication.password", "required")


def test_password_is_preserved_when_only_the_path_changes():
    sent = http({"type": "Basic", "username": "ada"}, uri="https://EXAMPLE.com:443/other")

    assert documents.parse(sent, stored(http(BASIC))).secrets == {"request.authentication.password": "pw"}


def test_password_is_not_reused_for_the_error_action():
    sent = {**http(), "errorAction": http({"type": "Basic", "username": "ada"})}

    assert refusal(sent, stored(http(BASIC))) == ("action.errorAction.request.authentication.password", "required")


def test_shared_key_is_not_reused_for_another_namespace():
    sent = documents.render(stored(SERVICE_BUS))
    sent["serviceBusQueueMessage"]["namespace"] = "evil"

    path, code = refusal(sent, stored(SERVICE_BUS))

    assert (path, code) == ("action.serviceBusQueueMessage.authentication.sasKey", "required")


@pytest.mark.parametrize("change", [{"audience": None}, {"audience": "https://b.example"}, {"authority": None}])
def test_client_secret_is_not_reused_for_another_audience_or_authority(change):
    action = stored(http({**OAUTH, "audience": "https://a.example", "authority": "https://login.example"}))
    sent = documents.render(action)
    sent["request"]["authentication"] |= change

    assert refusal(sent, action) == ("action.request.authentication.secret", "required")


def test_sas_token_is_not_reused_for_another_storage_account():
    sent = documents.render(stored(STORAGE))
    sent["queueMessage"]["storageAccount"] = "other"

    assert refusal(sent, stored(STORAGE)) == ("action.queueMessage.sasToken", "required")


@pytest.mark.parametrize(
    "before, after",
    [
        (None, "https://evil.example"),
        ("https://login.example", "https://evil.example"),
        ("https://login.example", None),  # the installation's own
        ("https://login.example", "https://login.example:444"),
    ],
)
def test_client_secret_is_not_reused_for_an_authority_with_another_address(before, after):
    sent = {key: text for key, text in OAUTH.items() if key != "secret"}

    path, code = refusal(http({**sent, "authority": after}), stored(http({**OAUTH, "authority": before})))

    assert (path, code) == ("action.request.authentication.secret", "required")
    documents.parse(http({**sent, "authority": before}), stored(http({**OAUTH, "authority": before})))


@pytest.mark.parametrize("member", ["tenant", "clientId", "audience"])
def test_client_secret_is_not_reused_for_another_grant(member):
    sent = {key: text for key, text in OAUTH.items() if key != "secret"} | {member: "other.example"}

    assert refusal(http(sent), stored(http(OAUTH))) == ("action.request.authentication.secret", "required")


def test_secret_is_removed_with_its_authentication():
    assert documents.parse(http(authentication=None), stored(http(BASIC))).secrets == {}
