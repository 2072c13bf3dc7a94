"""Placeholders in what a job sends: filled in, escaped for their place, and checked when the job is saved."""

import json
import re
from dataclasses import replace
from urllib.parse import parse_qsl
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.errors import Invalid
from jobs.actions import documents, http, prepare, templates
from jobs.actions.result import Context
from tests.jobs.attempts import CONTEXT

# characters that names of jobs cannot have today: escaping must not depend on that rule
MALICIOUS = replace(CONTEXT, job_name="a\"b\\c&d<e>'f/g?h#i=j k\r\nX-Injected: 1\0ü{{ run_id }}")


def action(template=True, type="Http", **request) -> dict:
    return {"type": type, "template": template, "request": {"uri": "https://example.com/", "method": "POST", **request}}


def prepared(document: dict, context: Context = CONTEXT) -> http.Call:
    parsed = documents.parse(document)
    return prepare(parsed.document, parsed.secrets, context)


def refusal(document: dict) -> Invalid:
    with pytest.raises(Invalid) as caught:
        documents.parse(document)
    return caught.value


# Placeholders that are filled in


@pytest.mark.parametrize(
    "text, filled",
    [
        ("{{ fire_time }}", "2026-01-05T08:00:00Z"),
        ("{{ attempt }}", "3"),
        ("{{ run_id }}", "00000000-0000-0000-0000-000000000007"),
        ("{{ job.name }}", "backup"),
        ("{{ collection.name }}", "nightly"),
        ("{{job.name}}", "backup"),
        ("{{   job.name   }}", "backup"),
        ("{{job.name}}{{attempt}}", "backup3"),
        ("{{ job.name }} {{ job.name }}", "backup backup"),
        ('{{ "{{" }}', "{{"),
        ('{{"{{"}}', "{{"),
        ('{{ "{{" }} job.name }}', "{{ job.name }}"),
        ('{{ "{{" }}{{ job.name }}', "{{backup"),
        ("}} }", "}} }"),
        ("{ job.name }", "{ job.name }"),
        ('{"a": {"b": 1}}', '{"a": {"b": 1}}'),
        ("{{{job.name}}", None),  # it is ambiguous which braces begin it
        ("", ""),
    ],
)
def test_placeholders_are_filled_in(text, filled):
    if filled is None:
        assert refusal(action(body=text)).path == "action.request.body"
    else:
        assert prepared(action(body=text)).body == filled


def test_placeholders_are_filled_in_everywhere():
    document = action(
        uri="https://example.com/{{ job.name }}/{{ run_id }}?attempt={{ attempt }}#{{ attempt }}",
        headers={"X-Job": "of {{ collection.name }}", "Content-Type": "text/plain"},
        body="at {{ fire_time }}",
    )

    call = prepared(document)

    assert str(call.url) == f"https://example.com/backup/{CONTEXT.run_id}?attempt=3#3"
    assert call.headers["X-Job"] == "of nightly"
    assert call.body == "at 2026-01-05T08:00:00Z"


def test_error_action_has_its_own_template_flag():
    document = action(False, body="{{ job.name }}") | {"errorAction": action(body="{{ job.name }}")}

    parsed = documents.parse(document).document

    assert prepare(parsed, {}, CONTEXT).body == "{{ job.name }}"
    assert prepare(parsed["errorAction"], {}, CONTEXT).body == "backup"


@pytest.mark.parametrize("flag", [False, None])
def test_braces_are_unchanged_without_template(flag):
    texts = {
        "uri": "https://example.com/{{job.name}}/{{nothing}}?{{",
        "headers": {"X-Braces": "{{ job.name }} {{ nothing }} {{"},
        "body": '{{ job.name }} {{ nothing }} {{ "{{" }} {%',
    }

    call = prepared(action(flag, **texts))

    assert str(call.url) == texts["uri"]
    assert call.headers["X-Braces"] == texts["headers"]["X-Braces"]
    assert call.body == texts["body"]


def test_placeholders_in_a_credential_are_not_filled_in():
    call = prepared(action(headers={"Authorization": "Bearer {{ job.name }}"}))

    assert call.headers["Authorization"] == "Bearer {{ job.name }}"


def test_document_is_stored_with_its_placeholders():
    document = action(uri="https://example.com/{{ job.name }}", body="{{ attempt }}")

    assert documents.parse(document).document == document


# Escapes


def prepared_with_malicious_name(**request) -> http.Call:
    return prepared(action(**request), MALICIOUS)


@pytest.mark.parametrize("place", ["/{{ job.name }}/x", "/?q={{ job.name }}&r=1", "/#{{ job.name }}"])
def test_value_in_a_uri_cannot_start_another_part(place):
    url = prepared_with_malicious_name(uri=f"https://example.com{place}").url

    assert url.host == "example.com"
    assert re.fullmatch(r"[!-~]+", str(url))
    if "?" in place:
        assert parse_qsl(url.raw_query_string) == [("q", MALICIOUS.job_name), ("r", "1")]
    assert str(url).count("/") == place.count("/") + 2
    assert url.raw_path.count("?") == 0


def test_value_in_a_header_cannot_start_another_line():
    value = prepared_with_malicious_name(headers={"X-Job": "of {{ job.name }}!"}).headers["X-Job"]

    assert value == "of a\"b\\c&d<e>'f/g?h#i=j kX-Injected: 1{{ run_id }}!"


@pytest.mark.parametrize("type_", ["application/json", "application/JSON; charset=utf-8", "application/problem+json"])
def test_value_in_json_cannot_end_its_string(type_):
    body = prepared_with_malicious_name(headers={"content-type": type_}, body='{"job": "{{ job.name }}", "n": 1}').body

    assert json.loads(body) == {"job": MALICIOUS.job_name, "n": 1}


@pytest.mark.parametrize("type_", ["application/xml", "text/xml;charset=utf-8", "application/atom+xml", "text/html"])
def test_value_in_xml_cannot_end_its_element(type_):
    context = replace(MALICIOUS, job_name=MALICIOUS.job_name.replace("\0", "").replace("\r", ""))
    document = action(headers={"Content-Type": type_}, body='<job name="{{ job.name }}">{{ job.name }}</job>')

    job = ElementTree.fromstring(prepared(document, context).body)

    assert job.text == context.job_name
    assert job.get("name") == context.job_name.replace("\n", " ")  # parsers normalize attributes
    assert len(job) == 0


def test_value_in_form_data_cannot_start_another_field():
    headers = {"Content-Type": "application/x-www-form-urlencoded"}

    body = prepared_with_malicious_name(headers=headers, body="job={{ job.name }}&n=1").body

    assert parse_qsl(body) == [("job", MALICIOUS.job_name), ("n", "1")]


@pytest.mark.parametrize("headers", [{}, {"Content-Type": "text/plain"}, {"Content-Type": "jsonp"}])
def test_value_in_plain_text_is_not_escaped(headers):
    assert prepared_with_malicious_name(headers=headers, body="{{ job.name }}").body == MALICIOUS.job_name


def test_placeholders_in_a_value_are_not_filled_in():
    assert "{{ run_id }}" in prepared_with_malicious_name(body="{{ job.name }}").body


def test_content_type_can_have_placeholders():
    headers = {"Content-Type": "application/json; job={{ job.name }}"}

    call = prepared(action(headers=headers, body='"{{ job.name }}"'))

    assert call.headers["Content-Type"] == "application/json; job=backup"


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=50))
def test_any_name_is_escaped_correctly_in_every_place(name):
    context = replace(CONTEXT, job_name=name)

    def filled(type_: str, text: str) -> str:
        return templates.filler(context)(text, templates.in_body(type_))

    assert json.loads(filled("application/json", '["{{ job.name }}"]')) == [name]
    assert parse_qsl(filled("application/x-www-form-urlencoded", "a={{ job.name }}"), keep_blank_values=True) == [
        ("a", name)
    ]
    assert re.fullmatch(r"[ -~]*", templates.in_header(name))
    assert re.fullmatch(r"[A-Za-z0-9_.~%-]*", templates.in_uri(name))


# Templates that are refused when a job is saved


@pytest.mark.parametrize(
    "text",
    [
        "{{",
        "{{ }}",
        "{{}}",
        "{{ nothing }}",
        "{{ job }}",
        "{{ job.secret }}",
        "{{ job.name.upper }}",
        "{{ job.name | upper }}",
        "{{ JOB.NAME }}",
        "{{ jobXname }}",
        "{{ job.name }",
        "{{ job.name",
        "{{ job .name }}",
        "{{\tjob.name }}",
        "{{\njob.name\n}}",
        "{{ job.name }} {{ __class__ }}",
        "{{ '{{' }}",
        '{{ "}}" }}',
        '{{ "x" }}',
        "{{ 7 * 7 }}",
        "{{ run_id, attempt }}",
        "{{{{ run_id }}}}",
        "{{ secrets.password }}",
        "{{ settings.SECRET_KEY }}",
        "{{ ｊob.name }}",
    ],
)
@pytest.mark.parametrize("place", ["uri", "headers.X-Job", "body"])
def test_malformed_placeholder_is_refused_with_its_place(text, place):
    request = {
        "uri": {"uri": f"https://example.com/{text}"},
        "headers.X-Job": {"headers": {"X-Job": text}},
        "body": {"body": text},
    }[place]

    error = refusal(action(**request))

    assert (error.path, error.code) == (f"action.request.{place}", "malformed")


def test_error_names_the_unknown_placeholder_and_the_known_ones():
    message = refusal(action(body="fine {{ job.name }} but {{ job.owner }}")).message

    assert "'{{ job.owner }}'" in message
    assert "fire_time, attempt, run_id, job.name, collection.name" in message


def test_error_contains_only_a_part_of_a_long_placeholder():
    assert len(refusal(action(body="{{" + "x" * 8000)).message) < 400


@pytest.mark.parametrize(
    "uri",
    [
        "https://{{ job.name }}/",
        "https://{{ job.name }}.example.com/",
        "https://example.com{{ job.name }}/",
        "https://example.{{ job.name }}",
        "https://example.com:{{ attempt }}/",
        "https://example.com:80{{ attempt }}/",
        "https://{{ job.name }}@example.com/",
        "https://user:{{ job.name }}@example.com/",
        "{{ job.name }}://example.com/",
        "{{ job.name }}",
        "http{{ job.name }}://example.com/",
        "https:{{ job.name }}//example.com/",
        "https:/{{ job.name }}/example.com/",
        "https://{{ job.name }}",
        "https:///{{ job.name }}/",
        "https:////{{ job.name }}/",
        "https://[{{ job.name }}]/",
        "https://[::{{ attempt }}]/",
        'https://{{ "{{" }}/',
        "https://\\{{ job.name }}/",
        "https://?{{ job.name }}",
        "https://#{{ job.name }}",
    ],
)
def test_placeholder_in_the_scheme_or_host_is_refused(uri):
    assert refusal(action(uri=uri)).path == "action.request.uri"


@pytest.mark.parametrize(
    "uri",
    [
        "https://example.com/{{ job.name }}",
        "https://example.com?{{ job.name }}",
        "https://example.com#{{ job.name }}",
        "https://example.com//{{ job.name }}",
        "https://example.com/?//{{ job.name }}",
        "https://example.com?/{{ job.name }}",
        "https://example.com/#/{{ job.name }}",
        "https://example.com:8080/{{ job.name }}",
        "https://[::1]:8080/{{ job.name }}",
        'https://example.com/{{ "{{" }}x',
    ],
)
def test_placeholders_are_accepted_anywhere_after_the_host(uri):
    url = prepared(action(uri=uri), MALICIOUS).url

    assert url.host in ("example.com", "::1")


@pytest.mark.parametrize("uri", ["https://example.com/ {{ job.name }}", "https://example.com/{{ job.name }}\u00fc"])
def test_uri_with_placeholders_is_checked_like_others(uri):
    assert refusal(action(uri=uri)).path == "action.request.uri"


@pytest.mark.parametrize("flag", [1, "true", "", [], {}])
def test_template_must_be_true_or_false(flag):
    assert refusal(action(flag)).path == "action.template"


def test_placeholder_in_the_name_of_a_header_is_refused():
    assert refusal(action(headers={"X-{{ job.name }}": "x"})).path == "action.request.headers"


PIECES = ["{", "}", "{{", "}}", " ", '"', "x", "job.name", "{{ attempt }}", '{{ "{{" }}']


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_accepted_text_contains_no_other_opening_braces_than_placeholders(text):
    try:
        templates.refuse_unknown(text)
    except ValueError:
        return

    assert "{{" not in templates.sample(text)
