"""Of all that jobs say about maintenance, only what may concern a notice is read, and none of that is missed."""

import json

import pytest

from maintenance import holds
from maintenance.models import JobMaintenancePolicy
from maintenance.queries import matching_q
from tests.maintenance.notices import announce, resource, set_policy

pytestmark = pytest.mark.django_db

ODD = ('a "quoted" name', "back\\slash", "Ünï ☃ 🕐", "100%", "{0}", "'; --", "line\nend", "null", "1", "$.a", "[]")


def read_for(notice) -> list[str]:
    """The jobs whose policies are read for a notice; among them are all that it concerns."""
    read = JobMaintenancePolicy.objects.filter(matching_q(holds.load_notices([notice]))).order_by("job__name")
    names = list(read.values_list("job__name", flat=True))
    assert {policy.job.name for policy in holds.matching_policies([notice])[notice.pk]} <= set(names)
    return names


def concerned_by(notice) -> list[str]:
    return [policy.job.name for policy in holds.matching_policies([notice])[notice.pk]]


@pytest.mark.parametrize("name", ODD)
def test_a_job_is_found_by_the_name_of_a_resource_whatever_that_is(subscription, make_job, name):
    set_policy(make_job("names"), "other", name)
    set_policy(make_job("differs"), name.swapcase() + "x", json.dumps(name))

    notice = announce(resource(subscription, "first"), resource(subscription, name.replace("\n", " ")))

    expected = [] if "\n" in name else ["names"]  # such a name no resource can have
    assert read_for(notice) == concerned_by(notice) == expected


@pytest.mark.parametrize("text", ODD)
def test_a_job_is_found_by_a_label_whatever_that_is(subscription, make_job, text):
    for job, labels in {
        "both": {text: text, "rack": "r7"},
        "one": {text: text},
        "too-many": {text: text, "row": "3"},
        "key-only": {text: "other"},
        "value-only": {"rack": text},
    }.items():
        set_policy(make_job(job), "elsewhere", labels=labels)

    notice = announce(resource(subscription, "db-1"), resource(subscription, "db-2", labels={text: text, "rack": "r7"}))

    assert concerned_by(notice) == ["both", "one"]
    assert read_for(notice) == ["both", "one", "too-many"]


def test_labels_of_two_resources_are_not_those_of_one(subscription, make_job):
    set_policy(make_job(), "elsewhere", labels={"rack": "r7", "row": "3"})

    notice = announce(
        resource(subscription, "db-1", labels={"rack": "r7"}), resource(subscription, "db-2", labels={"row": "3"})
    )

    assert concerned_by(notice) == []


def test_what_others_say_is_not_read(subscription, make_job):
    for number in range(3):
        set_policy(make_job(f"elsewhere-{number}"), f"web-{number}", labels={"rack": f"r{number}"})
    set_policy(make_job("here"), "db-2")

    assert read_for(announce(resource(subscription, labels={"rack": "r7"}))) == ["here"]
    assert read_for(announce(resource(subscription, "alone"))) == []
