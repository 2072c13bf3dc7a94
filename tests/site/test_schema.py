"""The description of our API, and its pages."""

import re
from collections.abc import Iterator

import pytest
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.validation import validate_schema

from scheduler_site import docs
from tests.racing import at_once
from tests.site.description import DESCRIPTION
from tests.site.test_tenancy import API_ROUTES


@pytest.fixture(scope="module")
def schema() -> dict:
    GENERATOR_STATS.reset()
    described = SchemaGenerator().get_schema(request=None, public=True)
    assert not GENERATOR_STATS._warn_cache
    assert not GENERATOR_STATS._error_cache
    return described


def test_description_is_valid(schema):
    validate_schema(schema)


def test_description_contains_exactly_the_routes_of_the_api(schema):
    routes = {"/" + re.sub(r"<(?:\w+:)?\w+>", "{id}", route) for route in API_ROUTES} - {"/api/schema", "/api/docs"}

    assert set(schema["paths"]) == routes


def test_every_operation_describes_its_error_responses(schema):
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            expected = {"400", "401", "403", "406", "429"} | ({"404"} if "{" in path else set())
            assert expected <= set(operation["responses"]), (method, path)


@pytest.mark.parametrize("path", ["/api/collections/{id}", "/api/jobs/{id}"])
def test_conditional_headers_are_described(schema, path):
    described = schema["paths"][path]
    headers = {
        method: {each["name"] for each in operation["parameters"] if each["in"] == "header"}
        for method, operation in described.items()
    }

    assert headers == {
        "get": {"If-None-Match"},
        "put": {"If-Match", "If-None-Match"},
        "patch": {"If-Match", "If-None-Match"},
        "delete": {"If-Match"},
    }
    assert [method for method, operation in described.items() if "412" in operation["responses"]] == [
        "put",
        "patch",
        "delete",
    ]
    assert "content" not in described["get"]["responses"]["304"]
    for method in ("get", "put", "patch"):
        assert "ETag" in described[method]["responses"]["200"]["headers"]


@pytest.mark.parametrize(
    "path",
    [f"/api/collections/{{id}}/{command}" for command in ("enable", "disable")]
    + [f"/api/jobs/{{id}}/{command}" for command in ("pause", "resume", "run")],
)
def test_commands_accept_if_match(schema, path):
    operation = schema["paths"][path]["post"]

    assert "If-Match" in {each["name"] for each in operation["parameters"]}
    assert "412" in operation["responses"]


def test_no_schema_of_a_patch_has_a_default(schema):
    """A generated client would send it with every request, and so reset members that its caller does not set."""
    bodies = {
        path: operations["patch"]["requestBody"]["content"]
        for path, operations in schema["paths"].items()
        if "patch" in operations
    }

    assert bodies
    assert {path: found for path, body in bodies.items() if (found := [*defaults(schema, body)])} == {}


def defaults(schema: dict, part: object, place: str = "") -> Iterator[str]:
    """Yield the places with a default; references are resolved."""
    if isinstance(part, list):
        part = dict(enumerate(part))
    if isinstance(part, dict):
        if "default" in part and place.rpartition(".")[2] != "properties":
            yield place
        for name, member in part.items():
            if name == "$ref":
                component = member.rpartition("/")[2]
                yield from defaults(schema, schema["components"]["schemas"][component], f"{place} {component}")
            else:
                yield from defaults(schema, member, f"{place}.{name}")


def test_merged_object_of_a_patch_has_no_required_members(schema):
    request = schema["components"]["schemas"]["PatchedHttpRequest"]

    assert "required" not in request
    assert request["properties"]["body"]["nullable"]  # null removes it
    assert "nullable" not in request["properties"]["uri"]  # which cannot be removed
    assert "required" in schema["components"]["schemas"]["HttpRequest"]


def test_secrets_are_described_as_write_only(schema):
    members = {name: each for name, each in schema["components"]["schemas"].items() if name != "NewSigningSecret"}
    secrets = [
        properties[name]
        for component in members.values()
        for properties in [component.get("properties", {})]
        for name in ("password", "pfx", "secret", "sasToken", "sasKey")
        if name in properties
    ]

    assert secrets
    assert all(secret.get("writeOnly") for secret in secrets)


def test_secrets_in_examples_are_masked(schema):
    """Each of them is three dots, or a prefix with three dots."""
    shown = re.findall(r"'(?:password|pfx|secret|sasToken|sasKey|token)': '([^']*)'", str(schema))

    assert len(shown) >= 5
    assert {text.removeprefix("whsec_") for text in shown} == {"..."}


@pytest.mark.parametrize("path", ["/api/schema", "/api/schema/"])
def test_description_needs_no_sign_in(api_of, path):
    response = api_of().get(path)

    assert response.status_code == 200
    assert response["Content-Type"].startswith("application/vnd.oai.openapi")
    assert b"/api/schedules/preview" in response.content


@pytest.mark.parametrize("accept", ["*/*", "text/html", "application/yaml"])
def test_description_is_available_as_json(api_of, accept):
    by_header = api_of().get("/api/schema", HTTP_ACCEPT="application/json")
    by_query = api_of().get("/api/schema?format=json", HTTP_ACCEPT=accept)

    assert by_header.json()["info"]["title"] == "Quando"
    assert by_query["Content-Type"] == "application/json"
    assert by_query.json() == by_header.json()


def test_description_is_available_as_yaml(api_of):
    response = api_of().get("/api/schema?format=yaml", HTTP_ACCEPT="application/json")

    assert response["Content-Type"].startswith("application/yaml")
    assert response.content.startswith(b"openapi:")


def test_other_format_of_the_description_is_refused(api_of):
    response = api_of().get("/api/schema?format=xml")

    assert response.status_code == 400
    assert response.json()["error"]["target"] == "format"


def test_description_is_generated_once_for_each_format(api_of, monkeypatch):
    """Anyone may request it, and generating it takes a second: queries and headers neither repeat nor change it."""
    generated = []
    parse = SchemaGenerator.parse
    monkeypatch.setattr(SchemaGenerator, "parse", lambda *args: generated.append(args) or parse(*args))
    docs.make_description.cache_clear()

    first = api_of().get("/api/schema?format=json")
    queries = ["version=1", "version=%0d%0aa:b", "lang=de", "lang=xx-yy", "a=1"]
    others = [api_of().get(f"/api/schema?format=json&{query}", HTTP_COOKIE=f"a={query}") for query in queries]

    assert [(each.status_code, each.content == first.content) for each in others] == [(200, True)] * len(queries)
    assert len(generated) == 1


def test_description_is_made_once_for_requests_that_arrive_together():
    docs.make_description.cache_clear()

    raised = at_once(*[lambda: docs.description(docs.OpenApiJsonRenderer2)] * 3)

    assert (raised, docs.make_description.cache_info().misses) == ([], 1)


@pytest.mark.parametrize("path", ["/api/docs", "/api/docs/"])
def test_pages_of_the_description_load_nothing_from_other_sites_and_have_no_inline_code(api_of, path):
    response = api_of().get(path)

    page = response.content.decode()
    assert response.status_code == 200
    addresses = re.findall(r'(?:src|href)="([^"]*)"', page)
    assert len(addresses) >= 5
    assert all(re.match(r"/(?!/)|#", address) for address in addresses)
    assert "<style" not in page
    assert not re.search(r"<script(?![^>]*\bsrc=)", page)
    assert "'unsafe-inline'" not in response["Content-Security-Policy"]


def test_script_of_the_description_pages_is_a_separate_file_that_requests_nothing_from_other_sites(api_of):
    response = api_of().get("/api/docs?script=")

    script = response.content.decode()
    assert response["Content-Type"].startswith("application/javascript")
    assert '"validatorUrl": null' in script
    assert "/api/schema" in script


def test_request_objects_have_no_additional_members(schema):
    components = schema["components"]["schemas"]

    for name in ("JobRequest", "JobReplacement", "PatchedJobReplacement", "HttpAction", "HttpRequest", "Recurrence"):
        assert components[name]["additionalProperties"] is False
    assert components["TriggerRequest"]["properties"]["triggerDataMap"]["additionalProperties"] == {}
    assert "additionalProperties" not in components["Job"]


def test_descriptions_of_bodies_explain_omitted_members():
    texts = {name: schema.get("description", "") for name, schema in DESCRIPTION["components"]["schemas"].items()}
    replacements = {name for name in texts if name.endswith("Replacement") and not name.startswith("Patched")}

    assert len(replacements) >= 5
    assert {name for name in replacements if "is omitted gets its default" not in texts[name]} == set()
    assert {name for name in replacements if "is omitted keeps its value" not in texts[f"Patched{name}"]} == set()
