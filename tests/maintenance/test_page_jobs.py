"""What a job does about maintenance: on its page, in its form, and on the list of its next runs."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import Role, Subscription
from jobs.models import JobCollection
from maintenance import holds
from maintenance.models import JobMaintenancePolicy
from maintenance.policies import PolicyInput
from tests.maintenance.notices import announce, resource

pytestmark = pytest.mark.django_db

VALUES = {"resources": ["db-2"], "during": "hold", "after": "drop", "lead": "15", "run_on": ["complete", "announce"]}


@pytest.fixture
def job(make_job, subscription):
    resource(subscription, "db-2", labels={"rack": "r7"})
    return make_job("reindex", schedule={"recurrence": {"frequency": "Hour"}}, now=timezone.now())


def form_of(job) -> str:
    return f"/maintenance/jobs/{job.pk}"


def page_of(job) -> str:
    return f"/admin/jobs/job/{job.pk}/"


def test_a_job_that_heeds_nothing_says_so(browser, job):
    assert "Heeds none: it runs as planned." in browser.get(page_of(job)).text


def test_what_is_written_is_kept_and_said_on_the_jobs_page(browser, job):
    answer = browser.post(form_of(job), {**VALUES, "labels": "rack=r7"}, follow=True)

    policy = JobMaintenancePolicy.objects.get()
    assert (policy.resource_names, policy.labels) == (["db-2"], {"rack": "r7"})
    assert (policy.on_notice, policy.on_end) == ("hold", "drop")
    assert (policy.lead_time, policy.run_at_phases) == (timedelta(minutes=15), ["announce", "complete"])
    assert answer.request["PATH_INFO"] == page_of(job)
    assert answer.context["maintenance_policy"]["named"] == "db-2 and rack=r7"
    assert answer.context["maintenance_policy"]["does"] == [
        "Planned runs are held while it lasts, from 15 min before it, and do not run at all.",
        "Runs once when it is announced and completed.",
    ]


def test_the_form_begins_with_what_is_kept_also_names_that_are_no_resources(browser, job):
    holds.set_policy(
        job, PolicyInput(resource_names=("gone-1",), on_notice="hold", lead_time=timedelta(hours=1)), timezone.now()
    )

    form = browser.get(form_of(job)).context["form"]

    assert form["resources"].value() == ["gone-1"]
    assert [name for name, _ in form.fields["resources"].choices] == ["db-2", "gone-1"]
    assert (form["during"].value(), form["lead"].value()) == ("hold", 60)


@pytest.mark.parametrize("most, is_cut", [(2, False), (1, True)])
def test_of_very_many_resources_the_first_are_offered_and_it_is_said(
    browser, job, subscription, monkeypatch, most, is_cut
):
    resource(subscription, "web-1")
    monkeypatch.setattr("maintenance.pages.job_policy.PICKED_MOST", most)

    page = browser.get(form_of(job))

    assert len(page.context["form"].fields["resources"].choices) == most
    assert ("a label names any number" in page.text) is is_cut


def test_a_lead_time_that_nobody_touches_stays_to_the_second(browser, job):
    holds.set_policy(
        job, PolicyInput(resource_names=("db-2",), on_notice="hold", lead_time=timedelta(seconds=90)), timezone.now()
    )

    lead = browser.get(form_of(job)).context["form"]["lead"].value()
    browser.post(form_of(job), {**VALUES, "lead": lead, "after": "run_once"})
    assert (lead, JobMaintenancePolicy.objects.get().lead_time) == (2, timedelta(seconds=90))
    browser.post(form_of(job), {**VALUES, "lead": 1})
    assert JobMaintenancePolicy.objects.get().lead_time == timedelta(minutes=1)


@pytest.mark.parametrize(
    "wrong, field",
    [
        ({"resources": []}, "resources"),
        ({"resources": ["other"]}, "resources"),
        ({"during": "party"}, "during"),
        ({"during": ""}, "during"),
        ({"after": "later"}, "after"),
        ({"lead": "-1"}, "lead"),
        ({"lead": "10081"}, "lead"),
        ({"lead": "9" * 40}, "lead"),
        ({"run_on": ["noon"]}, "run_on"),
        ({"labels": "rack"}, "labels"),
        ({"labels": "a\0b=c"}, "labels"),
    ],
)
def test_what_is_refused_stands_beside_its_field(browser, job, wrong, field):
    answer = browser.post(form_of(job), {**VALUES, **wrong})

    assert list(answer.context["form"].errors) == [field]
    assert not JobMaintenancePolicy.objects.exists()


def test_runs_that_will_be_held_are_marked_before(browser, job, subscription):
    holds.set_policy(job, PolicyInput(resource_names=("db-2",), on_notice="hold"), timezone.now())
    now = timezone.now()
    announce(subscription.resources.get(), now=now, not_before=now + timedelta(hours=3, minutes=30), duration_s=7200)

    rows = browser.get(page_of(job)).context["fires"]

    held = [bool(row["held"]) for row in rows]
    assert held.count(True) == 2
    assert not held[0]
    first, newest = (row["held"] for row in rows if row["held"])
    assert first == "held by maintenance: Reboot of db-2; a later fire time runs for it"
    assert newest.startswith("held by maintenance: Reboot of db-2; it runs once afterwards, at about today ")
    assert "Held by maintenance: Reboot of db-2" in browser.get(page_of(job)).text


def test_a_job_of_others_is_not_there(client, make_user, make_job):
    elsewhere = Subscription.objects.create(name="elsewhere")
    theirs = make_job(in_collection=JobCollection.objects.create(subscription=elsewhere, name="x", sku="P20Premium"))
    client.force_login(make_user("mira", Role.OWNER))

    assert client.get(form_of(theirs)).status_code == client.post(form_of(theirs), VALUES).status_code == 404
    assert not JobMaintenancePolicy.objects.exists()


def test_operators_come_back_to_the_job(client, make_user, job):
    client.force_login(make_user("mira", Role.OPERATOR))

    assert client.post(form_of(job), VALUES).url == f"/admin/jobs/job/{job.pk}/"
