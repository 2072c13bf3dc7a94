"""All errors have the same form of body."""

import pytest
from django.core.exceptions import ValidationError as ModelValidationError
from django.db import DataError
from django.http import Http404
from rest_framework import exceptions
from rest_framework.response import Response

from api.errors import Conflict, Invalid
from jobs.errors import QuotaExceeded
from recurrence.wire import WireError
from scheduler_site.errors import handle


def error_of(response: Response) -> dict:
    return response.data["error"]


@pytest.mark.parametrize(
    "exception, status, code, target",
    [
        (WireError("recurrence.interval", "out_of_range", "must be 1"), 400, "out_of_range", "recurrence.interval"),
        (Invalid("must be", path="action.type", code="required"), 400, "required", "action.type"),
        (Conflict("is over"), 409, "conflict", None),
        (QuotaExceeded("is full", path="sku"), 409, "quota_exceeded", "sku"),
        (exceptions.ValidationError({"a": {"b": ["wrong"]}}, "odd"), 400, "odd", "a.b"),
        (exceptions.ValidationError({"a": [{}, {"b": ["wrong"]}]}), 400, "invalid", "a[1].b"),
        (exceptions.ValidationError({"a": {1: ["wrong"]}}), 400, "invalid", "a[1]"),
        (exceptions.ValidationError({"a": {"non_field_errors": ["wrong"]}}), 400, "invalid", "a"),
        (exceptions.ValidationError("wrong"), 400, "invalid", None),
        (ModelValidationError({"name": "wrong"}), 400, "invalid", "name"),
        (exceptions.ParseError("what", "not_json"), 400, "not_json", None),
        (Http404("No Job matches the given query."), 404, "not_found", None),
        (exceptions.MethodNotAllowed("PUT"), 405, "method_not_allowed", None),
        (exceptions.UnsupportedMediaType("x/y"), 415, "unsupported_media_type", None),
        (exceptions.Throttled(2.1), 429, "throttled", None),
        (DataError("value too long for type character varying(100)"), 400, "invalid", None),
    ],
)
def test_exception_becomes_status_code_message_and_target(exception, status, code, target):
    response = handle(exception, {})

    error = error_of(response)
    assert (response.status_code, error["code"], error["target"]) == (status, code, target)
    assert error["message"]


def test_message_of_the_database_is_not_returned():
    assert "varying" not in error_of(handle(DataError("character varying(100)"), {}))["message"]


def test_view_of_another_protocol_can_set_error_codes():
    class View:
        error_codes = {404: "ResourceNotFound"}

    assert error_of(handle(Http404(), {"view": View()}))["code"] == "ResourceNotFound"
    assert error_of(handle(Conflict("x"), {"view": View()}))["code"] == "conflict"


def test_several_errors_are_listed_in_details():
    error = error_of(handle(exceptions.ValidationError({"a": ["one", "two"], "b": ["three"]}), {}))

    assert (error["target"], error["message"]) == ("a", "one")
    assert [(d["target"], d["message"]) for d in error["details"]] == [("a", "one"), ("a", "two"), ("b", "three")]


def test_error_message_does_not_repeat_a_long_input():
    error = error_of(handle(exceptions.ValidationError({"a": ["x" * 10_000]}), {}))

    assert len(error["message"]) <= 200


def test_retry_after_is_rounded_up_to_whole_seconds():
    assert handle(exceptions.Throttled(2.1), {})["Retry-After"] == "3"


def test_unexpected_exception_is_not_handled():
    assert handle(KeyError("x"), {}) is None


@pytest.mark.parametrize("path", ["/api", "/api/", "/api/nothing", "/api/jobs/x/y"])
def test_unknown_address_of_an_api_returns_json(api, path):
    response = api.get(path)

    assert response.status_code == 404
    assert response.json()["error"] == {
        "code": "not_found",
        "message": "there is nothing here, or nothing that you may see",
        "target": None,
    }


@pytest.mark.parametrize("path", ["/api/jobs", "/api/jobs/", "/api/schedules/preview/", "/api/tokens/"])
@pytest.mark.parametrize("method", ["get", "post"])
def test_a_slash_at_the_end_makes_no_difference_and_no_redirect(api, path, method):
    with_slash = getattr(api, method)(path)
    without = getattr(api, method)(path.rstrip("/"))

    assert with_slash.status_code == without.status_code
    assert with_slash.status_code not in (301, 302, 307, 308, 404)


def test_a_wrong_method_names_the_right_ones(api):
    response = api.delete("/api/jobs")

    assert response.status_code == 405
    assert {"GET", "POST"} <= set(response["Allow"].split(", "))
    assert response.json()["error"]["code"] == "method_not_allowed"


@pytest.mark.parametrize("path", ["/api/schema", "/api/schema/", "/api/docs", "/api/docs/"])
@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
def test_errors_of_the_description_and_its_pages_have_the_same_form(api_of, path, method):
    response = getattr(api_of(), method)(path)

    assert (response.status_code, response["Content-Type"]) == (405, "application/json")
    assert response.json()["error"]["code"] == "method_not_allowed"
    assert "GET" in response["Allow"]


def test_every_response_has_a_request_id(api):
    assert api.get("/api/jobs")["x-ms-request-id"] != api.get("/api/nothing")["x-ms-request-id"]


def test_response_to_a_bug_has_no_details(api, monkeypatch):
    """The bug is patched into the code: no request can cause one."""

    def broken(*args):
        raise RuntimeError("the secret is 42")

    monkeypatch.setattr("accounts.api.rendered_subscriptions", broken)
    api.raise_request_exception = False

    response = api.get("/api/subscriptions")

    assert response.status_code == 500
    assert response.json()["error"]["code"] == "internal_error"
    assert "42" not in response.content.decode()


def test_page_refuses_too_many_parameters(client, owner):
    client.force_login(owner)

    assert client.get("/calendar/?" + "&".join(f"a{number}=1" for number in range(1001))).status_code == 400
