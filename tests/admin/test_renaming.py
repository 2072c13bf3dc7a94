"""Jobs, triggers and collections get other names in their forms, and jobs other collections."""

import pytest

from accounts.models import Membership, Role, Subscription
from jobs.models import Job, JobCollection, Run
from tests.admin.forms import submitted
from tests.admin.trigger_pages import page_of
from tests.conftest import NOW
from triggers.models import Trigger
from triggers.scheduling import Destination, patch_job


@pytest.fixture
def second(subscription):
    return JobCollection.objects.create(subscription=subscription, name="daily", sku="Standard")


@pytest.fixture
def save(browser):
    """Open the form of a job, change fields in it, and send it."""

    def save(job, **fields):
        address = f"/admin/jobs/job/{job.pk}/change/"
        return browser.post(address, submitted(browser.get(address).text, "job_form") | fields)

    return save


# Jobs


def test_a_job_is_renamed_and_moved(save, make_job, second):
    job = make_job()
    before = job.triggers.values("next_fire_at", "anchored_at").get()

    answer = save(job, name="restore", collection=second.pk)

    job.refresh_from_db()
    assert (answer.status_code, job.name, job.collection, job.revision) == (302, "restore", second, 2)
    assert job.triggers.values("next_fire_at", "anchored_at").get() == before
    assert Job.objects.count() == 1


@pytest.mark.parametrize(
    "fields, field, says",
    [
        ({"name": "other"}, "name", "There is a job"),
        ({"name": "1st"}, "name", "start with a letter"),
        ({"name": ""}, "name", "required"),
    ],
)
def test_a_name_that_is_taken_or_wrong_is_refused_at_its_field(save, make_job, fields, field, says):
    job = make_job()
    make_job("other")

    answer = save(job, **fields)

    assert list(answer.context["form"].errors) == [field]
    assert says in answer.context["form"].errors[field][0]
    assert Job.objects.get(pk=job.pk).name == "backup"


def test_a_trigger_that_does_not_fit_the_other_collection_is_said_there(save, make_job, make_trigger, second):
    job = make_job()
    make_trigger(job, definition={"expression": "*/30 * * * * ?"})
    JobCollection.objects.filter(pk=second.pk).update(sku="Free")

    answer = save(job, collection=second.pk)

    assert list(answer.context["form"].errors) == ["collection"]
    assert Job.objects.get().collection.name == "nightly"


def test_a_form_offers_the_collections_of_the_jobs_subscription(browser, owner, make_job, second, elsewhere):
    Membership.objects.create(subscription=elsewhere.subscription, user=owner, role=Role.OWNER)

    form = browser.get(f"/admin/jobs/job/{make_job().pk}/change/").context["form"]

    assert [each.name for each in form.fields["collection"].queryset] == ["daily", "nightly"]


def test_a_job_that_was_moved_meanwhile_is_not_written(browser, make_job, second):
    job = make_job()
    address = f"/admin/jobs/job/{job.pk}/change/"
    form = submitted(browser.get(address).text, "job_form")
    patch_job(job, {}, NOW, Destination(second))

    answer = browser.post(address, form | {"name": "restore"})

    assert "somebody saved version 2" in answer.text.lower()
    assert list(Job.objects.values_list("name", "collection__name")) == [("backup", "daily")]


# Triggers


def test_a_trigger_is_renamed(write, trigger):
    answer = write(page_of(trigger, "change"), name="each-hour")

    assert (answer.status_code, Trigger.objects.get().name) == (302, "each-hour")


@pytest.mark.parametrize("name", ["nightly", "default", "-no"])
def test_a_triggers_name_that_is_taken_or_wrong_is_refused_at_its_field(write, trigger, make_trigger, name):
    make_trigger(trigger.job, "nightly")

    answer = write(page_of(trigger, "change"), name=name)

    assert list(answer.context["form"].errors) == ["name"]
    assert Trigger.objects.get(pk=trigger.pk).name == "hourly"


# Collections


def test_a_collection_is_renamed(browser, collection, make_run, make_job):
    run = make_run(make_job())
    address = f"/admin/jobs/jobcollection/{collection.pk}/change/"
    form = submitted(browser.get(address).text, "jobcollection_form")

    answer = browser.post(address, form | {"name": "reports", "resource_group": "ops"})

    collection.refresh_from_db()
    assert answer.status_code == 302
    assert (collection.name, collection.resource_group, collection.revision) == ("reports", "ops", 2)
    assert Run.objects.get(pk=run.pk).collection_name == "nightly"


def test_a_collections_name_that_is_taken_is_refused_at_its_field(browser, collection, second):
    address = f"/admin/jobs/jobcollection/{collection.pk}/change/"
    form = submitted(browser.get(address).text, "jobcollection_form")

    answer = browser.post(address, form | {"name": "DAILY"})

    assert list(answer.context["adminform"].form.errors) == ["name"]
    assert JobCollection.objects.get(pk=collection.pk).name == "nightly"


def test_a_collection_stays_in_its_subscription(browser, collection):
    address = f"/admin/jobs/jobcollection/{collection.pk}/change/"
    other = Subscription.objects.create(name="other")

    browser.post(address, submitted(browser.get(address).text, "jobcollection_form") | {"subscription": other.pk})

    collection.refresh_from_db()
    assert collection.subscription.name == "default"
