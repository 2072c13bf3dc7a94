"""The confirmation page before an event is deleted."""

import pytest
from django.utils import timezone

from calendars import editing
from calendars.models import Event
from tests.calendars.conftest import recurrence, starts
from tests.calendars.popover.items import address

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("today")]


def delete_url(event, on: str = "") -> str:
    return address(event, on).replace("items", "events") + "/delete"


@pytest.fixture
def delete(browser):
    def delete_(event, on="", **answer):
        question = browser.get(delete_url(event, on))
        return browser.post(delete_url(event, on), {"revision": question.context["revision"], **answer})

    return delete_


def test_confirmation_counts_the_occurrences_to_delete(browser, weekly):
    question = browser.get(delete_url(weekly, "2026-01-26"))

    choices = [(each["name"], each["consequence"], each["answer"]) for each in question.context["choices"]]
    assert choices == [
        ("This occurrence", "Mon 26 January, 10:00–11:00", "Delete this occurrence"),
        ("This and following", "Mon 26 January and later", "Delete 7 occurrences"),
        ("The series", "10 occurrences, including past ones", "Delete 10 occurrences"),
    ]


def test_confirmation_does_not_count_an_endless_series(browser, make_event):
    question = browser.get(delete_url(make_event(recurrence=recurrence()), "2026-01-12"))

    assert [each["answer"] for each in question.context["choices"]] == [
        "Delete this occurrence",
        "Delete this and following",
        "Delete the series",
    ]


def test_one_occurrence_is_deleted(delete, weekly):
    delete(weekly, "2026-01-12", scope="occurrence")

    assert starts(weekly)[:2] == ["2026-01-05T10:00", "2026-01-19T10:00"]


def test_this_and_following_are_deleted(delete, weekly):
    delete(weekly, "2026-01-26", scope="following")

    assert len(starts(Event.objects.get())) == 3


@pytest.mark.parametrize("on", ["", "2026-01-26"])
def test_the_series_is_deleted(delete, weekly, on):
    delete(weekly, on, scope="series")

    assert not Event.objects.exists()


def test_a_single_event_is_deleted(delete, make_event):
    answer = delete(make_event())

    assert answer.url == "/calendar/?date=2026-01-05"
    assert not Event.objects.exists()


@pytest.mark.parametrize("scope", ["", "everything"])
def test_deletion_without_a_valid_scope_is_asked_again(delete, weekly, scope):
    assert delete(weekly, "2026-01-12", scope=scope).status_code == 200
    assert len(starts(weekly)) == 10


@pytest.mark.parametrize("scope", ["occurrence", "following", "series"])
def test_deletion_after_a_concurrent_change_is_asked_again(browser, weekly, scope):
    revision = browser.get(delete_url(weekly, "2026-01-12")).context["revision"]
    editing.change(weekly, {"subject": "Theirs"}, timezone.now())

    answer = browser.post(delete_url(weekly, "2026-01-12"), {"revision": revision, "scope": scope})

    assert answer.context["conflict"]
    assert len(starts(weekly)) == 10
