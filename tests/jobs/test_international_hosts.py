"""International host names: which are accepted, in which format they are called, and how they are shown."""

import socket

import pytest

from api.errors import Invalid
from jobs.action_text import action_in_words
from jobs.actions import addresses, documents, host_names
from jobs.actions.hosts import unicode_hosts
from jobs.call_test import Part, run_call_test
from jobs.models import Action, Job
from tests.admin.forms import submitted
from tests.conftest import NOW
from tests.jobs.arm_jobs import body as arm_body
from tests.jobs.arm_jobs import properties, refusal
from tests.jobs.attempts import attempt
from tests.jobs.runs import the_run
from tests.peers.target import Target

UNICODE, ASCII = "münchen.example", "xn--mnchen-3ya.example"
BOTH = f"{UNICODE} ({ASCII})"


def http(uri: str = f"http://{UNICODE}/hook", **members) -> dict:
    return {"type": "Http", "request": {"uri": uri, "method": "GET", **members}}


@pytest.fixture
def loopback(monkeypatch):
    """Resolve names below .example to loopback, and no other name; return the names that were looked up."""
    asked = []

    def lookup(host, port, family):
        asked.append(host)
        if not host.endswith(".example"):
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(addresses, "lookup", lookup)
    return asked


# Which are accepted


@pytest.mark.parametrize(
    "host, ascii_form, unicode_form",
    [
        ("münchen.example", "xn--mnchen-3ya.example", "münchen.example"),
        ("MÜNCHEN.example", "xn--mnchen-3ya.example", "münchen.example"),  # capitals
        ("mu\u0308nchen.example", "xn--mnchen-3ya.example", "münchen.example"),  # not composed
        ("xn--mnchen-3ya.example", "xn--mnchen-3ya.example", "münchen.example"),
        ("straße.example", "xn--strae-oqa.example", "straße.example"),  # IDNA 2003 converts it to strasse
        ("παράδειγμα.δοκιμή", "xn--hxajbheg2az3al.xn--jxalpdlp", "παράδειγμα.δοκιμή"),
        ("例え.テスト", "xn--r8jz45g.xn--zckzah", "例え.テスト"),
        ("مثال.إختبار", "xn--mgbh0fb.xn--kgbechtv", "مثال.إختبار"),
        ("münchen.example.:8080", "xn--mnchen-3ya.example.:8080", "münchen.example."),
        ("_a.münchen.example", "_a.xn--mnchen-3ya.example", "_a.münchen.example"),
        ("plain.example", "plain.example", None),
        ("xn--ls8h.example", "xn--ls8h.example", None),  # a symbol, which IDNA 2008 does not allow
        ("xn--0.example", "xn--0.example", None),  # of an empty text
    ],
)
def test_host_is_stored_in_its_ascii_form_and_shown_in_its_unicode_form(host, ascii_form, unicode_form):
    document = documents.parse(http(f"https://{host}/a?b=c#d")).document

    assert document["request"]["uri"] == f"https://{ascii_form}/a?b=c#d"
    assert unicode_hosts(document).get("request.uri") == unicode_form


@pytest.mark.parametrize(
    "host, reason",
    [
        ("exam\u00adple.example", "Codepoint U+00AD"),  # a soft hyphen
        ("ex\u200bample.example", "Codepoint U+200B"),
        ("a\u200db.example", "Joiner U+200D"),
        ("１２７.0.0.1", "Codepoint U+FF11"),  # wide digits
        ("127。0。0。1", "Codepoint U+3002"),  # another full stop
        ("ⓛocalhost", "Codepoint U+24DB"),
        ("lOCALHOſT", "Codepoint U+017F"),
        ("💩.example", "Codepoint U+1F4A9"),
        ("-ü.example", "hyphen"),
        ("xn--ü.example", "hyphens in 3rd and 4th position"),
        ("aא.example", "Invalid direction"),  # left to right and right to left in one label
        ("ü" * 64 + ".example", "at most 63 characters, not 64"),
        ("ü" * 63 + ".example", "Label too long"),
        ("ü .example", "Codepoint U+0020"),
        ("ü／x.example", "Codepoint U+FF0F"),
    ],
)
def test_host_that_idna_does_not_allow_is_refused_with_the_reason(host, reason):
    with pytest.raises(Invalid) as caught:
        documents.parse(http(f"http://{host}/"))

    assert (caught.value.path, caught.value.code) == ("action.request.uri", "malformed")
    assert caught.value.message.startswith("must have a host name that IDNA 2008 allows: ")
    assert reason in caught.value.message


@pytest.mark.parametrize(
    "uri",
    [
        "http://ü@plain.example/",
        "http://ü:x@plain.example/",
        "http://[ü]/",
        "http://plain.example/ü",
        "http://plain.example:８０/",
        "http://ü\\.example/",
        "ü.example",
        "http://ü..example/",
        "http://.ü.example/",
        "http://\u212aelvin..example/",
    ],
)
def test_other_parts_of_a_uri_must_be_ascii(uri):
    with pytest.raises(Invalid) as caught:
        documents.parse(http(uri))

    assert caught.value.path == "action.request.uri"


def test_error_for_a_refused_host_does_not_contain_a_key():
    with pytest.raises(Invalid) as caught:
        documents.parse(http("http://💩.example/?code=amber-lantern"))

    assert "amber-lantern" not in caught.value.message


def test_token_authority_can_have_an_international_host_too():
    proof = {"type": "ActiveDirectoryOAuth", "tenant": "t", "clientId": "app", "secret": "s"}

    document = documents.parse(http(authentication={**proof, "authority": f"https://{UNICODE}/"})).document

    assert document["request"]["authentication"]["authority"] == f"https://{ASCII}/"
    assert unicode_hosts(document)["request.authentication.authority"] == UNICODE


def test_ascii_and_unicode_forms_are_the_same_host():
    first = documents.parse(http(headers={"X-Api-Key": "amber-lantern"}))
    stored = Action(document=first.document, secrets=first.secrets)

    for host in (UNICODE, ASCII, "MÜNCHEN.example"):
        again = documents.parse(http(f"http://{host}/hook", headers={"X-Api-Key": "********"}), stored)
        assert again == first


# How they are called


def test_ascii_form_is_resolved_and_sent(loopback, peer):
    server = peer(Target)

    outcome = attempt(http(f"http://{UNICODE}:{server.port}/hook"))

    assert outcome.succeeded, outcome
    assert loopback == [ASCII]
    assert server.calls[0].headers["Host"] == f"{ASCII}:{server.port}"
    assert outcome.message == f"Host '{BOTH}' answered 'OK'."


def test_certificate_is_checked_against_the_ascii_form_of_the_host(loopback, peer, authority):
    asked = []
    context = authority.server(ASCII)
    context.sni_callback = lambda connection, name, context: asked.append(name)
    server, other = peer(Target, tls=context), peer(Target, tls=authority.server("munchen.example"))

    def call(port: int):
        return attempt({**http(f"https://{UNICODE}:{port}/", certificateAuthority=authority.pem), "type": "Https"})

    assert call(server.port).succeeded
    assert asked == [ASCII]
    assert f"The certificate of host '{BOTH}' is not accepted" in call(other.port).message


def test_addresses_of_an_international_host_are_checked(loopback, peer, settings):
    settings.EGRESS_ALLOW = []
    server = peer(Target)

    outcome = attempt(http(f"http://{UNICODE}:{server.port}/"))

    assert outcome.message == f"Host '{BOTH}' was not called: it has an address that calls may not reach."
    assert server.calls == []


# How they are shown


def test_own_api_returns_both_forms_of_the_host(api, collection):
    action = {**http(), "errorAction": http("https://例え.テスト/")}
    response = api.post("/api/jobs", {"collection": collection.pk, "name": "new", "action": action})

    assert response.status_code == 201, response.content
    job = response.json()
    assert job["action"]["request"]["uri"] == f"http://{ASCII}/hook"
    assert job["unicodeHosts"] == {"request.uri": UNICODE, "errorAction.request.uri": "例え.テスト"}
    assert api.put(f"/api/jobs/{job['id']}", {"action": job["action"]}).json()["revision"] == 1
    assert api.put(f"/api/jobs/{job['id']}", {"action": action}).json()["revision"] == 1
    assert api.put(f"/api/jobs/{job['id']}", {"action": http("http://plain.example/")}).json()["unicodeHosts"] == {}


def test_azure_contract_returns_the_ascii_form_of_the_host(arm, collection):
    response = properties(arm.put(arm.job(), arm_body(action=http())))

    assert response["action"]["request"]["uri"] == f"http://{ASCII}/hook"
    assert refusal(arm.put(arm.job(), arm_body(action=http("http://💩.example/")))) == (
        *(400, "BadRequest"),
        "properties.action.request.uri",
    )


@pytest.mark.parametrize(
    "uri, words",
    [
        (f"http://{ASCII}:8080/Hook/", f"GET {UNICODE}:8080/Hook ({ASCII})"),
        (f"http://{ASCII.upper()}/Hook", f"GET {UNICODE}/Hook ({ASCII})"),
        ("http://plain.example/Hook", "GET plain.example/Hook"),
    ],
)
def test_summary_of_an_action_shows_both_forms_of_the_host(uri, words):
    assert action_in_words(http(uri)) == words


def test_test_call_shows_both_forms_of_the_host(loopback, make_job, peer):
    job = make_job(action=http(f"http://{UNICODE}:{peer(Target).port}/"))

    assert run_call_test(job, Part.ACTION, NOW).result.message == f"Host '{BOTH}' answered 'OK'."


def test_history_shows_both_forms_of_the_host(loopback, make_job, work, api, peer):
    make_job(action=http(f"http://{UNICODE}:{peer(Target).port}/"))
    run = the_run()

    work(run)

    (attempted,) = api.get(f"/api/runs/{run.pk}").json()["attempts"]
    assert attempted["message"] == f"Host '{BOTH}' answered 'OK'."


@pytest.mark.parametrize("host", ["plain.example", "xn--a-ecp.ru", "xn--", "xn--.example", "127.0.0.1", "::1", ""])
def test_other_hosts_are_shown_in_one_form(host):
    assert host_names.in_both_forms(host) == host


def test_job_form_shows_both_forms_of_the_host(client, owner, make_job):
    client.force_login(owner)
    alarm = {"type": "Http", "request": {"uri": f"http://{UNICODE}/alarm", "method": "POST"}}
    job = make_job(action={**http(), "errorAction": alarm})

    page = client.get(f"/admin/jobs/job/{job.pk}/change/").text

    assert page.count(f"Stored host: {UNICODE}.") == 2
    assert f'value="http://{ASCII}/hook"' in page
    assert f"http://{ASCII}/alarm</textarea>" in page  # still an address, not JSON
    assert BOTH.replace(UNICODE, f"{UNICODE}/hook") in client.get(f"/admin/jobs/job/{job.pk}/").text


def test_saving_an_unchanged_job_form_changes_nothing(client, owner, make_job):
    client.force_login(owner)
    job = make_job(action=http())
    address = f"/admin/jobs/job/{job.pk}/change/"

    client.post(address, submitted(client.get(address).text, "job_form"))

    assert Job.objects.get().revision == 1
