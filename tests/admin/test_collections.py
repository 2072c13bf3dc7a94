"""Collections in the admin: the rules of the core apply, and errors are shown at their fields."""

from jobs.models import JobCollection, Run

FORM = {"resource_group": "default", "name": "fresh", "state": "enabled", "sku": "Standard"}
LIST = "/admin/jobs/jobcollection/"


def test_collection_is_added_with_tags_and_quota(browser, subscription):
    quota = {"max_job_count": "3", "max_recurrence_frequency": "hour", "max_recurrence_interval": "2"}

    browser.post(f"{LIST}add/", {**FORM, "subscription": subscription.pk, "tags": '{"team": "data"}', **quota})

    collection = JobCollection.objects.get()
    assert (collection.tags, collection.max_job_count, collection.max_recurrence_frequency) == (
        {"team": "data"},
        3,
        "hour",
    )


def test_too_large_quota_interval_is_refused(browser, subscription):
    quota = {"max_recurrence_frequency": "month", "max_recurrence_interval": "2147483647"}

    response = browser.post(f"{LIST}add/", {**FORM, "subscription": subscription.pk, **quota})

    assert "Enter a number from 1 to 1000" in response.text
    assert not JobCollection.objects.exists()


def test_error_of_a_second_free_collection_is_shown_at_the_plan(browser, subscription):
    JobCollection.objects.create(subscription=subscription, name="first", sku="Free")

    response = browser.post(f"{LIST}add/", {**FORM, "subscription": subscription.pk, "sku": "Free"})

    assert "A subscription may have 1 Free collections" in response.text
    assert 'id="id_sku_error"' in response.text
    assert JobCollection.objects.count() == 1


def test_tag_values_must_be_text(browser, subscription):
    response = browser.post(f"{LIST}add/", {**FORM, "subscription": subscription.pk, "tags": '{"team": 1}'})

    assert "Enter a JSON object with text values" in response.text


def test_disabled_collection_stops_its_jobs(browser, collection, make_job):
    job = make_job()

    browser.post(f"{LIST}{collection.pk}/change/", {**FORM, "state": "disabled", "sku": collection.sku})

    assert job.triggers.get().next_fire_at is None


def test_deleting_a_collection_cancels_waiting_runs(browser, collection, make_job, make_run, carry_out):
    run = make_run(make_job(), Run.State.WAITING)

    browser.post(f"{LIST}{collection.pk}/delete/", {"post": "yes"})
    carry_out()

    run.refresh_from_db()
    assert run.state == Run.State.CANCELLED
    assert not JobCollection.objects.exists()


def test_collection_list_takes_the_same_number_of_queries_for_any_length(
    browser, subscription, collection, django_assert_max_num_queries
):
    for number in range(12):
        JobCollection.objects.create(subscription=subscription, name=f"c{number}")

    with django_assert_max_num_queries(6):
        assert "c11" in browser.get(LIST).text
