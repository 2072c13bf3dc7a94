"""Renaming jobs, triggers and collections, and moving jobs, in their forms."""

import pytest

from accounts.models import Membership, Role, Subscription
from jobs.models import Job, JobCollection, Run
from tests.admin.forms import submitted
from tests.admin.trigger_pages import trigger_url
from tests.conftest import NOW
from triggers.models import Trigger
from triggers.scheduling import Destination, patch_job


@pytest.fixture
def second(subscription):
    return JobCollection.objects.create(subscription=subscription, name="daily", sku="Standard")


@pytest.fixture
def save(browser):
    """Return a function that loads the form of a job, changes fields and submits it."""

    def save(job, **fields):
        address = f"/admin/jobs/job/{job.pk}/change/"
        return browser.post(address, submitted(browser.get(address).text, "job_form") | fields)

    return save


# Jobs


def test_job_can_be_renamed_and_moved(save, make_job, second):
    job = make_job()
    before = job.triggers.values("next_fire_at", "anchored_at").get()

    response = save(job, name="restore", collection=second.pk)

    job.refresh_from_db()
    assert (response.status_code, job.name, job.collection, job.revision) == (302, "restore", second, 2)
    assert job.triggers.values("next_fire_at", "anchored_at").get() == before
    assert Job.objects.count() == 1


@pytest.mark.parametrize(
    "fields, field, message",
    [
        ({"name": "other"}, "name", "There is a job"),
        ({"name": "1st"}, "name", "start with a letter"),
        ({"name": ""}, "name", "required"),
    ],
)
def test_error_of_a_job_name_is_shown_at_its_field(save, make_job, fields, field, message):
    job = make_job()
    make_job("other")

    response = save(job, **fields)

    assert list(response.context["form"].errors) == [field]
    assert message in response.context["form"].errors[field][0]
    assert Job.objects.get(pk=job.pk).name == "backup"


def test_error_of_a_trigger_in_the_new_collection_is_shown_at_the_collection(save, make_job, make_trigger, second):
    job = make_job()
    make_trigger(job, definition={"expression": "*/30 * * * * ?"})
    JobCollection.objects.filter(pk=second.pk).update(sku="Free")

    response = save(job, collection=second.pk)

    assert list(response.context["form"].errors) == ["collection"]
    assert Job.objects.get().collection.name == "nightly"


def test_form_offers_only_collections_of_the_same_subscription(browser, owner, make_job, second, collection_of_others):
    Membership.objects.create(subscription=collection_of_others.subscription, user=owner, role=Role.OWNER)

    form = browser.get(f"/admin/jobs/job/{make_job().pk}/change/").context["form"]

    assert [each.name for each in form.fields["collection"].queryset] == ["daily", "nightly"]


def test_form_of_a_job_that_was_moved_meanwhile_is_refused(browser, make_job, second):
    job = make_job()
    address = f"/admin/jobs/job/{job.pk}/change/"
    form = submitted(browser.get(address).text, "job_form")
    patch_job(job, {}, NOW, Destination(second))

    response = browser.post(address, form | {"name": "restore"})

    assert "someone saved version 2" in response.text.lower()
    assert list(Job.objects.values_list("name", "collection__name")) == [("backup", "daily")]


# Triggers


def test_trigger_can_be_renamed(submit_form, trigger):
    response = submit_form(trigger_url(trigger, "change"), name="each-hour")

    assert (response.status_code, Trigger.objects.get().name) == (302, "each-hour")


@pytest.mark.parametrize("name", ["nightly", "default", "-no"])
def test_error_of_a_trigger_name_is_shown_at_its_field(submit_form, trigger, make_trigger, name):
    make_trigger(trigger.job, "nightly")

    response = submit_form(trigger_url(trigger, "change"), name=name)

    assert list(response.context["form"].errors) == ["name"]
    assert Trigger.objects.get(pk=trigger.pk).name == "hourly"


# Collections


def test_collection_can_be_renamed(browser, collection, make_run, make_job):
    run = make_run(make_job())
    address = f"/admin/jobs/jobcollection/{collection.pk}/change/"
    form = submitted(browser.get(address).text, "jobcollection_form")

    response = browser.post(address, form | {"name": "reports", "resource_group": "ops"})

    collection.refresh_from_db()
    assert response.status_code == 302
    assert (collection.name, collection.resource_group, collection.revision) == ("reports", "ops", 2)
    assert Run.objects.get(pk=run.pk).collection_name == "nightly"


def test_error_of_a_collection_name_is_shown_at_its_field(browser, collection, second):
    address = f"/admin/jobs/jobcollection/{collection.pk}/change/"
    form = submitted(browser.get(address).text, "jobcollection_form")

    response = browser.post(address, form | {"name": "DAILY"})

    assert list(response.context["adminform"].form.errors) == ["name"]
    assert JobCollection.objects.get(pk=collection.pk).name == "nightly"


def test_collection_cannot_be_moved_to_another_subscription(browser, collection):
    address = f"/admin/jobs/jobcollection/{collection.pk}/change/"
    other = Subscription.objects.create(name="other")

    browser.post(address, submitted(browser.get(address).text, "jobcollection_form") | {"subscription": other.pk})

    collection.refresh_from_db()
    assert collection.subscription.name == "default"
