"""The list of operations and the page of an operation, in a real browser."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from operations.models import Operation
from tests.browser.layout import find_overflow, resize

pytestmark = pytest.mark.django_db(transaction=True)

LIST = "/admin/operations/operation/"
ERRORS = {"failed": "WorkerLost", "canceled": "OperationCanceled"}
REPORT = {
    "facts": [["Time zone data", "2031b, before 2031a"], ["Triggers", "21 of 40 moved"]],
    "moves": [
        ["nightly/" + "backup-" * 12, "daily", "2031-01-05T08:00:00+00:00", "2031-01-05T00:00:00+00:00"],
        ["nightly/reports", "last-friday", "2031-01-05T08:00:00+00:00", None],
    ],
    "is_cut": True,
}


@pytest.fixture
def operations(subscription, owner) -> list[Operation]:
    """An operation in each state."""
    now = timezone.now()
    return [
        Operation.objects.create(
            subscription=subscription,
            kind="collection.delete",
            target="a-resource-group-with-a-long-name/" + "nightly-" * 8,
            target_key=state,
            state=state,
            percent=30,
            state_data={"report": REPORT} if state == "succeeded" else {},
            error_code=ERRORS.get(state, ""),
            error_message="Why it came to that, in a sentence." * (state in ERRORS),
            correlation_id="0d6a3f6e-5b0e-4c53-8d6c-1f1f6a1f9b77",
            requested_by=owner,
            published_at=now,
            created_at=now,
            finished_at=None if state in Operation.OPEN else now + timedelta(seconds=3),
        )
        for state in Operation.State.values
    ]


def test_operation_pages_are_accessible_and_fit(open_page, sign_in, find_accessibility_faults, operations):
    page = sign_in(open_page())
    faults = []

    for address in (LIST, f"{LIST}?q=nothing", *(f"{LIST}{operation.pk}/change/" for operation in operations)):
        page.goto(address)
        for width in (1280, 390):
            resize(page, width)
            faults += [f"{address} at {width} px: {fault}" for fault in find_accessibility_faults(page)]
        faults += [f"{address} {fault}" for fault in find_overflow(page, 390, 640, 800, 960, 1280)]

    assert not faults, "\n".join(faults)


def test_operation_page_refreshes_and_loses_its_button_at_the_end(open_page, sign_in, operations):
    operation = next(each for each in operations if each.state == "running")
    page = sign_in(open_page())
    page.goto(f"{LIST}{operation.pk}/change/")
    page.get_by_role("button", name="Cancel operation").wait_for()

    end = {"state": "succeeded", "percent": 100, "finished_at": timezone.now(), "state_data": {"report": REPORT}}
    Operation.objects.filter(pk=operation.pk).update(**end)
    page.clock.run_for(2000)

    page.get_by_text("100 %").wait_for()
    page.get_by_text("Succeeded").wait_for()
    page.get_by_role("heading", name="Moved fire times").wait_for()
    assert page.get_by_role("button", name="Cancel operation").count() == 0


def test_running_operation_can_be_cancelled_in_the_list(open_page, sign_in, operations):
    operation = next(each for each in operations if each.state == "running")
    Operation.objects.filter(pk=operation.pk).update(lease_token=uuid4(), heartbeat_at=timezone.now())
    Operation.objects.filter(state="accepted").delete()
    page = sign_in(open_page())
    page.goto(LIST)

    page.get_by_role("button", name="Cancel: Delete collection").click()

    page.get_by_text("The operation stops before its next step.").wait_for()
    assert Operation.objects.get(pk=operation.pk).cancel_requested_at is not None


@pytest.mark.parametrize("width", [390, 1280])
def test_selected_operations_are_cancelled_after_confirmation(
    open_page, sign_in, find_accessibility_faults, operations, width
):
    page = sign_in(open_page(width=width))
    page.goto(LIST)
    cancel_button = page.get_by_role("button", name="Cancel operations…")
    assert not cancel_button.is_visible()

    for box in page.locator("tbody").get_by_role("checkbox").all():
        box.check()
    faults = find_accessibility_faults(page)
    cancel_button.click()
    page.get_by_role("heading", name="Cancel 5 operations").wait_for()
    faults += find_accessibility_faults(page)
    page.get_by_role("button", name="Cancel 5 operations").click()

    page.get_by_text("Cancellation requested: 2 operations.").wait_for()
    assert page.get_by_text("Already ended").count() == 3
    assert Operation.objects.filter(cancel_requested_at=None).count() == 3
    assert not faults, "\n".join(faults)
