"""The maintenance policy of a job: on its page, in its form, and in the list of its next runs."""

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


def policy_url(job) -> str:
    return f"/maintenance/jobs/{job.pk}"


def job_url(job) -> str:
    return f"/admin/jobs/job/{job.pk}/"


def test_job_page_without_a_policy_says_so(browser, job):
    assert "No maintenance policy: the job runs as planned." in browser.get(job_url(job)).text


def test_policy_form_is_stored_and_described_on_the_job_page(browser, job):
    answer = browser.post(policy_url(job), {**VALUES, "labels": "rack=r7"}, follow=True)

    policy = JobMaintenancePolicy.objects.get()
    assert (policy.resource_names, policy.labels) == (["db-2"], {"rack": "r7"})
    assert (policy.on_notice, policy.on_end) == ("hold", "drop")
    assert (policy.lead_time, policy.run_at_phases) == (timedelta(minutes=15), ["announce", "complete"])
    assert answer.request["PATH_INFO"] == job_url(job)
    assert answer.context["maintenance_policy"]["named"] == "db-2 and rack=r7"
    assert answer.context["maintenance_policy"]["does"] == [
        "Holds planned runs during maintenance, from 15 min before it, and skips them.",
        "Runs once when maintenance is announced and completed.",
    ]


def test_policy_form_shows_stored_values_and_unknown_resource_names(browser, job):
    holds.set_policy(
        job, PolicyInput(resource_names=("gone-1",), on_notice="hold", lead_time=timedelta(hours=1)), timezone.now()
    )

    form = browser.get(policy_url(job)).context["form"]

    assert form["resources"].value() == ["gone-1"]
    assert [name for name, _ in form.fields["resources"].choices] == ["db-2", "gone-1"]
    assert (form["during"].value(), form["lead"].value()) == ("hold", 60)


@pytest.mark.parametrize("limit, is_cut", [(2, False), (1, True)])
def test_policy_form_offers_a_limited_number_of_resources_with_a_note(
    browser, job, subscription, monkeypatch, limit, is_cut
):
    resource(subscription, "web-1")
    monkeypatch.setattr("maintenance.pages.job_policy.PICKED_MOST", limit)

    page = browser.get(policy_url(job))

    assert len(page.context["form"].fields["resources"].choices) == limit
    assert ("A label selects any number" in page.text) is is_cut


def test_unchanged_lead_time_keeps_its_seconds(browser, job):
    holds.set_policy(
        job, PolicyInput(resource_names=("db-2",), on_notice="hold", lead_time=timedelta(seconds=90)), timezone.now()
    )

    lead = browser.get(policy_url(job)).context["form"]["lead"].value()
    browser.post(policy_url(job), {**VALUES, "lead": lead, "after": "run_once"})
    assert (lead, JobMaintenancePolicy.objects.get().lead_time) == (2, timedelta(seconds=90))
    browser.post(policy_url(job), {**VALUES, "lead": 1})
    assert JobMaintenancePolicy.objects.get().lead_time == timedelta(minutes=1)


@pytest.mark.parametrize(
    "invalid_values, field",
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
def test_error_of_a_policy_is_shown_at_its_field(browser, job, invalid_values, field):
    answer = browser.post(policy_url(job), {**VALUES, **invalid_values})

    assert list(answer.context["form"].errors) == [field]
    assert not JobMaintenancePolicy.objects.exists()


def test_next_runs_that_will_be_held_are_marked(browser, job, subscription):
    holds.set_policy(job, PolicyInput(resource_names=("db-2",), on_notice="hold"), timezone.now())
    now = timezone.now()
    announce(subscription.resources.get(), now=now, not_before=now + timedelta(hours=3, minutes=30), duration_s=7200)

    rows = browser.get(job_url(job)).context["fires"]

    held = [bool(row["held"]) for row in rows]
    assert held.count(True) == 2
    assert not held[0]
    first, latest = (row["held"] for row in rows if row["held"])
    assert first == "held by maintenance: Reboot of db-2; a later fire time runs instead"
    assert latest.startswith("held by maintenance: Reboot of db-2; it runs once afterwards, at about today ")
    assert "Held by maintenance: Reboot of db-2" in browser.get(job_url(job)).text


def test_policy_of_a_job_of_another_subscription_is_not_found(client, make_user, make_job):
    other_subscription = Subscription.objects.create(name="elsewhere")
    job_of_others = make_job(
        in_collection=JobCollection.objects.create(subscription=other_subscription, name="x", sku="P20Premium")
    )
    client.force_login(make_user("mira", Role.OWNER))

    assert (
        client.get(policy_url(job_of_others)).status_code
        == client.post(policy_url(job_of_others), VALUES).status_code
        == 404
    )
    assert not JobMaintenancePolicy.objects.exists()


def test_policy_form_redirects_to_the_job(client, make_user, job):
    client.force_login(make_user("mira", Role.OPERATOR))

    assert client.post(policy_url(job), VALUES).url == f"/admin/jobs/job/{job.pk}/"
