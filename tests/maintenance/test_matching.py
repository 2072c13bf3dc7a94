"""Matching of policies: only policies that can match a notice are read, and none of them is missed."""

import json

import pytest

from maintenance import holds
from maintenance.models import JobMaintenancePolicy
from maintenance.queries import matching_q
from tests.maintenance.notices import announce, resource, set_policy

pytestmark = pytest.mark.django_db

UNUSUAL_TEXTS = (
    'a "quoted" name',
    "back\\slash",
    "Ünï ☃ 🕐",
    "100%",
    "{0}",
    "'; --",
    "line\nend",
    "null",
    "1",
    "$.a",
    "[]",
)


def jobs_read(notice) -> list[str]:
    """Return the jobs whose policies are read for a notice; they include all matching jobs."""
    policies = JobMaintenancePolicy.objects.filter(matching_q(holds.load_notices([notice]))).order_by("job__name")
    names = list(policies.values_list("job__name", flat=True))
    assert {policy.job.name for policy in holds.matching_policies([notice])[notice.pk]} <= set(names)
    return names


def matching_jobs(notice) -> list[str]:
    return [policy.job.name for policy in holds.matching_policies([notice])[notice.pk]]


@pytest.mark.parametrize("name", UNUSUAL_TEXTS)
def test_policy_matches_by_resource_name_with_any_characters(subscription, make_job, name):
    set_policy(make_job("names"), "other", name)
    set_policy(make_job("differs"), name.swapcase() + "x", json.dumps(name))

    notice = announce(resource(subscription, "first"), resource(subscription, name.replace("\n", " ")))

    expected = [] if "\n" in name else ["names"]  # resource names cannot contain line breaks
    assert jobs_read(notice) == matching_jobs(notice) == expected


@pytest.mark.parametrize("text", UNUSUAL_TEXTS)
def test_policy_matches_by_label_with_any_characters(subscription, make_job, text):
    for job, labels in {
        "both": {text: text, "rack": "r7"},
        "one": {text: text},
        "too-many": {text: text, "row": "3"},
        "key-only": {text: "other"},
        "value-only": {"rack": text},
    }.items():
        set_policy(make_job(job), "elsewhere", labels=labels)

    notice = announce(resource(subscription, "db-1"), resource(subscription, "db-2", labels={text: text, "rack": "r7"}))

    assert matching_jobs(notice) == ["both", "one"]
    assert jobs_read(notice) == ["both", "one", "too-many"]


def test_labels_must_all_be_of_one_resource(subscription, make_job):
    set_policy(make_job(), "elsewhere", labels={"rack": "r7", "row": "3"})

    notice = announce(
        resource(subscription, "db-1", labels={"rack": "r7"}), resource(subscription, "db-2", labels={"row": "3"})
    )

    assert matching_jobs(notice) == []


def test_policies_of_other_resources_are_not_read(subscription, make_job):
    for number in range(3):
        set_policy(make_job(f"elsewhere-{number}"), f"web-{number}", labels={"rack": f"r{number}"})
    set_policy(make_job("here"), "db-2")

    assert jobs_read(announce(resource(subscription, labels={"rack": "r7"}))) == ["here"]
    assert jobs_read(announce(resource(subscription, "alone"))) == []
