"""Keys in a URI are stored separately, are preserved by their mask, and are sent unmasked."""

import pytest

from api.errors import Invalid
from jobs.actions import documents, prepare
from jobs.actions.address_keys import mask_keys, mask_keys_in_text
from jobs.models import Action
from tests.growth import assert_linear
from tests.jobs.attempts import CONTEXT

HOST = "https://api.example/hook"
ADDRESS = f"{HOST}?code=opensesame&page=1"


def calling(uri, **members) -> dict:
    request = {"uri": uri, "method": "GET", **members.pop("request", {})}
    return {"type": "Https", "request": request, **members}


def saved(document, previous=None) -> Action:
    parsed = documents.parse(document, previous)
    return Action(document=parsed.document, secrets=parsed.secrets)


def sent(action: Action) -> str:
    return str(prepare(action.document, action.secrets, CONTEXT).url)


def refused(document, previous=None) -> tuple[str, str]:
    with pytest.raises(Invalid) as refusal:
        documents.parse(document, previous)
    assert "opensesame" not in str(refusal.value)
    return refusal.value.path, refusal.value.code


@pytest.mark.parametrize(
    "name",
    [
        *(
            "code",
            "sig",
            "signature",
            "access_token",
            "token",
            "key",
            "api_key",
            "apikey",
            "api-key",
            "subscription-key",
        ),
        *("X-Amz-Signature", "X-Amz-Credential", "X-Amz-Security-Token", "client_secret", "password", "passwd", "pwd"),
        *("auth", "jwt", "sid", "session", "PHPSESSID", "accessKey", "id_token", "SAMLAssertion", "hmac", "KEY"),
        *("api%5Fkey", "data%5Btoken%5D", "data[token]", "x.pass", "user-pin", "sign"),
    ],
)
def test_key_is_stored_separately_and_sent_unmasked(name):
    uri = f"{HOST}?page=1&{name}=open%20sesame+1%3D&last"

    action = saved(calling(uri))

    assert action.document["request"]["uri"] == f"{HOST}?page=1&{name}=********&last"
    assert action.secrets == {f"request.query.{name.lower()}": "open%20sesame+1%3D"}
    assert sent(action) == uri


@pytest.mark.parametrize(
    "query",
    [
        *("page=1", "country_code=49", "zip-code=1", "partitionKey=a", "sort_key=b", "keys=a", "codec=x", "author=ada"),
        *("code=", "code", "token=&page=1", "", "keyboard=1", "design=1", "expires=9"),
    ],
)
def test_other_query_parameters_are_returned_unmasked(query):
    uri = f"{HOST}?{query}"

    assert saved(calling(uri)).document["request"]["uri"] == uri


@pytest.mark.parametrize(
    "uri, public",
    [
        ("?a=1;token=opensesame;b=2", "?a=1;token=********"),  # some servers split at a semicolon, others do not
        ("?url=http://x/?key=opensesame", "?url=http://x/?key=********"),
        ("?a=1#access_token=opensesame&b=2", "?a=1#access_token=********&b=2"),
        ("?code=opensesame#end", "?code=********#end"),
        ("?sig==opensesame==", "?sig=********"),
        ("?&&code=opensesame&", "?&&code=********&"),
    ],
)
def test_keys_in_unusual_uris_are_masked_too(uri, public):
    action = saved(calling(HOST + uri))

    assert action.document["request"]["uri"] == HOST + public
    assert sent(action) == HOST + uri


def test_query_parameters_with_the_same_name_have_separate_keys():
    action = saved(calling(f"{HOST}?key=first-one&key=&Key=second-one"))

    assert action.document["request"]["uri"] == f"{HOST}?key=********&key=&Key=********"
    assert action.secrets == {"request.query.key": "first-one", "request.query.key#3": "second-one"}
    assert sent(action) == f"{HOST}?key=first-one&key=&Key=second-one"


@pytest.mark.parametrize("mask", ["********", "%2A%2A%2A%2A%2A%2A%2A%2A", "%2a%2a%2a%2a%2a%2a%2a%2a"])
def test_mask_preserves_a_stored_key(mask):
    action = saved(calling(ADDRESS))

    again = saved(calling(f"{HOST}/other?page=2&code={mask}"), action)

    assert again.secrets == action.secrets
    assert again.document["request"]["uri"] == f"{HOST}/other?page=2&code=********"
    assert sent(again) == f"{HOST}/other?page=2&code=opensesame"


def test_returned_document_can_be_sent_back():
    action = saved({**calling(ADDRESS), "errorAction": calling(f"{HOST}?key=alarm-key")})

    assert action.secrets == {"request.query.code": "opensesame", "errorAction.request.query.key": "alarm-key"}
    assert documents.parse(documents.render(action), action) == documents.ParsedAction(action.document, action.secrets)


@pytest.mark.parametrize(
    "uri",
    [
        "https://elsewhere.example/hook?code=********",
        "http://api.example/hook?code=********",
        "https://api.example:444/hook?code=********",
        f"{HOST}?key=********",
        f"{HOST}?code=********&code=********",
        f"{HOST}?page=********",  # where everybody would see it
        f"{HOST}?x=1;code=********;page=********",
    ],
)
def test_key_is_not_reused_for_another_target(uri):
    assert refused(calling(uri), saved(calling(ADDRESS))) == ("action.request.uri", "required")


def test_key_is_not_reused_with_another_certificate_authority(authority):
    uri = calling(f"{HOST}?code=********", request={"certificateAuthority": authority.pem})

    assert refused(uri, saved(calling(ADDRESS))) == ("action.request.uri", "required")


def test_parameter_in_secret_query_is_stored_separately():
    action = saved(calling(f"{HOST}?who=opensesame&page=1", request={"secretQuery": ["WHO"]}))

    assert action.document["request"]["uri"] == f"{HOST}?who=********&page=1"
    assert action.document["request"]["secretQuery"] == ["WHO"]
    assert action.secrets == {"request.query.who": "opensesame"}
    assert sent(action) == f"{HOST}?who=opensesame&page=1"
    again = documents.render(action)
    del again["request"]["secretQuery"]  # as by a client that does not know this member
    assert documents.parse(again, action) == documents.ParsedAction(action.document, action.secrets)


def test_name_is_removed_from_secret_query_only_with_a_new_value():
    action = saved(calling(f"{HOST}?who=opensesame", request={"secretQuery": ["who"]}))

    assert refused(calling(f"{HOST}?who=********", request={"secretQuery": []}), action) == (
        "action.request.uri",
        "required",
    )
    public = saved(calling(f"{HOST}?who=ada", request={"secretQuery": []}), action)
    assert (public.document["request"]["uri"], public.secrets) == (f"{HOST}?who=ada", {})


def test_uri_without_the_secret_parameter_is_accepted():
    action = saved(calling(f"{HOST}?who=opensesame", request={"secretQuery": ["who"]}))
    sent = documents.render(action)
    sent["request"]["uri"] = HOST

    # the mark stays: the next value of the parameter is secret, too
    assert documents.parse(sent, action).document == calling(HOST, request={"secretQuery": ["who"]})


@pytest.mark.parametrize(
    "marks, code", [("who", "wrong_type"), ([None], "malformed"), (["a b"], "malformed"), (["whoo"], "unknown_value")]
)
def test_wrong_secret_query_is_refused(marks, code):
    assert refused(calling(f"{HOST}?who=1", request={"secretQuery": marks})) == ("action.request.secretQuery", code)


@pytest.mark.parametrize(
    "uri, code",
    [
        ("https://api.example/a b?code=opensesame", "malformed"),
        (f"{HOST}?code=opensesame with spaces", "malformed"),
        (f"{HOST}?code=opensesame\\", "malformed"),
        ("https://api.example:0/?code=opensesame", "malformed"),
        ("ftp://api.example/?code=opensesame", "malformed"),
        (f"{HOST}?code=opensesame{'x' * 2048}", "too_long"),
    ],
)
def test_error_for_a_refused_uri_does_not_contain_its_key(uri, code):
    assert refused(calling(uri)) == ("action.request.uri", code)


def test_limit_of_a_uri_counts_its_stored_key():
    action = saved(calling(f"{HOST}?code={'x' * 1500}"))

    assert refused(calling(f"{HOST}?code=********&page={'y' * 600}"), action) == ("action.request.uri", "too_long")


# Templates


@pytest.mark.parametrize("value", ["{{ run_id }}", "{{ attempt }}{{ job.name }}"])
def test_value_of_placeholders_only_is_not_a_key(value):
    action = saved(calling(f"{HOST}?key={value}", template=True))

    assert action.document["request"]["uri"] == f"{HOST}?key={value}"
    assert "{" not in sent(action)


def test_a_key_with_placeholders_is_filled_in():
    action = saved(calling(f"{HOST}?page={{{{ attempt }}}}&key=opensesame-{{{{ job.name }}}}", template=True))

    assert action.document["request"]["uri"] == f"{HOST}?page={{{{ attempt }}}}&key=********"
    call = prepare(action.document, action.secrets, CONTEXT)
    assert str(call.url) == f"{HOST}?page=3&key=opensesame-backup"
    assert call.hide("you said opensesame-backup") == "you said ********"


@pytest.mark.parametrize("uri", [f"{HOST}?key=opensesame-{{{{ x }}}}", f"{HOST}?a={{{{ x }}}}&key=opensesame"])
def test_error_for_an_unknown_placeholder_does_not_contain_the_key(uri):
    assert refused(calling(uri, template=True)) == ("action.request.uri", "malformed")


def test_stored_key_is_checked_when_a_template_is_switched_on():
    action = saved(calling(f"{HOST}?key=opensesame-{{{{x}}}}"))

    assert refused(calling(f"{HOST}?key=********", template=True), action) == ("action.request.uri", "malformed")


# URIs in texts


def test_only_keys_of_uris_in_a_text_are_masked():
    text = 'see <https://x/?a=1&sig=opensesame>; rel="next", {"u": "http://y/?code=open\\u0026b=2"} or ?page=1'

    assert mask_keys_in_text(text) == (
        'see <https://x/?a=1&sig=********>; rel="next", {"u": "http://y/?code=********\\u0026b=2"} or ?page=1'
    )


@pytest.mark.parametrize("piece", ["?", "&", "a=", "&key=", "?key", "&a", ";a=b", "%5B", "&key=a "])
@pytest.mark.parametrize("mask", [mask_keys, mask_keys_in_text])
def test_the_search_for_keys_takes_linear_time(mask, piece):
    assert_linear(mask, lambda length: piece * (length // len(piece)), 40_000)
