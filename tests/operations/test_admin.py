"""The list of operations and the page of one; collections deleted from the admin."""

from datetime import timedelta
from uuid import uuid4

import pytest

from accounts.models import Role, Subscription
from jobs.models import Job, JobCollection
from operations.models import Operation
from tests.conftest import utc
from triggers.collection_operations import JOBS_A_STEP

LIST = "/admin/operations/operation/"
COLLECTIONS = "/admin/jobs/jobcollection/"


@pytest.fixture
def browser_of(client):
    def sign_in(user):
        client.force_login(user)
        return client

    return sign_in


@pytest.fixture
def browser(browser_of, owner):
    return browser_of(owner)


def page_of(operation) -> str:
    return f"{LIST}{operation.pk}/change/"


def test_the_list_shows_how_far_each_is_and_why_it_failed(browser, make_operation, owner):
    make_operation("running", requested_by=owner)
    make_operation("failed", target="default/other")

    page = browser.get(LIST).text

    for shown in (
        "Delete collection",
        "default/nightly",
        "Running",
        "40 %",
        'data-of="40"',
        "ada",
        "WorkerLost",
        "2 s",
    ):
        assert shown in page, shown
    assert " style=" not in page


def test_the_list_takes_the_same_queries_however_long(
    browser, make_operation, owner, django_assert_num_queries, django_assert_max_num_queries
):
    make_operation(requested_by=owner)
    with django_assert_max_num_queries(6) as one:
        browser.get(LIST)
    for _ in range(30):
        make_operation(requested_by=owner)
    with django_assert_num_queries(len(one)):
        browser.get(LIST)


@pytest.mark.parametrize(
    "query, count",
    [("", 3), ("?state__exact=failed", 1), ("?hours=1", 2), ("?q=other", 1), ("?q=nothing", 0)],
)
def test_filters_narrow_the_list(browser, make_operation, query, count):
    make_operation("running")
    make_operation("failed", target="default/other")
    make_operation(ago=timedelta(hours=2))

    assert browser.get(LIST + query).context["cl"].result_count == count


@pytest.mark.parametrize("state", Operation.State.values)
def test_the_page_of_each_state(browser, make_operation, state):
    operation = make_operation(state, error_message="<b>why</b>", correlation_id="c-1")

    page = browser.get(page_of(operation)).text

    assert "default/nightly" in page
    assert "c-1" in page
    assert ("Cancel operation" in page) == operation.is_open
    assert ("&lt;b&gt;why" in page) == bool(operation.error_code)


def test_the_page_says_on_which_day_it_was_asked_for(browser, make_operation):
    operation = make_operation(created_at=utc("2026-03-07T08:15:00Z"))

    assert "Sat 7 March" in browser.get(page_of(operation)).text


@pytest.mark.parametrize("id", ["x", "00000000-0000-0000-0000-000000000009", "%00"])
def test_a_missing_one_is_not_found(browser, id):
    assert browser.get(f"{LIST}{id}/change/").status_code == 404


def test_cancelling_from_the_page(browser, make_operation, collection):
    operation = make_operation("accepted", state_data={"collection": collection.pk, "state": "enabled", "jobs": 0})

    page = browser.post(f"{LIST}{operation.pk}/cancel/", follow=True)

    assert "It ends before its next step" in page.text
    assert Operation.objects.get().state == "canceled"
    assert "It is over already" in browser.post(f"{LIST}{operation.pk}/cancel/", follow=True).text


def test_the_list_cancels_what_goes_on(browser, make_operation):
    going, over = make_operation("running"), make_operation("failed", target="default/other")

    page = browser.get(LIST).text

    assert f'formaction="{LIST}{going.pk}/cancel/" aria-label="Cancel: Delete collection default/nightly"' in page
    assert f"{over.pk}/cancel/" not in page


def test_ticked_ones_are_shown_before_anything_happens(browser, make_operation):
    first, second = make_operation("accepted"), make_operation("running", target="default/other")

    page = browser.post(LIST, {"action": "cancel_ticked", "_selected_action": [first.pk, second.pk]}).text

    assert "Cancel 2 operations" in page
    assert "default/nightly" in page
    assert "default/other" in page
    assert not Operation.objects.exclude(cancel_requested_at=None).exists()


def test_ticked_ones_are_cancelled_and_those_that_are_over_are_named(browser, make_operation):
    first, second = make_operation("running", lease_token=uuid4()), make_operation("accepted")
    over = make_operation("failed", target="default/over")
    ticked = {"_selected_action": [first.pk, over.pk, second.pk], "action": "cancel_ticked", "confirmed": "yes"}

    page = browser.post(LIST, ticked, follow=True).text

    assert "Asked to end before the next step: 2 operations." in page
    assert "It is over already: Delete collection default/over." in page
    first.refresh_from_db()
    second.refresh_from_db()
    over.refresh_from_db()
    assert (first.state, first.cancel_requested_at is None) == ("running", False)
    assert (second.state, over.state, over.cancel_requested_at) == ("canceled", "failed", None)


def test_ticked_ones_of_others_stay_as_they_are(browser_of, make_user, make_operation):
    """Whoever operates one subscription reads another, and sees nothing of a third."""
    read = Subscription.objects.create(name="read")
    ours = make_operation("accepted")
    theirs = make_operation("accepted", subscription=read, target="default/theirs")
    unseen = make_operation("accepted", subscription=Subscription.objects.create(name="unseen"))
    user = make_user("opal", Role.OPERATOR, is_staff=True)
    read.membership_set.create(user=user, role=Role.READER)
    ticked = {"_selected_action": [ours.pk, theirs.pk, unseen.pk], "action": "cancel_ticked", "confirmed": "yes"}

    page = browser_of(user).post(LIST, ticked, follow=True).text

    assert "1 operation." in page
    assert "You may not cancel: Delete collection default/theirs." in page
    assert Operation.objects.exclude(cancel_requested_at=None).get() == ours


def test_readers_have_nothing_to_tick(browser_of, make_user, make_operation):
    operation = make_operation("accepted")
    browser = browser_of(make_user("rita", Role.READER, is_staff=True))
    ticked = {"_selected_action": [operation.pk], "action": "cancel_ticked", "confirmed": "yes"}

    assert "cancel_ticked" not in browser.get(LIST).text
    browser.post(LIST, ticked)
    assert Operation.objects.get().cancel_requested_at is None


@pytest.mark.parametrize("id", ["x", "%00", "\0", "9" * 400])
def test_a_ticked_row_that_is_none_is_refused(browser, make_operation, id):
    make_operation("accepted")

    answer = browser.post(LIST, {"_selected_action": [id], "action": "cancel_ticked", "confirmed": "yes"})

    assert answer.status_code < 500
    assert Operation.objects.get().cancel_requested_at is None


def test_nobody_makes_changes_or_deletes_one(browser, make_operation):
    operation = make_operation()

    assert browser.get(f"{LIST}add/").status_code in (403, 404)
    assert browser.post(f"{LIST}{operation.pk}/delete/", {"post": "yes"}).status_code == 403
    browser.post(page_of(operation), {"state": "failed"})
    assert Operation.objects.get().state == "succeeded"


def test_staff_see_what_their_subscriptions_hold_and_readers_do_not_cancel(browser_of, make_user, make_operation):
    ours = make_operation("running")
    elsewhere = Subscription.objects.create(name="elsewhere")
    theirs = make_operation("running", subscription=elsewhere, target="default/theirs")
    browser = browser_of(make_user("rita", Role.READER, is_staff=True))

    assert "default/nightly" in browser.get(LIST).text
    assert "formaction" not in browser.get(LIST).text
    assert "default/theirs" not in browser.get(LIST).text
    assert "Cancel operation" not in browser.get(page_of(ours)).text
    assert browser.post(f"{LIST}{ours.pk}/cancel/").status_code == 403
    assert browser.get(page_of(theirs)).status_code == 404
    assert browser.post(f"{LIST}{theirs.pk}/cancel/").status_code == 404


def test_it_is_in_the_menu(browser):
    assert LIST in browser.get("/admin/").text
    assert browser.get("/admin/operations/").status_code == 200


# Collections


def test_a_collection_is_deleted_in_steps_from_the_admin_too(browser, collection, many_jobs, step_once, carry_out):
    page = browser.post(f"{COLLECTIONS}{collection.pk}/delete/", {"post": "yes"}, follow=True)
    operation = Operation.objects.get()
    assert "Being deleted: nightly" in page.text
    assert operation.requested_by.username == "ada"

    step_once(operation)
    assert Job.objects.count() == JOBS_A_STEP + 1
    assert "Being deleted" in browser.get(COLLECTIONS).text

    carry_out()
    assert not JobCollection.objects.exists()


def test_ticked_collections_are_deleted_the_same_way(browser, collection, subscription, carry_out):
    other = JobCollection.objects.create(subscription=subscription, name="other")
    ticked = {"action": "delete_selected", "_selected_action": [collection.pk, other.pk], "post": "yes"}

    browser.post(COLLECTIONS, ticked)
    assert Operation.objects.count() == 2

    carry_out()
    assert not JobCollection.objects.exists()


def test_the_form_of_a_collection_being_deleted_is_refused(browser, arm, collection):
    arm.delete(arm.collection())
    form = {"resource_group": "default", "name": collection.name, "state": "enabled", "sku": "P20Premium"}

    page = browser.post(f"{COLLECTIONS}{collection.pk}/change/", form)

    assert "is being deleted" in page.text
    assert JobCollection.objects.get().state == "deleted"


def test_deleting_while_another_operation_goes_on_says_so(browser, arm, collection):
    arm.post(arm.collection() + "/disable")

    page = browser.post(f"{COLLECTIONS}{collection.pk}/delete/", {"post": "yes"}, follow=True)

    assert "wait for its end" in page.text
    assert JobCollection.objects.get().state == "disabled"
    ticked = {"action": "delete_selected", "_selected_action": [collection.pk], "post": "yes"}
    assert "wait for its end" in browser.post(COLLECTIONS, ticked, follow=True).text
