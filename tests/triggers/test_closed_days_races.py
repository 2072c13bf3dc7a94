"""A calendar of closed days is changed or deleted at the moment at which a schedule that names it is saved or fires.

Two connections compete, see `tests.racing`.
"""

from datetime import timedelta

import pytest
from django.utils import timezone

from api.errors import Conflict
from jobs.models import Run
from operations.service import Caller
from recurrence.wire import WireError
from tests.conftest import utc
from tests.racing import at_once, lingering
from triggers import closed_days, dispatch, scheduling
from triggers.definitions import TriggerDefinition
from triggers.dispatch import dispatch_due
from triggers.models import ClosedDays, Trigger
from triggers.scheduling import save_trigger

pytestmark = pytest.mark.django_db(transaction=True)

DAILY = TriggerDefinition(
    format="quartz",
    definition={"expression": "0 0 8 * * ?", "closedDays": {"calendar": "offices", "rule": "skip"}},
)
THURSDAY, FRIDAY, SATURDAY = (utc(f"2026-11-{day}T08:00Z") for day in ("05", "06", "07"))
CLOSED = {"dates": [{"date": "2026-11-05"}, {"date": "2026-11-06"}]}


@pytest.fixture
def offices(subscription) -> ClosedDays:
    return closed_days.create(subscription, "offices", {}, timezone.now())


@pytest.fixture
def job(make_job):
    return make_job(now=timezone.now(), schedule={"startTime": "2026-12-01T08:00:00Z"})


def close(offices: ClosedDays, document: dict = CLOSED) -> None:
    with closed_days.locked(offices) as calendar:
        closed_days.change(calendar, document, calendar.name, Caller(), timezone.now())


def remove(offices: ClosedDays) -> None:
    with closed_days.locked(offices) as calendar:
        closed_days.delete(calendar)


def test_schedule_saved_during_a_change_follows_the_new_days(offices, job, monkeypatch):
    midway = lingering(monkeypatch, closed_days, "current_version_id")

    raised = at_once(
        lambda: save_trigger(job, "extra", DAILY, timezone.now()), lambda: midway.wait(5) and close(offices)
    )

    assert raised == []
    trigger = Trigger.objects.get(name="extra")
    assert trigger.closed_days_id == ClosedDays.objects.get().version_id
    assert trigger.next_fire_at == SATURDAY


def test_schedule_saved_during_a_deletion_is_refused_or_refuses_the_deletion(offices, job, monkeypatch):
    midway = lingering(monkeypatch, closed_days, "current_version_id")

    raised = at_once(
        lambda: save_trigger(job, "extra", DAILY, timezone.now()), lambda: midway.wait(5) and remove(offices)
    )

    assert [type(each) for each in raised] in ([Conflict], [WireError])
    assert Trigger.objects.filter(name="extra").exists() == ClosedDays.objects.exists()


def test_fire_time_dispatched_during_a_change_runs_once(offices, job, monkeypatch):
    save_trigger(job, "extra", DAILY, timezone.now())
    midway = lingering(monkeypatch, dispatch, "_mark_last")
    later = THURSDAY + timedelta(seconds=1)

    raised = at_once(lambda: dispatch_due(later), lambda: midway.wait(5) and close(offices))

    assert raised == []
    assert list(Run.objects.filter(trigger_name="extra").values_list("fire_at", flat=True)) == [THURSDAY]
    assert Trigger.objects.get(name="extra").next_fire_at == SATURDAY


def test_changes_at_the_same_time_leave_one_version_to_all_triggers(offices, job):
    for number in range(3):
        save_trigger(job, f"t{number}", DAILY, timezone.now())
    documents = [{"dates": [{"date": f"2026-11-{day}"}]} for day in ("05", "06", "07", "08")]

    raised = at_once(*(lambda document=each: close(offices, document) for each in documents))

    assert raised == []
    offices.refresh_from_db()
    assert offices.revision == 1 + len(documents)
    assert set(Trigger.objects.exclude(closed_days=None).values_list("closed_days", flat=True)) == {offices.version_id}


def test_deletion_of_a_subscription_deletes_its_calendars(offices, job, subscription):
    save_trigger(job, "extra", DAILY, timezone.now())

    subscription.delete()

    assert not ClosedDays.objects.exists()


def test_lock_order_is_the_same_as_that_of_other_writers(offices, job):
    """Change the calendar while jobs and collections of its subscription are saved."""

    def save_all() -> None:
        for number in range(5):
            save_trigger(job, f"t{number}", DAILY, timezone.now())
            scheduling.save_collection(type(job.collection).objects.get(pk=job.collection_id), timezone.now())

    raised = at_once(save_all, lambda: [close(offices, {"dates": [{"date": f"2026-12-0{n}"}]}) for n in range(1, 6)])

    assert raised == []
