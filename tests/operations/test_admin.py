"""Operations in the admin, and collections that are deleted there."""

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
def sign_in_as(client):
    def sign_in(user):
        client.force_login(user)
        return client

    return sign_in


@pytest.fixture
def browser(sign_in_as, owner):
    return sign_in_as(owner)


def operation_url(operation) -> str:
    return f"{LIST}{operation.pk}/change/"


def test_list_shows_progress_and_errors(browser, make_operation, owner):
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


def test_list_takes_the_same_number_of_queries_for_any_length(
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
def test_operation_list_is_filtered(browser, make_operation, query, count):
    make_operation("running")
    make_operation("failed", target="default/other")
    make_operation(ago=timedelta(hours=2))

    assert browser.get(LIST + query).context["cl"].result_count == count


@pytest.mark.parametrize("state", Operation.State.values)
def test_page_shows_an_operation_in_each_state(browser, make_operation, state):
    operation = make_operation(state, error_message="<b>why</b>", correlation_id="c-1")

    page = browser.get(operation_url(operation)).text

    assert "default/nightly" in page
    assert "c-1" in page
    assert ("Cancel operation" in page) == operation.is_open
    assert ("&lt;b&gt;why" in page) == bool(operation.error_code)


def test_page_shows_the_day_of_the_request(browser, make_operation):
    operation = make_operation(created_at=utc("2026-03-07T08:15:00Z"))

    assert "Sat 7 March" in browser.get(operation_url(operation)).text


@pytest.mark.parametrize("id", ["x", "00000000-0000-0000-0000-000000000009", "%00"])
def test_unknown_operation_is_not_found(browser, id):
    assert browser.get(f"{LIST}{id}/change/").status_code == 404


def test_operation_can_be_cancelled_on_its_page(browser, make_operation, collection):
    operation = make_operation("accepted", state_data={"collection": collection.pk, "state": "enabled", "jobs": 0})

    page = browser.post(f"{LIST}{operation.pk}/cancel/", follow=True)

    assert "The operation stops before its next step" in page.text
    assert Operation.objects.get().state == "canceled"
    assert "Already ended" in browser.post(f"{LIST}{operation.pk}/cancel/", follow=True).text


def test_list_has_cancel_buttons_for_open_operations(browser, make_operation):
    running, ended = make_operation("running"), make_operation("failed", target="default/other")

    page = browser.get(LIST).text

    assert f'formaction="{LIST}{running.pk}/cancel/" aria-label="Cancel: Delete collection default/nightly"' in page
    assert f"{ended.pk}/cancel/" not in page


def test_cancelling_selected_operations_requires_confirmation(browser, make_operation):
    first, second = make_operation("accepted"), make_operation("running", target="default/other")

    page = browser.post(LIST, {"action": "cancel_ticked", "_selected_action": [first.pk, second.pk]}).text

    assert "Cancel 2 operations" in page
    assert "default/nightly" in page
    assert "default/other" in page
    assert not Operation.objects.exclude(cancel_requested_at=None).exists()


def test_selected_operations_are_cancelled_and_ended_ones_are_named(browser, make_operation):
    first, second = make_operation("running", lease_token=uuid4()), make_operation("accepted")
    ended = make_operation("failed", target="default/over")
    form = {"_selected_action": [first.pk, ended.pk, second.pk], "action": "cancel_ticked", "confirmed": "yes"}

    page = browser.post(LIST, form, follow=True).text

    assert "Cancellation requested: 2 operations." in page
    assert "Already ended: Delete collection default/over." in page
    first.refresh_from_db()
    second.refresh_from_db()
    ended.refresh_from_db()
    assert (first.state, first.cancel_requested_at is None) == ("running", False)
    assert (second.state, ended.state, ended.cancel_requested_at) == ("canceled", "failed", None)


def test_selected_operations_of_other_subscriptions_are_not_cancelled(sign_in_as, make_user, make_operation):
    """The user is operator in one subscription, reader in another, and not a member of a third."""
    read_only = Subscription.objects.create(name="read")
    own = make_operation("accepted")
    visible = make_operation("accepted", subscription=read_only, target="default/theirs")
    hidden = make_operation("accepted", subscription=Subscription.objects.create(name="unseen"))
    user = make_user("opal", Role.OPERATOR, is_staff=True)
    read_only.membership_set.create(user=user, role=Role.READER)
    form = {"_selected_action": [own.pk, visible.pk, hidden.pk], "action": "cancel_ticked", "confirmed": "yes"}

    page = sign_in_as(user).post(LIST, form, follow=True).text

    assert "1 operation." in page
    assert "You do not have permission to cancel: Delete collection default/theirs." in page
    assert Operation.objects.exclude(cancel_requested_at=None).get() == own


def test_reader_cannot_cancel_selected_operations(sign_in_as, make_user, make_operation):
    operation = make_operation("accepted")
    browser = sign_in_as(make_user("rita", Role.READER, is_staff=True))
    form = {"_selected_action": [operation.pk], "action": "cancel_ticked", "confirmed": "yes"}

    assert "cancel_ticked" not in browser.get(LIST).text
    browser.post(LIST, form)
    assert Operation.objects.get().cancel_requested_at is None


@pytest.mark.parametrize("id", ["x", "%00", "\0", "9" * 400])
def test_invalid_selected_id_is_refused(browser, make_operation, id):
    make_operation("accepted")

    response = browser.post(LIST, {"_selected_action": [id], "action": "cancel_ticked", "confirmed": "yes"})

    assert response.status_code < 500
    assert Operation.objects.get().cancel_requested_at is None


def test_operations_are_read_only_in_the_admin(browser, make_operation):
    operation = make_operation()

    assert browser.get(f"{LIST}add/").status_code in (403, 404)
    assert browser.post(f"{LIST}{operation.pk}/delete/", {"post": "yes"}).status_code == 403
    browser.post(operation_url(operation), {"state": "failed"})
    assert Operation.objects.get().state == "succeeded"


def test_reader_sees_only_own_operations_and_cannot_cancel_them(sign_in_as, make_user, make_operation):
    own = make_operation("running")
    other_subscription = Subscription.objects.create(name="elsewhere")
    visible = make_operation("running", subscription=other_subscription, target="default/theirs")
    browser = sign_in_as(make_user("rita", Role.READER, is_staff=True))

    assert "default/nightly" in browser.get(LIST).text
    assert "formaction" not in browser.get(LIST).text
    assert "default/theirs" not in browser.get(LIST).text
    assert "Cancel operation" not in browser.get(operation_url(own)).text
    assert browser.post(f"{LIST}{own.pk}/cancel/").status_code == 403
    assert browser.get(operation_url(visible)).status_code == 404
    assert browser.post(f"{LIST}{visible.pk}/cancel/").status_code == 404


def test_operations_are_in_the_menu(browser):
    assert LIST in browser.get("/admin/").text
    assert browser.get("/admin/operations/").status_code == 200


# Collections


def test_collection_is_deleted_by_an_operation_from_the_admin(browser, collection, many_jobs, step_once, carry_out):
    page = browser.post(f"{COLLECTIONS}{collection.pk}/delete/", {"post": "yes"}, follow=True)
    operation = Operation.objects.get()
    assert "Deleting nightly" in page.text
    assert operation.requested_by.username == "ada"

    step_once(operation)
    assert Job.objects.count() == JOBS_A_STEP + 1
    assert "Being deleted" in browser.get(COLLECTIONS).text

    carry_out()
    assert not JobCollection.objects.exists()


def test_selected_collections_are_deleted_by_operations(browser, collection, subscription, carry_out):
    other = JobCollection.objects.create(subscription=subscription, name="other")
    form = {"action": "delete_selected", "_selected_action": [collection.pk, other.pk], "post": "yes"}

    browser.post(COLLECTIONS, form)
    assert Operation.objects.count() == 2

    carry_out()
    assert not JobCollection.objects.exists()


def test_form_of_a_collection_that_is_being_deleted_is_refused(browser, arm, collection):
    arm.delete(arm.collection())
    form = {"resource_group": "default", "name": collection.name, "state": "enabled", "sku": "P20Premium"}

    page = browser.post(f"{COLLECTIONS}{collection.pk}/change/", form)

    assert "is being deleted" in page.text
    assert JobCollection.objects.get().state == "deleted"


def test_deletion_during_another_operation_is_refused_with_a_message(browser, arm, collection):
    arm.post(arm.collection() + "/disable")

    page = browser.post(f"{COLLECTIONS}{collection.pk}/delete/", {"post": "yes"}, follow=True)

    assert "wait for its end" in page.text
    assert JobCollection.objects.get().state == "disabled"
    form = {"action": "delete_selected", "_selected_action": [collection.pk], "post": "yes"}
    assert "wait for its end" in browser.post(COLLECTIONS, form, follow=True).text


def test_operation_that_cannot_be_cancelled_has_no_button(browser, make_operation):
    operation = make_operation("running", kind="closed_days.recompute", target="germany")

    assert f"{operation.pk}/cancel/" not in browser.get(LIST).text
    page = browser.post(f"{LIST}{operation.pk}/cancel/", follow=True).text

    assert "Cannot be cancelled, because stored fire times would stay wrong" in page
    assert Operation.objects.get().cancel_requested_at is None
