"""Descriptions of series in the language of the user."""

from dataclasses import replace
from datetime import UTC, date, timedelta

from django.utils import translation
from hypothesis import assume, given
from hypothesis import strategies as st

from calendars.pages.viewer_language import ViewerLanguage
from recurrence.dateutil_rule import DateutilDays
from recurrence.describe import describe
from recurrence.describe_series import describe_days, describe_series
from recurrence.series import Series
from recurrence.wire import Parsed, WireError, parse
from tests.recurrence.samples import numbered_rules
from tests.recurrence.wire.graph_events import NEW_YEAR, events, series

IN_24_HOURS = ViewerLanguage(24)


@given(events(), st.integers(1, 99) | st.none())
def test_english_description_of_a_series_equals_the_one_of_the_engine(document, count):
    try:
        parsed = parse("outlook", document, NEW_YEAR)
    except WireError as error:
        assume(error.code != "never_fires")
        raise

    description = describe_series(parsed.schedule, IN_24_HOURS, count)
    assert description == describe(Parsed(parsed.schedule, count, parsed.zone))


@given(numbered_rules())
def test_each_rule_has_a_description_in_each_language(rule):
    first = rule.on_or_after(rule.start)
    some = Series(replace(rule, start=first), 36_000, timedelta(hours=1), UTC)

    assert describe_days(some, IN_24_HOURS) == describe_days(some)
    for language in ("de", "pt-br", "tr"):
        with translation.override(language):
            assert "%" not in describe_days(some, IN_24_HOURS)


@given(st.integers(0, 2), st.integers(0, 2))
def test_imported_rule_is_described_with_its_text(excluded_count, added_count):
    exdates, rdates = (
        frozenset(date(2027, month, 17) for month in range(1, 1 + n)) for n in (excluded_count, added_count)
    )
    days = DateutilDays(date(2026, 1, 5), "FREQ=YEARLY;BYWEEKNO=20", exdates=exdates, rdates=rdates)
    some = Series(days, 0, timedelta(days=1), UTC)

    assert describe_days(some, IN_24_HOURS) == describe_days(some)
    assert describe_series(some, IN_24_HOURS) == describe(Parsed(some, None, UTC))


def test_description_uses_the_hour_cycle_of_the_user():
    weekly = series({"type": "weekly", "daysOfWeek": ["monday"]}, start="2026-01-05T17:30:00")

    assert describe_series(weekly, ViewerLanguage(12)) == "every week on Monday from 5:30 pm to 6:30 pm Europe/Berlin"
