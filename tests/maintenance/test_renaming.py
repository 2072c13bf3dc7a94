"""Renaming resources: policies and open notices follow, ended notices keep the old name."""

import pytest

from accounts.models import Subscription
from jobs.models import JobCollection
from maintenance import resources
from maintenance.models import EventScope, JobMaintenancePolicy, Notice, Resource
from tests.maintenance.machines import machine, post_notice, post_step
from tests.maintenance.notices import T0, announce, dispatch, holds, resource, start, states
from tests.racing import at_once


@pytest.fixture
def address(db2):
    return f"/api/resources/{db2.resource.pk}"


def test_renamed_resource_polls_with_its_token(api, address, db2):
    response = api.patch(address, {"name": "db-9"})

    assert (response.status_code, response.json()["name"]) == (200, "db-9")
    assert api.get(address).json() == response.json()
    assert db2.get(headers={"X-Scheduler-Resource": "db-9"}).status_code == 200
    assert db2.get(headers={"X-Scheduler-Resource": "db-2"}).status_code == 403


def test_name_can_be_changed_together_with_other_members(api, address):
    changed = api.patch(address, {"name": "db-9", "labels": {"rack": "r9"}}).json()

    assert (changed["name"], changed["labels"], changed["scopeGroup"]) == ("db-9", {"rack": "r9"}, "databases")


@pytest.mark.parametrize(
    "name, status", [("db-3", 409), ("", 400), ("a\nb", 400), ("x" * 256, 400), (None, 400), (5, 400)]
)
def test_used_or_invalid_name_is_refused(api, address, db3, name, status):
    response = api.patch(address, {"name": name, "scopeGroup": "other"})

    assert (response.status_code, response.json()["error"]["target"]) == (status, "name")
    assert Resource.objects.get(name="db-2").scope_group == "databases"


def test_open_notice_shows_the_new_name_with_a_higher_incarnation(api, address, db2, db3):
    post_notice(api, db2, db3)
    before = [each.incarnation for each in (db2, db3)]

    api.patch(address, {"name": "db-9"})

    for each, number in zip((db2, db3), before, strict=True):
        assert each.incarnation > number
        assert each.events()[0]["Resources"] == ["db-9", "db-3"]
    assert api.get("/api/notices").json()["value"][0]["resources"] == ["db-9", "db-3"]


def test_user_document_shows_the_new_name_with_a_higher_incarnation(api, address, db2):
    post_notice(api, db2)
    query = "/metadata/scheduledevents?api-version=2020-07-01"
    before = api.get(query, headers={"Metadata": "true"}).json()

    api.patch(address, {"name": "db-9"})

    after = api.get(query, headers={"Metadata": "true"}).json()
    assert after["Events"][0]["Resources"] == ["db-9"]
    assert after["DocumentIncarnation"] > before["DocumentIncarnation"]


def test_renamed_resource_without_a_group_keeps_its_events(api, subscription, clock, unlimited):
    web = machine(subscription, "web-1")
    post_notice(api, web)
    before = web.incarnation

    api.patch(f"/api/resources/{web.resource.pk}", {"name": "web-9"})

    assert web.incarnation > before
    assert [each["Resources"] for each in web.events()] == [["web-9"]]


def test_ended_notice_keeps_the_old_name(api, address, db2):
    event = post_notice(api, db2)
    post_step(api, event, "cancel")
    before = dict(EventScope.objects.values_list("scope_key", "incarnation"))

    api.patch(address, {"name": "db-9"})

    assert api.get(f"/api/notices/{event.lower()}").json()["resources"] == ["db-2"]
    assert api.get("/api/notices?resource=db-2").json()["value"]
    assert dict(EventScope.objects.values_list("scope_key", "incarnation")) == before


def test_policies_follow_a_renamed_resource(api, subscription, make_job):
    db_2 = resource(subscription)
    job, other = make_job(schedule={"startTime": "2026-01-05T08:00:00Z"}), make_job("other")
    holds(job, "web-1", "db-2", "db-9")
    holds(other, "web-1")
    start(announce(db_2), T0)

    api.patch(f"/api/resources/{db_2.pk}", {"name": "db-9"})
    dispatch(Notice.objects.get().not_before)

    assert JobMaintenancePolicy.objects.get(job=job).resource_names == ["web-1", "db-9"]
    assert JobMaintenancePolicy.objects.get(job=other).resource_names == ["web-1"]
    assert states(job=job) == {"08:00": "held"}


def test_policies_of_other_subscriptions_do_not_follow_a_renamed_resource(api, subscription, make_job):
    collection_of_others = JobCollection.objects.create(
        subscription=Subscription.objects.create(name="other"), name="theirs"
    )
    holds(make_job(in_collection=collection_of_others), "db-2")

    api.patch(f"/api/resources/{resource(subscription).pk}", {"name": "db-9"})

    assert JobMaintenancePolicy.objects.get().resource_names == ["db-2"]


@pytest.mark.django_db(transaction=True)
def test_notice_announced_during_a_renaming_has_the_new_name(subscription):
    db_2 = resource(subscription)

    raised = at_once(lambda: announce(db_2), lambda: resources.change(db_2, name="db-9"))

    assert raised == []
    assert Notice.objects.get().affected_resources.get().name == "db-9"
