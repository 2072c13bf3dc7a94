"""The API is tested with valid and invalid requests generated from its description; responses must match it."""

import uuid
from copy import deepcopy

import pytest
import schemathesis
from django.core.cache import cache
from hypothesis import HealthCheck, settings
from schemathesis.generation.feedback import FeedbackSources
from schemathesis.pytest._test_builder import build_operation_test
from schemathesis.specs.openapi import checks

from accounts.models import SignInCounter
from calendars import ids
from jobs.actions.secret_names import is_secret_header
from scheduler_site.wsgi import application
from tests.site.description import DESCRIPTION

OFF = {"enabled": False}
SETTINGS = {
    "operations": [
        # the action of a job has many members: every combination of valid and invalid values would take minutes.
        # test_examples.py sends the examples
        {"include-path-regex": "^/api/jobs", "phases": {"coverage": OFF, "examples": OFF}},
        # PATCH of a trigger receives the same members
        {"include-path-regex": "^/api/triggers", "include-method": ["POST", "PUT"], "phases": {"coverage": OFF}},
    ],
}
SECRETS = ("password", "pfx", "secret", "sasToken", "sasKey")
description = schemathesis.openapi.from_dict(deepcopy(DESCRIPTION), config=schemathesis.Config.from_dict(SETTINGS))
description.app = application


def is_id(value: object) -> bool:
    if isinstance(value, str) and ids.parse(value):
        return True
    if isinstance(value, str):
        try:
            uuid.UUID(value)
        except ValueError:
            return False
        return True
    return isinstance(value, int)


def with_long_secrets(value: object) -> object:
    """Return the body with secrets that are long enough for the watch over secrets to find them."""
    if isinstance(value, list):
        return [with_long_secrets(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: f"{member}violet-harbour" if isinstance(member, str) and is_secret(name) else with_long_secrets(member)
        for name, member in value.items()
    }


def is_secret(name: str) -> bool:
    return name in SECRETS or is_secret_header(name)


OPERATIONS = [(path, method) for path, item in DESCRIPTION["paths"].items() for method in item]


# `description.parametrize` would generate the requests of all operations in each process that collects tests
@pytest.mark.parametrize("path, method", OPERATIONS)
def test_responses_match_the_description(path, method, token, existing):
    @settings(max_examples=20, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    def validate(case):
        cache.clear()
        SignInCounter.objects.all().delete()  # wrong credentials in generated requests must not lock the account
        if is_id(case.path_parameters.get("id")):
            case.path_parameters["id"] = existing[case.path.split("/")[2]]
        case.body = with_long_secrets(case.body)

        case.call_and_validate(
            headers={"Authorization": f"Bearer {token}"},
            excluded_checks=[checks.positive_data_acceptance, checks.negative_data_rejection],
        )

    run_with_generated_requests = build_operation_test(
        config=description.config,
        operation=description[path][method],
        test_func=validate,
        given_kwargs={},
        feedback=FeedbackSources(),
    )
    run_with_generated_requests()
