"""Lists of jobs in the form of the resource manager: order, pages and filters."""

import pytest
from django.test import override_settings

from jobs.arm import lists
from jobs.models import Job
from tests.jobs.arm_jobs import body, refusal

pytestmark = [pytest.mark.usefixtures("at_now"), pytest.mark.database]


@pytest.fixture
def jobs(arm, make_job):
    for name, state in [("b", "enabled"), ("A", "disabled"), ("d", "completed"), ("c", "faulted"), ("e", "enabled")]:
        Job.objects.filter(pk=make_job(name).pk).update(state=state)
    return arm.collection() + "/jobs"


def names(response) -> list[str]:
    assert response.status_code == 200, response.content
    return [item["name"].removeprefix("nightly/") for item in response.json()["value"]]


def test_jobs_are_listed_by_name(arm, jobs):
    assert names(arm.get(jobs)) == ["A", "b", "c", "d", "e"]
    assert arm.get(jobs).json()["value"][0] == arm.get(arm.job("A")).json()
    assert arm.get(jobs).json()["nextLink"] is None


@pytest.mark.parametrize(
    "query, found",
    [
        ({"top": 2}, ["A", "b"]),
        ({"top": 2, "skip": 2}, ["c", "d"]),
        ({"top": 100}, ["A", "b", "c", "d", "e"]),
        ({"skip": 0}, ["A", "b", "c", "d", "e"]),
        ({"skip": 4}, ["e"]),
        ({"skip": 2147483647}, []),
        ({"filter": "state eq Enabled"}, ["b", "e"]),
        ({"filter": "state eq disabled"}, ["A"]),
        ({"filter": "STATE EQ 'Completed'"}, ["d"]),
        ({"filter": " state  eq  faulted "}, ["c"]),
        ({"filter": "state eq Enabled", "top": 1, "skip": 1}, ["e"]),
    ],
)
def test_list_of_jobs_can_be_filtered(arm, jobs, query, found):
    response = arm.get(jobs, **query)

    assert names(response) == found
    assert response.json()["nextLink"] is None


@pytest.mark.parametrize(
    "query",
    [
        *({"top": top} for top in ("0", "101", "-1", "x", "", "1.0", "1_0", "١", "9" * 50, " 1", "+1")),
        *({"skip": skip} for skip in ("-1", "x", "", "2147483648", "1e3", "\0")),
        *(
            {"filter": text}
            for text in (
                "",
                "state",
                "state eq",
                "state eq Running",
                "state ne Enabled",
                "status eq Completed",
                "state eq 'Enabled",
                "state eq Enabled or state eq Disabled",
                "state__in eq Enabled",
                "state eq \0",
                "state eq " + "Enabled" * 1000,
                " " * 2000 + "state eq Enabled",
            )
        ),
        {"skiptoken": "\0"},
    ],
)
def test_wrong_query_parameter_of_the_list_of_jobs_is_refused(arm, jobs, query):
    name = "$" + next(iter(query))

    assert refusal(arm.get(jobs, **query)) == (400, "MissingOrInvalidRequiredQueryParameter", name)


@pytest.mark.parametrize("length", [1, 2, 4, 5])
def test_pages_together_contain_all_jobs(arm, jobs, monkeypatch, length):
    monkeypatch.setattr(lists, "PAGE_LENGTH", length)

    response = arm.get(jobs)
    found = names(response)
    while link := response.json()["nextLink"]:
        response = arm.client.get(link)
        found += names(response)

    assert found == ["A", "b", "c", "d", "e"]


def test_next_link_has_the_filter_but_not_the_skip(arm, jobs, monkeypatch):
    monkeypatch.setattr(lists, "PAGE_LENGTH", 1)
    arm.put(arm.job("f"), body(startTime="2026-06-01"))

    first = arm.get(jobs, filter="state eq Enabled", skip=1)
    second = arm.client.get(first.json()["nextLink"])

    assert (names(first), names(second)) == (["e"], ["f"])
    assert second.json()["nextLink"] is None


def test_names_of_query_parameters_are_read_in_any_case(arm, jobs, monkeypatch):
    monkeypatch.setattr(lists, "PAGE_LENGTH", 1)
    query = {"API-Version": "2016-03-01", "$Filter": "state eq Enabled"}

    first = arm.client.get(jobs, query)
    link = first.json()["nextLink"]

    assert names(first) == ["b"]
    assert names(arm.client.get(link)) == ["e"]
    assert names(arm.client.get(link.replace("%24skiptoken", "$SKIPTOKEN"))) == ["e"]
    assert names(arm.client.get(jobs, query | {"$Skip": 1})) == ["e"]
    assert names(arm.client.get(jobs, query | {"$TOP": 2})) == ["b", "e"]


def test_page_with_top_has_no_next_link(arm, jobs, monkeypatch):
    monkeypatch.setattr(lists, "PAGE_LENGTH", 1)

    assert arm.get(jobs, top=2).json()["nextLink"] is None


@override_settings(PUBLIC_URL="https://jobs.example")
def test_next_links_use_the_public_address(arm, jobs, monkeypatch):
    monkeypatch.setattr(lists, "PAGE_LENGTH", 1)

    assert arm.get(jobs).json()["nextLink"].startswith(f"https://jobs.example{jobs}?api-version=2016-03-01&")


def test_list_of_jobs_takes_a_fixed_number_of_queries(arm, jobs, django_assert_num_queries):
    arm.get(jobs)  # writes when the token was last used

    with django_assert_num_queries(4):  # the token, the collection, the jobs, their triggers
        assert len(names(arm.get(jobs))) == 5
