"""Secrets of an action: masked, kept under their mask, and carried to nobody else."""

import pytest

from jobs.actions import documents
from jobs.encryption import MASK
from tests.jobs.documents.samples import BASIC, OAUTH, SERVICE_BUS, STORAGE, http, refusal, stored


@pytest.mark.parametrize("type", ["None", "NotSpecified", "notspecified"])
def test_no_authentication_is_not_answered(type):
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
    def test_are_split_from_the_document(self, document, place, text):
        parsed = documents.parse(document)

        assert parsed.secrets == {place: text}
        assert text not in repr(parsed)

    def test_are_kept_when_absent(self, document, place, text):
        action = stored(document)

        again = documents.parse(documents.render(action), action)

        assert again == documents.ParsedAction(action.document, action.secrets)

    def test_are_kept_when_masked(self, document, place, text):
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
        http({"type": "Basic", "username": "ada"}, uri="http://example.com/hook"),  # it would travel in the clear
        http({"type": "Basic", "username": "ada"}, uri="https://example.com:444/hook"),
    ],
)
def test_a_password_is_not_carried_to_another_user_or_host(sent):
    assert refusal(sent, stored(http(BASIC))) == ("action.request.authentication.password", "required")


def test_a_password_is_not_carried_to_whom_another_authority_vouches_for(authority):
    sent = http({"type": "Basic", "username": "ada"}, certificateAuthority=authority.pem)

    assert refusal(sent, stored(http(BASIC))) == ("action.request.authentication.password", "required")


def test_a_password_stays_when_only_the_path_changes():
    sent = http({"type": "Basic", "username": "ada"}, uri="https://EXAMPLE.com:443/other")

    assert documents.parse(sent, stored(http(BASIC))).secrets == {"request.authentication.password": "pw"}


def test_a_password_is_not_carried_to_the_error_action():
    sent = {**http(), "errorAction": http({"type": "Basic", "username": "ada"})}

    assert refusal(sent, stored(http(BASIC))) == ("action.errorAction.request.authentication.password", "required")


def test_a_shared_key_is_not_carried_to_another_namespace():
    sent = documents.render(stored(SERVICE_BUS))
    sent["serviceBusQueueMessage"]["namespace"] = "evil"

    path, code = refusal(sent, stored(SERVICE_BUS))

    assert (path, code) == ("action.serviceBusQueueMessage.authentication.sasKey", "required")


@pytest.mark.parametrize("change", [{"audience": None}, {"audience": "https://b.example"}, {"authority": None}])
def test_a_client_secret_is_not_used_for_another_audience_or_authority(change):
    action = stored(http({**OAUTH, "audience": "https://a.example", "authority": "https://login.example"}))
    sent = documents.render(action)
    sent["request"]["authentication"] |= change

    assert refusal(sent, action) == ("action.request.authentication.secret", "required")


def test_a_token_is_not_carried_to_another_account():
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
def test_a_secret_is_not_carried_to_another_authority(before, after):
    sent = {key: text for key, text in OAUTH.items() if key != "secret"}

    path, code = refusal(http({**sent, "authority": after}), stored(http({**OAUTH, "authority": before})))

    assert (path, code) == ("action.request.authentication.secret", "required")
    documents.parse(http({**sent, "authority": before}), stored(http({**OAUTH, "authority": before})))


@pytest.mark.parametrize("member", ["tenant", "clientId", "audience"])
def test_a_secret_is_not_carried_to_another_grant(member):
    sent = {key: text for key, text in OAUTH.items() if key != "secret"} | {member: "other.example"}

    assert refusal(http(sent), stored(http(OAUTH))) == ("action.request.authentication.secret", "required")


def test_removed_authentication_takes_its_secret_along():
    assert documents.parse(http(authentication=None), stored(http(BASIC))).secrets == {}
