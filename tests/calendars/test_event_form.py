"""Writing events on a page: every choice of the form reaches the core, and what is refused stands beside its field."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import Role
from calendars import editing
from calendars.models import Calendar, Event, Share
from tests.admin.forms import submitted
from tests.calendars.conftest import day, recurrence, starts, times

pytestmark = pytest.mark.django_db

START = {"start": "2026-10-20T10:00", "end": "2026-10-20T11:00", "zone": "Europe/Berlin"}
NEVER = {"pattern": "none"}


@pytest.fixture
def browser(client, owner):
    owner.time_zone = "Europe/Berlin"
    owner.save()
    client.force_login(owner)
    return client


@pytest.fixture
def fill(browser):
    """Open a page with the form, write into it as a person would, and send it."""

    def fill_(address="/calendar/events/new", to=None, **written):
        page = browser.get(address).content.decode()
        values = submitted(page, "event_form") | written
        target = to or re.search(r'action="([^"]+)" novalidate', page)[1].replace("&amp;", "&")
        return browser.post(target, values)

    return fill_


def errors(answer) -> dict[str, list[str]]:
    return dict(answer.context["form"].errors)


@pytest.mark.parametrize(
    "written, pattern, first_days",
    [
        ({"pattern": "daily", "daily_interval": 3}, {"type": "daily", "interval": 3}, ["20", "23", "26"]),
        (
            {"pattern": "workdays"},
            {"type": "weekly", "daysOfWeek": ["monday", "tuesday", "wednesday", "thursday", "friday"]},
            ["20", "21", "22", "23", "26"],
        ),
        (
            {"pattern": "weekly", "weekly_interval": 2, "weekly_days": ["tuesday", "thursday"], "weekly_first": "sunday"},
            {"type": "weekly", "interval": 2, "daysOfWeek": ["tuesday", "thursday"], "firstDayOfWeek": "sunday"},
            ["20", "22", "03", "05"],
        ),
        (
            {"pattern": "absoluteMonthly", "monthly_day": 31, "monthly_interval": 1},
            {"type": "absoluteMonthly", "dayOfMonth": 31, "interval": 1},
            ["31", "30", "31", "31", "28"],  # the last day of a month that is shorter
        ),
        (
            {"pattern": "relativeMonthly", "monthly_index": "third", "monthly_weekday": "tuesday"},
            {"type": "relativeMonthly", "index": "third", "daysOfWeek": ["tuesday"]},
            ["20", "17", "15"],
        ),
        (
            {"pattern": "relativeMonthly", "monthly_index": "last", "monthly_weekday": "weekday"},
            {"index": "last", "daysOfWeek": ["monday", "tuesday", "wednesday", "thursday", "friday"]},
            ["30", "30", "31"],
        ),
        (
            {"pattern": "relativeMonthly", "monthly_index": "first", "monthly_weekday": "weekendDay"},
            {"index": "first", "daysOfWeek": ["sunday", "saturday"]},
            ["01", "05", "02"],
        ),
        (
            {"pattern": "relativeMonthly", "monthly_index": "fourth", "monthly_weekday": "day"},
            {"index": "fourth"},
            ["04", "04"],
        ),
        (
            {"pattern": "absoluteYearly", "yearly_day": 29, "yearly_month": 2, "yearly_interval": 1},
            {"type": "absoluteYearly", "dayOfMonth": 29, "month": 2},
            ["28", "29"],  # 2028 is a leap year
        ),
        (
            {"pattern": "relativeYearly", "yearly_index": "last", "yearly_weekday": "friday", "yearly_weekday_month": 10},
            {"type": "relativeYearly", "index": "last", "daysOfWeek": ["friday"], "month": 10},
            ["30", "29"],
        ),
    ],
)
def test_every_pattern_makes_its_series(fill, written, pattern, first_days):
    answer = fill(**START, subject="Ledger review", **written)

    assert answer.status_code == 302
    event = Event.objects.get()
    assert pattern.items() <= event.recurrence["pattern"].items()
    assert event.recurrence["range"]["type"] == "noEnd"
    found = starts(event, until="2029-01-01")[: len(first_days)]
    assert [each[8:10] for each in found] == first_days
